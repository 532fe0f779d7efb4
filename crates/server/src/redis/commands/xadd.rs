//! `XADD`: publish one event.
//!
//! Lives here: its arguments and its reply. Not here: the options on trimming (`trimming.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_api::limits::REDIS_PRODUCER_BYTES_MAX;
use naven_store::reply::OpReply;
use naven_store::txn::{
    Append, Body, DedupeKey, DedupeSpace, Due, EntryWish, OpKind, PlaceWish, StreamRef, Target,
};
use sha2::{Digest, Sha256};

use super::trimming::TrimmingRead;
use super::{ids, names, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Ask, Plan, Setting};

/// How a producer names its entries.
enum Naming {
    /// By this name (`IDMP`).
    Given(Bytes),
    /// By what is in them (`IDMPAUTO`).
    ByContent,
}

/// Everything between the key and the fields.
struct Options {
    make_stream: bool,
    producer: Option<(Bytes, Naming)>,
    trimming: TrimmingRead,
    place: PlaceWish,
}

/// `XADD key [NOMKSTREAM] [KEEPREF|DELREF|ACKED] [IDMPAUTO producer | IDMP producer name]
/// [MAXLEN|MINID [=|~] threshold [LIMIT count]] *|id field value [field value ...]`.
pub(super) fn parse(call: &Request, setting: Setting<'_>) -> Result<Plan, Reply> {
    let [key, rest @ ..] = call.arguments() else { return Err(words::arity("xadd")) };
    let (options, fields) = options(rest)?;
    let trim = options.trimming.done(false)?;
    if fields.is_empty() || !fields.len().is_multiple_of(2) {
        return Err(words::arity("xadd"));
    }
    if options.place == PlaceWish::Exactly(ids::FIRST) {
        return Err(Reply::error("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let key = names::new_key(key)?;
    let body = body(fields, setting.limits.payload_bytes)?;
    let dedupe = options.producer.map(|producer| dedupe(producer, options.place, &body)).transpose()?;
    let entry = EntryWish { make_stream: options.make_stream, place: options.place, trim };
    let append = Append {
        to: Target::Stream(StreamRef(key.clone())),
        body,
        due: Due::Now,
        headers: Vec::new(),
        max_attempts: None,
        dedupe,
        expires_at: None,
        trace: None,
        entry: Some(Box::new(entry)),
    };
    let ask = Ask::on_stream(OpKind::Append(append), Scope::Produce, key);
    // A stream that would have been made is one that the key does not reach: null would hide that nothing was added.
    let absent = if options.make_stream { words::no_key() } else { Reply::Null };
    Ok(Plan::ask(ask, |answer, _| reply(answer, absent)))
}

fn reply(answer: Answer, absent: Reply) -> Reply {
    words::unless_missing(answer, absent, |answer| match answer {
        Ok(OpReply::Event(view) | OpReply::Deduped(view)) => view.place.map_or(Reply::Null, ids::shown),
        answer => words::unexpected(answer),
    })
}

/// The options, and what follows the id.
fn options(arguments: &[Bytes]) -> Result<(Options, &[Bytes]), Reply> {
    let mut options = Options {
        make_stream: true,
        producer: None,
        trimming: TrimmingRead::default(),
        place: PlaceWish::Next,
    };
    let mut rest = arguments;
    loop {
        let taken = match rest {
            // Without an id there are no fields either, which is said once the options are judged.
            [] => return Ok((options, rest)),
            [star, fields @ ..] if star == "*" => return Ok((options, fields)),
            [option, ..] if option.eq_ignore_ascii_case(b"NOMKSTREAM") => {
                options.make_stream = false;
                1
            }
            [option, producer, name, ..] if option.eq_ignore_ascii_case(b"IDMP") => {
                options.named(producer, Naming::Given(name.clone()))?;
                3
            }
            [option, producer, ..] if option.eq_ignore_ascii_case(b"IDMPAUTO") => {
                options.named(producer, Naming::ByContent)?;
                2
            }
            [id, fields @ ..] => match options.trimming.take(rest)? {
                0 => {
                    options.place = ids::wish(id)?;
                    return Ok((options, fields));
                }
                taken => taken,
            },
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
}

impl Options {
    fn named(&mut self, producer: &Bytes, naming: Naming) -> Result<(), Reply> {
        if self.producer.replace((producer.clone(), naming)).is_some() {
            return Err(Reply::error("ERR IDMP and IDMPAUTO can be given once, and not together"));
        }
        Ok(())
    }
}

fn dedupe((producer, naming): (Bytes, Naming), place: PlaceWish, body: &Body) -> Result<DedupeKey, Reply> {
    if place != PlaceWish::Next {
        return Err(Reply::error("ERR IDMP and IDMPAUTO go with the ID * alone"));
    }
    let key = match naming {
        Naming::Given(name) => Bytes::copy_from_slice(&name),
        Naming::ByContent => Bytes::copy_from_slice(&Sha256::digest(&body.bytes)),
    };
    if [&producer, &key].into_iter().any(|name| !(1..=REDIS_PRODUCER_BYTES_MAX).contains(&name.len())) {
        return Err(Reply::error("ERR the names that IDMP and IDMPAUTO take have 1 to 255 bytes"));
    }
    Ok(DedupeKey { space: DedupeSpace::Producer(Bytes::copy_from_slice(&producer)), key })
}

fn body(fields: &[Bytes], bytes_max: usize) -> Result<Body, Reply> {
    let pairs: Vec<(Bytes, Bytes)> = fields
        .chunks_exact(2)
        .filter_map(|pair| if let [name, value] = pair { Some((name.clone(), value.clone())) } else { None })
        .collect();
    let body = Body::of_fields(&pairs);
    if body.bytes.len() > bytes_max {
        let text =
            format!("ERR an entry's fields may take {bytes_max} bytes, these take {}", body.bytes.len());
        return Err(Reply::error(text));
    }
    Ok(body)
}
