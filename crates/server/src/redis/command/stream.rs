//! Commands about streams and their groups: all that begin with X.
//!
//! Lives here: their rows, as Valkey 9 describes them, and as Redis 8 describes those that came there (XACKDEL,
//! XDELEX, XNACK). Not here: rows of other commands, and any answer.

use super::row::Arity::{AtLeast, Exactly};
use super::row::Command;
use super::row::Flag::{Blocking, DenyOom, Fast, MovableKeys, ReadOnly, Write};
use super::row::Group::Stream;

/// In the order of their names, which the look-up relies on.
pub(super) const COMMANDS: &[Command] = &[
    Command::of("xack", AtLeast(4), &[Write, Fast], Stream).key(1),
    Command::of("xackdel", AtLeast(6), &[Write, Fast], Stream).key(1),
    Command::of("xadd", AtLeast(5), &[Write, DenyOom, Fast], Stream).key(1),
    Command::of("xautoclaim", AtLeast(6), &[Write, Fast], Stream).key(1),
    Command::of("xclaim", AtLeast(6), &[Write, Fast], Stream).key(1),
    Command::of("xdel", AtLeast(3), &[Write, Fast], Stream).key(1),
    Command::of("xdelex", AtLeast(5), &[Write, Fast], Stream).key(1),
    Command::container("xgroup", XGROUP),
    Command::container("xinfo", XINFO),
    Command::of("xlen", Exactly(2), &[ReadOnly, Fast], Stream).key(1),
    Command::of("xnack", AtLeast(7), &[Write, Fast], Stream).key(1),
    Command::of("xpending", AtLeast(3), &[ReadOnly], Stream).key(1),
    Command::of("xrange", AtLeast(4), &[ReadOnly], Stream).key(1),
    Command::of("xread", AtLeast(4), &[ReadOnly, Blocking, MovableKeys], Stream),
    Command::of("xreadgroup", AtLeast(7), &[Write, Blocking, MovableKeys], Stream),
    Command::of("xrevrange", AtLeast(4), &[ReadOnly], Stream).key(1),
    Command::of("xsetid", AtLeast(3), &[Write, DenyOom, Fast], Stream).key(1),
    Command::of("xtrim", AtLeast(4), &[Write], Stream).key(1),
];

const XGROUP: &[Command] = &[
    Command::of("xgroup|create", AtLeast(5), &[Write, DenyOom], Stream).key(2),
    Command::of("xgroup|createconsumer", Exactly(5), &[Write, DenyOom], Stream).key(2),
    Command::of("xgroup|delconsumer", Exactly(5), &[Write], Stream).key(2),
    Command::of("xgroup|destroy", Exactly(4), &[Write], Stream).key(2),
    Command::help("xgroup|help", Stream),
    Command::of("xgroup|setid", AtLeast(5), &[Write], Stream).key(2),
];

const XINFO: &[Command] = &[
    Command::of("xinfo|consumers", Exactly(4), &[ReadOnly], Stream).key(2),
    Command::of("xinfo|groups", Exactly(3), &[ReadOnly], Stream).key(2),
    Command::help("xinfo|help", Stream),
    Command::of("xinfo|stream", AtLeast(3), &[ReadOnly], Stream).key(2),
];
