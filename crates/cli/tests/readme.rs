//! The README's first session really runs.
//!
//! Lives here: taking the session out of the page, comparing it with what `naven dev` prints, and
//! running it with bash and curl. Not here: the page itself.

mod support;

use std::process::{Command, Stdio};

use support::{Http, Naven, Start};

const README: &str = include_str!("../../../README.md");
const SESSION: &str = include_str!("../src/first_event.sh");
const DEFAULT_URL: &str = "http://127.0.0.1:7480";

/// The README's first bash block that talks to a server.
fn session() -> &'static str {
    let blocks = README.split("```bash\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let mut sessions = blocks.map(|(block, _)| block).filter(|block| block.contains("/claim"));
    sessions.next().expect("the README has a session")
}

/// Runs `script` where the server runs, and gives what it printed. Fails with the first command that does.
fn bash(naven: &Naven, script: &str) -> String {
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(naven.cwd())
        .env_remove("NAVEN_API_URL")
        .env_remove("NAVEN_API_KEY")
        .stdin(Stdio::null())
        .output()
        .expect("there is a bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
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
fn the_readmes_session_is_the_one_that_dev_prints() {
    assert_eq!(session(), SESSION, "README.md and crates/cli/src/first_event.sh say the same");
}

#[test]
fn the_readmes_session_takes_an_event_from_publish_to_ack() {
    let naven = Start::dev().ready();
    assert_eq!(session().matches(DEFAULT_URL).count(), 1, "the address stands in one place");
    let printed = bash(&naven, &session().replace(DEFAULT_URL, &naven.url()));
    assert_went_through(&naven, &printed);
}

#[test]
fn the_session_that_dev_prints_runs_as_it_is_and_a_second_start_finds_all_in_place() {
    let naven = Start::dev().ready().restart();
    let printed_session = loop {
        let printed = naven.stdout();
        if printed.matches("curl").count() >= 3 && printed.ends_with("\"}\"\n") {
            let at = printed.find("export ").expect("the session begins with the address");
            break printed[at..].to_owned();
        }
        std::thread::yield_now();
    };
    assert_went_through(&naven, &bash(&naven, &printed_session));
}
