//! The commands of the README, the quick start and the pages on streams and on the Redis door really run.
//!
//! Lives here: taking them out of the pages, comparing the session with what `naven dev` prints, and
//! running them with bash, curl and redis-cli. Not here: the pages themselves.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use support::{Http, Naven, Start, key};

const README: &str = include_str!("../../../README.md");
const QUICK_START: &str = include_str!("../../../docs/quickstart.md");
const STREAMS: &str = include_str!("../../../docs/streams.md");
const SESSION: &str = include_str!("../src/first_event.sh");
const REDIS_SESSION: &str = include_str!("../src/first_entry.sh");
const REDIS: &str = include_str!("../../../docs/redis.md");
const DEFAULT_URL: &str = "http://127.0.0.1:7480";
const REDIS_CLI: &str = "redis-cli -p 7379 ";

/// The bash blocks of a page.
fn blocks(page: &'static str) -> impl Iterator<Item = &'static str> {
    page.split("```bash\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0))
}

/// The README's block that talks to a server.
fn session() -> &'static str {
    blocks(README).find(|block| block.contains("/claim")).expect("the README has a session")
}

/// The README's block for the Redis door.
fn redis_session() -> &'static str {
    blocks(README).find(|block| block.contains("XREADGROUP")).expect("the README has one for redis-cli")
}

/// `script` for this server.
fn here(naven: &Naven, script: &str) -> String {
    let port = naven.redis().rsplit(':').next().expect("an address has a port");
    let script = script.replace(DEFAULT_URL, &naven.url());
    script.replace(REDIS_CLI, &format!("redis-cli -p {port} "))
}

/// What a read of one entry prints last.
const READ: &str = "event\norder.paid\npayload\n{\"order\":7}\n";

/// Runs `script` where the server runs, and gives what it printed. Fails with the first command that does.
fn bash(naven: &Naven, script: &str) -> String {
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("PATH={}:$PATH\n{script}", folder_of_naven().display())])
        .current_dir(naven.cwd())
        .env("NAVEN_API_URL", naven.url())
        .env("NAVEN_API_KEY", key())
        .env_remove("NAVEN_QUEUE_ID")
        .env_remove("NAVEN_LEASE_TOKEN")
        .stdin(Stdio::null())
        .output()
        .expect("there is a bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn folder_of_naven() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_naven")).parent().expect("a binary lies in a folder")
}

/// Publish, claim and ack were all answered with success, and the queue has one done event.
fn assert_went_through(naven: &Naven, printed: &str) {
    assert_eq!(printed.matches(r#""code":0"#).count(), 3, "{printed}");
    assert!(printed.contains(r#""payload":{"hello": "world"}"#), "byte for byte: {printed}");
    assert!(printed.contains(r#""state":"done""#), "{printed}");
    let key = std::fs::read_to_string(naven.data().join("dev-key")).expect("the dev key");
    let queue = Http::new(&naven.http, key.trim()).get("/v1/event-queues/demo").success();
    assert_eq!((&queue["counts"]["done"], &queue["counts"]["ready"]), (&1.into(), &0.into()), "{queue}");
}

#[test]
fn the_readmes_sessions_are_those_that_dev_prints() {
    assert_eq!(session(), SESSION, "README.md and crates/cli/src/first_event.sh say the same");
    assert_eq!(redis_session(), REDIS_SESSION, "README.md and crates/cli/src/first_entry.sh say the same");
}

#[test]
fn the_readmes_session_takes_an_event_from_publish_to_ack() {
    let naven = Start::dev().ready();
    assert_eq!(session().matches(DEFAULT_URL).count(), 1, "the address stands in one place");
    let printed = bash(&naven, &here(&naven, session()));
    assert_went_through(&naven, &printed);
}

#[test]
fn the_readmes_session_with_redis_cli_takes_an_entry_to_its_reader() {
    let naven = Start::serve().ready();
    assert_eq!(redis_session().matches(REDIS_CLI).count(), 3);
    let printed = bash(&naven, &here(&naven, redis_session()));
    assert!(printed.contains("\nOK\n") && printed.ends_with(READ), "{printed}");
    let queue = naven.client().get("/v1/event-queues/factory:events%2Fworker-mail").success();
    assert_eq!(queue["counts"]["held"], 1, "{queue}");
}

#[test]
fn the_commands_of_the_page_on_the_redis_door_run() {
    let naven = Start::serve().ready();
    let script: Vec<&str> = blocks(REDIS).collect();
    let printed = bash(&naven, &here(&naven, &script.join("\n")));
    assert!(printed.ends_with(READ), "{printed}");
}

#[test]
fn the_session_that_dev_prints_runs_as_it_is_and_a_second_start_finds_all_in_place() {
    let naven = Start::dev().ready().restart();
    naven.wait_until("the session is printed", |naven| naven.stdout().ends_with(" '>'\n"));
    let printed = naven.stdout();
    let at = printed.find("export ").expect("the session begins with the address");
    let printed = bash(&naven, &printed[at..]);
    assert_went_through(&naven, &printed);
    assert!(printed.ends_with(READ), "{printed}");
}

#[test]
fn the_quick_starts_commands_take_an_event_from_publish_to_ack() {
    let naven = Start::serve().ready();
    // The other blocks start servers.
    let talks = |block: &&str| block.contains("$NAVEN_API_URL") || block.contains("naven claim");
    let script: Vec<&str> = blocks(QUICK_START).filter(talks).collect();
    assert_eq!(script.len(), 3, "a queue, a publish, a claim with its ack");
    let printed = bash(&naven, &script.join("\n"));
    assert!(printed.ends_with("\"replayed\":false}\n"), "{printed}");
    let queue = naven.client().get("/v1/event-queues/mail").success();
    assert_eq!((&queue["counts"]["done"], &queue["maxAttempts"]), (&1.into(), &5.into()), "{queue}");
}

#[test]
fn the_commands_of_the_page_on_streams_run() {
    let naven = Start::serve().ready();
    let script: Vec<&str> = blocks(STREAMS).collect();
    assert_eq!(script.len(), 5, "fan-out, what is pending, a trim, a reset, a repetition");
    let printed = bash(&naven, &script.join("\n"));
    let answers: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("an answer")).collect();
    let event = |at: usize| &answers[at]["data"]["event"]["id"];
    assert_eq!((event(3), event(4)), (&answers[2]["data"]["id"], &answers[2]["data"]["id"]), "{printed}");
    assert_eq!(&answers[5]["data"]["items"][0]["eventId"], event(3), "{printed}");
    assert_eq!(answers[6]["data"]["trimmed"], 0, "{printed}");
    assert_eq!(answers[7]["data"]["counts"]["ready"], 1, "{printed}");
    assert_eq!(answers[8], answers[9], "the second answer is the first one again");
}
