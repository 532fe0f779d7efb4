//! Commands about the connection and the server.
//!
//! Lives here: their rows, as Valkey 9 describes them. Not here: rows of keys and streams, and any answer.

use super::row::Arity::{AtLeast, Exactly};
use super::row::Command;
use super::row::Flag::{
    Admin, AllowBusy, Fast, Loading, NoAuth, NoMulti, NoScript, SkipCommandLog, Stale, Write,
};
use super::row::Group::{Connection, Scripting, Server, Transaction};
use super::row::LastKey;

/// In the order of their names, which the look-up relies on.
pub(super) const COMMANDS: &[Command] = &[
    Command::of("auth", AtLeast(2), &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy], Connection),
    Command::container("client", CLIENT),
    Command::of("command", AtLeast(1), &[Loading, Stale], Connection).with(COMMAND),
    Command::container("config", CONFIG),
    Command::of("discard", Exactly(1), &[NoScript, Loading, Stale, Fast, AllowBusy], Transaction),
    Command::of("echo", Exactly(2), &[Loading, Stale, Fast], Connection),
    Command::of("exec", Exactly(1), &[NoScript, Loading, Stale, SkipCommandLog], Transaction),
    Command::container("function", FUNCTION),
    Command::of("hello", AtLeast(1), &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy], Connection),
    Command::of("info", AtLeast(1), &[Loading, Stale], Server).dangerous(),
    Command::of("multi", Exactly(1), &[NoScript, Loading, Stale, Fast, NoMulti, AllowBusy], Transaction),
    Command::of("ping", AtLeast(1), &[Fast], Connection),
    Command::of("quit", AtLeast(1), &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy], Connection),
    Command::of("reset", Exactly(1), &[NoScript, Loading, Stale, Fast, NoAuth, AllowBusy], Connection),
    Command::container("script", SCRIPT),
    Command::of("select", Exactly(2), &[Loading, Stale, Fast, AllowBusy], Connection),
    Command::of("time", Exactly(1), &[Loading, Stale, Fast], Server),
    Command::of("unwatch", Exactly(1), &[NoScript, Loading, Stale, Fast, AllowBusy], Transaction),
    Command::of("watch", AtLeast(2), &[NoScript, Loading, Stale, Fast, NoMulti, AllowBusy], Transaction)
        .keys(1, LastKey::AtEnd),
];

const CLIENT: &[Command] = &[
    Command::of("client|getname", Exactly(2), &[NoScript, Loading, Stale, AllowBusy], Connection),
    Command::help("client|help", Connection),
    Command::of("client|id", Exactly(2), &[NoScript, Loading, Stale, AllowBusy], Connection),
    Command::of("client|info", Exactly(2), &[NoScript, Loading, Stale], Connection),
    Command::of("client|kill", AtLeast(3), &[Admin, NoScript, Loading, Stale], Connection),
    Command::of("client|list", AtLeast(2), &[Admin, NoScript, Loading, Stale], Connection),
    Command::of("client|no-evict", Exactly(3), &[Admin, NoScript, Loading, Stale, AllowBusy], Connection),
    Command::of("client|no-touch", Exactly(3), &[NoScript, Loading, Stale, AllowBusy], Connection),
    Command::of("client|setinfo", Exactly(4), &[NoScript, Loading, Stale, AllowBusy], Connection),
    Command::of("client|setname", Exactly(3), &[NoScript, Loading, Stale, AllowBusy], Connection),
    Command::of("client|unblock", AtLeast(3), &[Admin, NoScript, Loading, Stale], Connection),
];

const COMMAND: &[Command] = &[
    Command::of("command|count", Exactly(2), &[Loading, Stale], Connection),
    Command::of("command|docs", AtLeast(2), &[Loading, Stale], Connection),
    Command::help("command|help", Connection),
    Command::of("command|info", AtLeast(2), &[Loading, Stale], Connection),
    Command::of("command|list", AtLeast(2), &[Loading, Stale], Connection),
];

const CONFIG: &[Command] = &[
    Command::of("config|get", AtLeast(3), &[Admin, NoScript, Loading, Stale], Server),
    Command::help("config|help", Server),
    Command::of("config|set", AtLeast(4), &[Admin, NoScript, Loading, Stale], Server),
];

// Test harnesses flush functions and scripts before every test. There are none, so nothing else is here.
const FUNCTION: &[Command] = &[
    Command::of("function|flush", AtLeast(2), &[Write, NoScript], Scripting),
    Command::help("function|help", Scripting),
];

const SCRIPT: &[Command] = &[
    Command::of("script|flush", AtLeast(2), &[NoScript, Stale], Scripting),
    Command::help("script|help", Scripting),
];
