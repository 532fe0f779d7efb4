//! What COMMAND INFO tells of a command.
//!
//! Lives here: a row of the table as a reply. Not here: the row itself, and COMMAND's other answers.

use bytes::Bytes;

use super::row::{Arity, Command, Flag, Group, LastKey};
use crate::redis::frame::Reply;

/// The ten values that COMMAND and COMMAND INFO answer for `command`. Hints for clusters are left out: there
/// is one node, and first, last and step say where the keys are.
pub(crate) fn info(command: &Command) -> Reply {
    let arity = match command.arity {
        Arity::Exactly(count) => whole(count),
        Arity::AtLeast(count) => -whole(count),
    };
    let (first, last, step) = command.keys.map_or((0, 0, 0), |keys| {
        let last = match keys.last {
            LastKey::At(place) => whole(place),
            LastKey::AtEnd => -1,
        };
        (whole(keys.first), last, whole(keys.step))
    });
    Reply::Array(vec![
        Reply::bulk(command.name),
        Reply::Integer(arity),
        words(command.flags.iter().map(|flag| flag.word())),
        Reply::Integer(first),
        Reply::Integer(last),
        Reply::Integer(step),
        words(categories(command)),
        Reply::Set(Vec::new()),
        Reply::Set(Vec::new()),
        Reply::Array(command.subcommands.iter().map(info).collect()),
    ])
}

/// The categories of access that `command` is in, in Redis' order.
fn categories(command: &Command) -> impl Iterator<Item = &'static str> {
    let group = command.group;
    let is_admin = command.is(Flag::Admin);
    let all = [
        ("@keyspace", group == Group::Keyspace),
        ("@read", command.is(Flag::ReadOnly)),
        ("@write", command.is(Flag::Write)),
        ("@stream", group == Group::Stream),
        ("@admin", is_admin),
        ("@fast", command.is(Flag::Fast)),
        ("@slow", !command.is(Flag::Fast)),
        ("@blocking", command.is(Flag::Blocking)),
        ("@dangerous", is_admin || command.is_dangerous),
        ("@connection", group == Group::Connection),
        ("@transaction", group == Group::Transaction),
        ("@scripting", group == Group::Scripting),
    ];
    all.into_iter().filter(|(_, is_in)| *is_in).map(|(category, _)| category)
}

fn words(words: impl Iterator<Item = &'static str>) -> Reply {
    Reply::Set(words.map(|word| Reply::Simple(Bytes::from_static(word.as_bytes()))).collect())
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).expect("the table counts parts of a call")
}

impl Flag {
    /// Redis' word for it.
    fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::ReadOnly => "readonly",
            Self::DenyOom => "denyoom",
            Self::Admin => "admin",
            Self::NoScript => "noscript",
            Self::Blocking => "blocking",
            Self::Loading => "loading",
            Self::Stale => "stale",
            Self::SkipCommandLog => "skip_commandlog",
            Self::Fast => "fast",
            Self::NoAuth => "no_auth",
            Self::NoMulti => "no_multi",
            Self::MovableKeys => "movablekeys",
            Self::AllowBusy => "allow_busy",
        }
    }
}
