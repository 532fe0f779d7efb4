//! The rights table: every command under every scope, for names that a key reaches and names that it does not, there
//! or not.
//!
//! Lives here: what is expected of each cell. A command without a row fails, so a new one brings its row with it. Not
//! here: the same of the HTTP door (`tests/http/rights.rs`), keys themselves (`auth.rs`).

use std::collections::BTreeSet;

use naven_api::KeyId;
use naven_store::key::KeyRecord;

use crate::client::{Client, TestServer};

const SCOPES: [&str; 4] = ["produce", "consume", "read", "admin"];

const NO_KEY: &str = "-ERR no such key";
const KEY_NEEDED: &str = "-ERR The XGROUP subcommand requires the key to exist.";
const NO_GROUP: &str = "-NOGROUP No such consumer group 'g' for key name '{key}'";
const NEITHER: &str = "-NOGROUP No such key '{key}' or consumer group 'g'";

/// A command about a key.
struct Row {
    call: &'static str,
    /// All of these are needed.
    scopes: &'static [&'static str],
    /// What is said of a name that the key does not reach, there or not.
    unseen: &'static str,
    /// What is said of a name that it reaches and that is not there.
    missing: &'static str,
}

const fn row(call: &'static str, scopes: &'static [&'static str], missing: &'static str) -> Row {
    Row { call, scopes, unseen: missing, missing }
}

const fn two(
    call: &'static str,
    scopes: &'static [&'static str],
    unseen: &'static str,
    missing: &'static str,
) -> Row {
    Row { call, scopes, unseen, missing }
}

const PRODUCE: &[&str] = &["produce"];
const CONSUME: &[&str] = &["consume"];
const READ: &[&str] = &["read"];
const ADMIN: &[&str] = &["admin"];

/// Keys are there with entries 1-1, which consumer `c` of group `g` holds, and 2-1, which is unread.
const ROWS: &[Row] = &[
    two("XADD {key} * f v", PRODUCE, NO_KEY, ""),
    row("XADD {key} NOMKSTREAM * f v", PRODUCE, "$-1"),
    row("XLEN {key}", READ, ":0"),
    row("XRANGE {key} - +", READ, "*0"),
    row("XRANGE {key} - + COUNT 0", READ, "*0"),
    row("XREVRANGE {key} + -", READ, "*0"),
    row("XREAD STREAMS {key} 0", READ, "*-1"),
    row("XREAD STREAMS {key} +", READ, "*-1"),
    row("XINFO STREAM {key}", READ, NO_KEY),
    row("XINFO STREAM {key} FULL", READ, NO_KEY),
    row("XINFO GROUPS {key}", READ, NO_KEY),
    two("XINFO CONSUMERS {key} g", READ, NO_GROUP, NO_KEY),
    row("XPENDING {key} g", READ, NEITHER),
    row("XPENDING {key} g - + 10", READ, NEITHER),
    row("XREADGROUP GROUP g c STREAMS {key} >", CONSUME, NEITHER),
    row("XREADGROUP GROUP g c STREAMS {key} 0", CONSUME, NEITHER),
    row("XACK {key} g 1-1", CONSUME, ":0"),
    row("XNACK {key} g FAIL IDS 1 1-1", CONSUME, NEITHER),
    row("XCLAIM {key} g d 0 1-1", CONSUME, NEITHER),
    row("XAUTOCLAIM {key} g d 0 0", CONSUME, NEITHER),
    row("XACKDEL {key} g IDS 1 1-1", &["consume", "admin"], "*1 :-1"),
    row("XGROUP CREATE {key} new 0", CONSUME, KEY_NEEDED),
    two("XGROUP CREATE {key} new 0 MKSTREAM", CONSUME, KEY_NEEDED, "+OK"),
    two("XGROUP CREATECONSUMER {key} g e", CONSUME, NO_GROUP, KEY_NEEDED),
    two("XGROUP SETID {key} g 0", ADMIN, NO_GROUP, KEY_NEEDED),
    two("XGROUP DELCONSUMER {key} g c", ADMIN, NO_GROUP, KEY_NEEDED),
    row("XGROUP DESTROY {key} g", ADMIN, KEY_NEEDED),
    row("XDEL {key} 1-1", ADMIN, ":0"),
    row("XDELEX {key} IDS 1 1-1", ADMIN, "*1 :-1"),
    row("XTRIM {key} MAXLEN 1", ADMIN, ":0"),
    row("XSETID {key} 9-9", ADMIN, NO_KEY),
    row("DEL {key}", ADMIN, ":0"),
    row("UNLINK {key}", ADMIN, ":0"),
    row("RENAME {key} own-renamed-{key}", ADMIN, NO_KEY),
    row("EXISTS {key}", READ, ":0"),
    row("TYPE {key}", READ, "+none"),
    row("TTL {key}", READ, ":-2"),
    row("PTTL {key}", READ, ":-2"),
    row("OBJECT ENCODING {key}", READ, "$-1"),
    // It is about the connection: what is not reached never changes for it.
    two("WATCH {key}", &[], "+OK", "+OK"),
];

/// Commands about all keys, and what they need.
const OF_ALL: &[(&str, &str)] = &[
    ("KEYS *", "read"),
    ("SCAN 0 COUNT 1000", "read"),
    ("DBSIZE", "read"),
    // They need a key that reaches everything, which none here does.
    ("FLUSHALL", "everything"),
    ("FLUSHDB", "everything"),
];

/// Commands that any key may call, and those that need none.
const OF_ANYBODY: &[&str] = &[
    "AUTH x",
    "CLIENT GETNAME",
    "CLIENT HELP",
    "CLIENT ID",
    "CLIENT INFO",
    "CLIENT KILL ID 999999",
    "CLIENT LIST",
    "CLIENT NO-EVICT on",
    "CLIENT NO-TOUCH on",
    "CLIENT SETINFO lib-name x",
    "CLIENT SETNAME x",
    "CLIENT UNBLOCK 999999",
    "COMMAND",
    "COMMAND COUNT",
    "COMMAND DOCS",
    "COMMAND HELP",
    "COMMAND INFO xadd",
    "COMMAND LIST",
    "CONFIG GET *",
    "CONFIG HELP",
    "CONFIG SET maxmemory 0",
    "DISCARD",
    "ECHO x",
    "EXEC",
    "FUNCTION FLUSH",
    "FUNCTION HELP",
    "HELLO",
    "INFO",
    "MULTI",
    "OBJECT HELP",
    "PING",
    "QUIT",
    "RESET",
    "SCRIPT FLUSH",
    "SCRIPT HELP",
    "SELECT 0",
    "TIME",
    "UNWATCH",
    "XGROUP HELP",
    "XINFO HELP",
];

/// Names that are nothing without a subcommand.
const CONTAINERS: [&str; 7] = ["client", "config", "function", "object", "script", "xgroup", "xinfo"];

/// A key's scopes, its name, and its secret.
type Holder = (Vec<&'static str>, String, String);

/// A key for each scope, for all but one, and for all of them; each reaches what begins with `own-`.
async fn server() -> (TestServer, Vec<Holder>) {
    let mut sets: Vec<Vec<&'static str>> = SCOPES.iter().map(|scope| vec![*scope]).collect();
    sets.extend(SCOPES.map(|left_out| SCOPES.into_iter().filter(|scope| *scope != left_out).collect()));
    sets.push(SCOPES.to_vec());
    let (mut records, mut holders) = (Vec::new(), Vec::new());
    for (at, scopes) in sets.into_iter().enumerate() {
        let (record, secret) = TestServer::worker(&scopes, &["own-*"]);
        let name = format!("worker{at}");
        records.push(KeyRecord { id: KeyId::from_bits(100 + at as u128), name: name.clone(), ..record });
        holders.push((scopes, name, secret));
    }
    (TestServer::with_keys(records).await, holders)
}

async fn say(client: &mut Client, call: &str) -> String {
    client.call(&call.split(' ').collect::<Vec<_>>()).await
}

/// The command's full name: that of the list which fits its first words.
fn name_of(call: &str, all: &BTreeSet<String>) -> String {
    let words: Vec<String> = call.split(' ').map(str::to_lowercase).collect();
    let of_two =
        words.get(1).map(|second| format!("{}|{second}", words[0])).filter(|name| all.contains(name));
    of_two.unwrap_or_else(|| words[0].clone())
}

async fn every_command(client: &mut Client) -> BTreeSet<String> {
    let told = say(client, "COMMAND LIST FILTERBY PATTERN *").await;
    told.split(' ').skip(1).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_command_has_a_row() {
    let server = TestServer::open().await;
    let all = every_command(&mut server.connect().await).await;
    assert!(all.len() > 60, "{all:?}");
    let calls = ROWS.iter().map(|row| row.call).chain(OF_ALL.iter().map(|(call, _)| *call));
    let mut rows: BTreeSet<String> =
        calls.chain(OF_ANYBODY.iter().copied()).map(|call| name_of(call, &all)).collect();
    rows.extend(CONTAINERS.map(str::to_owned));
    assert_eq!(all.symmetric_difference(&rows).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Makes a key of this name as the rows want it.
async fn fill(admin: &mut Client, name: &str) {
    for call in [
        "XADD {key} 1-1 f v",
        "XADD {key} 2-1 f v",
        "XGROUP CREATE {key} g 0",
        "XREADGROUP GROUP g c COUNT 1 STREAMS {key} >",
    ] {
        let reply = say(admin, &call.replace("{key}", name)).await;
        assert!(!reply.starts_with('-'), "{call}: {reply}");
    }
}

/// All of a key, as its server's admin sees it.
async fn picture(admin: &mut Client, name: &str) -> String {
    say(admin, &format!("XINFO STREAM {name} FULL COUNT 0")).await
}

#[tokio::test]
async fn what_a_key_may_do_is_decided_by_scope_and_reach() {
    let (server, holders) = server().await;
    let mut admin = server.connect_as_admin().await;
    let all = every_command(&mut admin).await;
    let mut cells = 0;
    for (scopes, user, secret) in &holders {
        let mut client = server.connect().await;
        assert_eq!(client.call(&["AUTH", secret]).await, "+OK");
        for row in ROWS {
            for (reached, is_there) in [(true, true), (true, false), (false, true), (false, false)] {
                cells += 1;
                let name = format!("{}-{cells}", if reached { "own" } else { "other" });
                if is_there {
                    fill(&mut admin, &name).await;
                }
                let before = picture(&mut admin, &name).await;
                let reply = say(&mut client, &row.call.replace("{key}", &name)).await;
                let cell = format!("{} of {name} by {scopes:?}: {reply}", row.call);
                let may = row.scopes.iter().all(|scope| scopes.contains(scope));
                let refused = format!(
                    "-NOPERM User {user} has no permissions to run the '{}' command",
                    name_of(row.call, &all)
                );
                match (reached, may, is_there) {
                    (false, ..) => assert!(reply.starts_with(&row.unseen.replace("{key}", &name)), "{cell}"),
                    (true, false, _) => assert_eq!(reply, refused, "{cell}"),
                    (true, true, false) => {
                        assert!(reply.starts_with(&row.missing.replace("{key}", &name)), "{cell}");
                        assert!(!reply.starts_with("-NOPERM"), "{cell}");
                    }
                    (true, true, true) => {
                        assert!(!reply.starts_with('-'), "{cell}");
                        let is_missing = reply == row.missing.replace("{key}", &name);
                        assert!(!is_missing || row.missing == "+OK", "{cell}");
                    }
                }
                if !reached || !may {
                    assert_eq!(picture(&mut admin, &name).await, before, "{cell}");
                }
            }
        }
    }
    assert_eq!(cells, holders.len() * ROWS.len() * 4, "every cell was tried");
}

#[tokio::test]
async fn commands_about_all_keys_show_what_is_reached() {
    let (server, holders) = server().await;
    let mut admin = server.connect_as_admin().await;
    fill(&mut admin, "own-1").await;
    fill(&mut admin, "other-1").await;
    for (scopes, _, secret) in &holders {
        let mut client = server.connect().await;
        assert_eq!(client.call(&["AUTH", secret]).await, "+OK");
        for (call, scope) in OF_ALL {
            let reply = say(&mut client, call).await;
            assert_eq!(
                !reply.starts_with("-NOPERM"),
                scopes.contains(scope),
                "{call} by {scopes:?}: {reply}"
            );
            assert!(!reply.contains("other-"), "{call} by {scopes:?}: {reply}");
        }
        for call in OF_ANYBODY {
            let mut client = server.connect().await;
            assert_eq!(client.call(&["AUTH", secret]).await, "+OK");
            let reply = say(&mut client, call).await;
            assert!(!reply.starts_with("-NOPERM") && !reply.starts_with("-NOAUTH"), "{call}: {reply}");
        }
    }
    assert_eq!(say(&mut admin, "DBSIZE").await, ":2");
}

#[tokio::test]
async fn a_call_about_two_keys_needs_both_and_a_transaction_needs_what_its_calls_do() {
    let (server, holders) = server().await;
    let mut admin = server.connect_as_admin().await;
    fill(&mut admin, "own-1").await;
    fill(&mut admin, "other-1").await;
    let (_, _, secret) = holders.last().unwrap();
    let mut client = server.connect().await;
    assert_eq!(client.call(&["AUTH", secret]).await, "+OK");
    for call in ["RENAME own-1 other-2", "RENAME own-1 other-1", "RENAME other-1 own-2"] {
        assert_eq!(say(&mut client, call).await, NO_KEY, "{call}");
    }
    assert_eq!(say(&mut client, "EXISTS own-1 other-1 own-1").await, ":2");
    assert_eq!(say(&mut client, "DEL other-1 own-2").await, ":0");
    let read = say(&mut client, "XREAD STREAMS other-1 own-1 0 0").await;
    assert!(read.starts_with("*1 *2 own-1 "), "{read}");
    for call in ["MULTI", "XLEN own-1", "XLEN other-1", "XADD other-1 * f v"] {
        assert!(!say(&mut client, call).await.starts_with('-'), "{call}");
    }
    assert_eq!(say(&mut client, "EXEC").await, format!("*3 :2 :0 {NO_KEY}"));
    assert_eq!(say(&mut admin, "XLEN other-1").await, ":2");
}

#[tokio::test]
async fn groups_that_a_key_does_not_reach_are_not_listed() {
    let (server, holders) = server().await;
    // The queue of the HTTP door on this stream has a name of its own.
    server.stream("own-1").await;
    let mut admin = server.connect_as_admin().await;
    assert_eq!(say(&mut admin, "XGROUP CREATE own-1 g 0").await, "+OK");
    let (_, _, secret) = holders.last().unwrap();
    let mut client = server.connect().await;
    assert_eq!(client.call(&["AUTH", secret]).await, "+OK");
    for call in ["XINFO GROUPS own-1", "XINFO STREAM own-1 FULL"] {
        let (mine, everything) = (say(&mut client, call).await, say(&mut admin, call).await);
        assert!(everything.contains("queue-of-own-1") && everything.contains("name g "), "{everything}");
        assert!(!mine.contains("queue-of-own-1") && mine.contains("name g "), "{mine}");
    }
    assert_eq!(say(&mut client, "XPENDING own-1 queue-of-own-1").await, {
        "-NOGROUP No such key 'own-1' or consumer group 'queue-of-own-1'"
    });
}
