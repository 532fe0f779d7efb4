//! The command table as its callers see it.
//!
//! Lives here: look-up, the check of calls with the texts of errors, and every row against what Valkey 9.1.2
//! answers to COMMAND INFO (`valkey9.txt`: name, arity, flags, first, last and step of keys, categories).

use bytes::{Bytes, BytesMut};

use super::{Command, all, find, find_by_full_name, info, resolve};
use crate::redis::frame::{Protocol, Reply, Request};

/// Rows as Valkey 9.1.2 tells them.
const VALKEY: &str = include_str!("valkey9.txt");
/// What Valkey 9 does not know, as Redis 8 tells it.
const BEYOND: [&str; 3] = [
    "xackdel -6 write,fast 1 1 1 @write,@stream,@fast",
    "xdelex -5 write,fast 1 1 1 @write,@stream,@fast",
    "xnack -7 write,fast 1 1 1 @write,@stream,@fast",
];

fn call(parts: &[&[u8]]) -> Request {
    let parts = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
    Request::of(parts).expect("a test names a command")
}

/// The bytes that a refused call is answered.
fn refusal(parts: &[&[u8]]) -> String {
    let error = resolve(&call(parts)).expect_err("the call is refused");
    let mut out = BytesMut::new();
    error.reply().write(&mut out, Protocol::Resp2);
    String::from_utf8_lossy(&out).into_owned()
}

/// Every command and subcommand.
fn every() -> Vec<&'static Command> {
    all().flat_map(|command| std::iter::once(command).chain(command.subcommands)).collect()
}

/// A row in the form of `valkey9.txt`, read out of its COMMAND INFO.
fn told(command: &Command) -> String {
    let Reply::Array(values) = info(command) else { panic!("COMMAND INFO is a list") };
    let texts: Vec<String> = values.iter().take(7).map(text).collect();
    texts.join(" ")
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(word) | Reply::Simple(word) => String::from_utf8_lossy(word).into_owned(),
        Reply::Integer(value) => value.to_string(),
        Reply::Set(items) if items.is_empty() => "-".to_owned(),
        Reply::Set(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => panic!("not a value of COMMAND INFO: {other:?}"),
    }
}

#[test]
fn every_row_is_what_valkey_tells_of_it() {
    let known: Vec<&str> = VALKEY.lines().chain(BEYOND).collect();
    for command in every() {
        let told = told(command);
        assert!(known.contains(&told.as_str()), "not as Valkey tells it: {told}");
    }
    assert_eq!(every().len(), known.len());
}

#[test]
fn every_command_is_found_by_its_name_in_any_case_and_nothing_else_is() {
    for command in every() {
        for name in [command.name.to_owned(), command.name.to_uppercase()] {
            let found = find_by_full_name(name.as_bytes()).unwrap_or_else(|| panic!("{name} is not found"));
            assert_eq!(found.name, command.name);
        }
    }
    for command in all() {
        assert_eq!(find(command.name.as_bytes()).map(|found| found.name), Some(command.name));
    }
    for name in ["", "xad", "xaddd", "get", "eval", "monitor", "xgroup|create", "\0xadd"] {
        assert!(find(name.as_bytes()).is_none(), "{name:?}");
    }
    for name in ["|", "xgroup|", "xgroup|create|", "|create", "xadd|xadd", "xgroup|nope"] {
        assert!(find_by_full_name(name.as_bytes()).is_none(), "{name:?}");
    }
}

#[test]
fn a_call_of_the_right_length_is_that_command() {
    for (parts, wanted) in [
        (&[&b"PING"[..]][..], "ping"),
        (&[b"xAdd", b"s", b"*", b"f", b"v"], "xadd"),
        (&[b"xgroup", b"DESTROY", b"s", b"g"], "xgroup|destroy"),
        (&[b"command"], "command"),
        (&[b"command", b"Count"], "command|count"),
        (&[b"xlen", b"s"], "xlen"),
    ] {
        assert_eq!(resolve(&call(parts)).map(|command| command.name), Ok(wanted));
    }
}

#[test]
fn a_call_of_the_wrong_length_is_told_so_in_redis_words() {
    for (parts, name) in [
        (&[&b"XADD"[..], b"s", b"*", b"f"][..], "xadd"),
        (&[b"xlen", b"s", b"t"], "xlen"),
        (&[b"xgroup"], "xgroup"),
        (&[b"XGROUP", b"CREATE"], "xgroup|create"),
        (&[b"xgroup", b"destroy", b"s", b"g", b"h"], "xgroup|destroy"),
        (&[b"XGROUP", b"help", b"a"], "xgroup|help"),
    ] {
        let wanted = format!("-ERR wrong number of arguments for '{name}' command\r\n");
        assert_eq!(refusal(parts), wanted);
    }
}

#[test]
fn an_unknown_name_is_repeated_with_some_of_its_arguments() {
    let a = [b'a'; 300];
    for (parts, name, arguments) in [
        (&[&b"FOO"[..], b"a", b"b"][..], "FOO".to_owned(), "'a' 'b' ".to_owned()),
        (&[b"$5"], "$5".to_owned(), String::new()),
        (&[b""], String::new(), String::new()),
        (&[b"xgroup|create", b"s"], "xgroup|create".to_owned(), "'s' ".to_owned()),
        (&[b"F\r\n", b"a\nb", b"\0c"], "F  ".to_owned(), "'a b' '' ".to_owned()),
        // 128 bytes of each, as Redis counts them: quotes and spaces of earlier arguments take room.
        (&[&a, &a], "a".repeat(128), format!("'{}' ", "a".repeat(128))),
        (&[b"F", &a[..100], &a], "F".to_owned(), format!("'{}' '{}' ", "a".repeat(100), "a".repeat(25))),
        (&[b"F", &a[..124], &a], "F".to_owned(), format!("'{}' '{}' ", "a".repeat(124), "a")),
        (&[b"F", &a[..125], &a], "F".to_owned(), format!("'{}' ", "a".repeat(125))),
    ] {
        let wanted = format!("-ERR unknown command '{name}', with args beginning with: {arguments}\r\n");
        assert_eq!(refusal(parts), wanted);
    }
}

#[test]
fn an_unknown_subcommand_is_pointed_to_help() {
    assert_eq!(refusal(&[b"xgroup", b"FOO"]), "-ERR unknown subcommand 'FOO'. Try XGROUP HELP.\r\n");
    assert_eq!(refusal(&[b"Xinfo", b"", b"a"]), "-ERR unknown subcommand ''. Try XINFO HELP.\r\n");
    let long = [b'b'; 129];
    let wanted = format!("-ERR unknown subcommand '{}'. Try CLIENT HELP.\r\n", "b".repeat(128));
    assert_eq!(refusal(&[b"client", &long]), wanted);
}

#[test]
fn every_container_has_help_because_errors_point_to_it() {
    for container in all().filter(|command| !command.subcommands.is_empty()) {
        assert!(container.subcommand(b"help").is_some(), "{}", container.name);
    }
}
