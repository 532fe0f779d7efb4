//! Commands about keys: every key is a stream.
//!
//! Lives here: their rows, as Valkey 9 describes them. Not here: rows of other commands, and any answer.

use super::row::Arity::{AtLeast, Exactly};
use super::row::Flag::{Fast, ReadOnly, Write};
use super::row::Group::Keyspace;
use super::row::{Command, LastKey};

/// In the order of their names, which the look-up relies on.
pub(super) const COMMANDS: &[Command] = &[
    Command::of("dbsize", Exactly(1), &[ReadOnly, Fast], Keyspace),
    Command::of("del", AtLeast(2), &[Write], Keyspace).keys(1, LastKey::AtEnd),
    Command::of("exists", AtLeast(2), &[ReadOnly, Fast], Keyspace).keys(1, LastKey::AtEnd),
    Command::of("flushall", AtLeast(1), &[Write], Keyspace).dangerous(),
    Command::of("flushdb", AtLeast(1), &[Write], Keyspace).dangerous(),
    Command::of("keys", Exactly(2), &[ReadOnly], Keyspace).dangerous(),
    Command::container("object", OBJECT),
    Command::of("pttl", Exactly(2), &[ReadOnly, Fast], Keyspace).key(1),
    Command::of("rename", Exactly(3), &[Write], Keyspace).keys(1, LastKey::At(2)),
    Command::of("scan", AtLeast(2), &[ReadOnly], Keyspace),
    Command::of("ttl", Exactly(2), &[ReadOnly, Fast], Keyspace).key(1),
    Command::of("type", Exactly(2), &[ReadOnly, Fast], Keyspace).key(1),
    Command::of("unlink", AtLeast(2), &[Write, Fast], Keyspace).keys(1, LastKey::AtEnd),
];

const OBJECT: &[Command] = &[
    Command::of("object|encoding", Exactly(3), &[ReadOnly], Keyspace).key(2),
    Command::help("object|help", Keyspace),
];
