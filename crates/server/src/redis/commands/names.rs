//! Names among a command's arguments: keys, groups, consumers.
//!
//! Lives here: their bounds, and what is asked of the engine about what they name. Not here: percent-encoding
//! (`naven-store`).

use bytes::Bytes;
use naven_api::Scope;
use naven_api::limits::STREAM_NAME_BYTES_MAX;
use naven_store::queue::QueueRef;
use naven_store::read::Read;
use naven_store::txn::{OpKind, StreamRef};

use crate::redis::frame::Reply;
use crate::redis::plan::{Answer, Ask, Plan};
use crate::redis::refusal::refusal;

/// What names of consumers of the HTTP door begin with.
const HTTP_PREFIX: &[u8] = b"@http";

/// A group, by the stream's name and its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupName {
    pub(super) stream: Bytes,
    pub(super) group: Bytes,
}

impl GroupName {
    /// The group of these names, there or not.
    pub(super) fn of(stream: &Bytes, group: &Bytes) -> Self {
        Self { stream: key(stream), group: key(group) }
    }

    /// The same for a group that is to be made.
    pub(super) fn to_make(stream: &Bytes, group: &Bytes) -> Result<Self, Reply> {
        let (stream, group) = (new_key(stream)?, checked(group, "ERR a group's name has 1 to 512 bytes")?);
        Ok(Self { stream, group })
    }

    pub(super) fn queue(&self) -> QueueRef {
        QueueRef::Group { stream: self.stream.clone(), group: self.group.clone() }
    }

    /// An op on it, which needs `scope`.
    pub(super) fn ask(&self, kind: OpKind, scope: Scope) -> Ask {
        Ask::on_group(kind, scope, self.stream.clone(), self.group.clone())
    }

    /// Whether it is there.
    pub(super) fn look(&self, scope: Scope) -> Ask {
        self.ask(OpKind::Read(Read::Queue(self.queue())), scope)
    }

    /// The names for the audit log.
    pub(super) fn told(&self) -> String {
        self.queue().to_text()
    }
}

/// A stream's name, there or not. It is copied: an argument is a view of all that was read with it. Of a name that
/// is longer than any is, no more is kept than shows that.
pub(super) fn key(given: &Bytes) -> Bytes {
    Bytes::copy_from_slice(given.get(..=STREAM_NAME_BYTES_MAX).unwrap_or(given))
}

/// The name of a stream that may be made by the call.
pub(super) fn new_key(given: &Bytes) -> Result<Bytes, Reply> {
    checked(given, "ERR a stream's name has 1 to 512 bytes")
}

/// A consumer's name.
pub(super) fn consumer(name_given: &Bytes) -> Result<Bytes, Reply> {
    if is_of_http(name_given) {
        return Err(Reply::error("ERR consumer names that begin with @http belong to the HTTP door"));
    }
    if name_given.len() > STREAM_NAME_BYTES_MAX {
        return Err(Reply::error("ERR a consumer's name has at most 512 bytes"));
    }
    Ok(Bytes::copy_from_slice(name_given))
}

/// Whether a consumer of this name is one of the HTTP door.
pub(super) fn is_of_http(name: &[u8]) -> bool {
    name.starts_with(HTTP_PREFIX)
}

fn checked(given: &Bytes, rule: &'static str) -> Result<Bytes, Reply> {
    let fits = (1..=STREAM_NAME_BYTES_MAX).contains(&given.len());
    if fits { Ok(Bytes::copy_from_slice(given)) } else { Err(Reply::error(rule)) }
}

/// Whether a stream is there.
pub(super) fn look_at_stream(stream: &Bytes, scope: Scope) -> Ask {
    Ask::on_stream(OpKind::Read(Read::Stream(StreamRef(stream.clone()))), scope, stream.clone())
}

/// A call that comes to `reply` whatever it would do, once what `look` asks for was found: Redis looks up keys
/// and groups before it reads some arguments. `missing` has the words for what is not there.
pub(super) fn once_found(
    look: Ask,
    reply: Reply,
    missing: impl Fn(&Answer) -> Option<Reply> + Send + 'static,
) -> Plan {
    Plan::ask(look, move |answer, _| match missing(&answer) {
        Some(missing) => missing,
        None => answer.map_or_else(|error| refusal(&error), |_| reply),
    })
}
