//! The process from outside: ready line, exit codes, signals.
//!
//! Lives here: the command line contract that scripts and supervisors rely on. Not here: what the
//! doors answer (`naven-server`), `kill -9` under load.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use support::{Naven, Resp, Start, key, run};

fn refused(start: Start, code: i32, says: &str) {
    match start.try_ready() {
        Ok(naven) => panic!("it got ready: {}", naven.ready),
        Err(ended) => {
            assert_eq!(ended.code, Some(code), "{ended:?}");
            assert!(ended.stderr.contains(says), "expected '{says}' in: {}", ended.stderr);
            assert_eq!(ended.stdout, "", "stdout is for the ready line alone");
        }
    }
}

fn stopped(naven: Naven, signal: &str) {
    naven.signal(signal);
    let ended = naven.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn the_ready_line_has_its_agreed_form() {
    let naven = Start::serve().ready();
    let parts: Vec<_> = naven.ready.split(' ').collect();
    let ["ready", http, redis, "engine=embedded"] = parts[..] else { panic!("{}", naven.ready) };
    for (door, name) in [(http, "http=127.0.0.1:"), (redis, "redis=127.0.0.1:")] {
        let port: u16 = door.strip_prefix(name).expect(door).parse().expect("a port");
        assert_ne!(port, 0, "the port that was picked is named");
    }
    assert_eq!(naven.client().get("/v1/me").success()["name"], "admin");
    assert_eq!(naven.stdout(), "", "nothing but the ready line");
}

#[test]
fn the_redis_door_can_be_left_closed() {
    let naven = Start::serve().args(&["--redis", "off"]).ready();
    assert!(naven.ready.ends_with(" redis=off engine=embedded"), "{}", naven.ready);
}

#[test]
fn sigterm_and_sigint_end_it_with_0_and_nothing_answered_is_lost() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let naven = Start::serve().folder(folder.path()).ready();
        naven.client().post("/v1/event-queues", r#"{"name":"q"}"#).success();
        let event = naven.client().post("/v1/event-queues/q/events", r#"{"payload":{"n":1}}"#).success();
        stopped(naven, signal);
        let naven = Start::serve().folder(folder.path()).ready();
        let claim = naven.client().post("/v1/event-queues/q/claim", r#"{"waitSeconds":0}"#).success();
        assert_eq!(claim["event"]["id"], event["id"], "after SIG{signal}");
    }
}

#[test]
fn a_log_reader_that_ends_does_not_take_the_server_along() {
    let naven = Start::serve().env("NAVEN_LOG", "trace").without_log_reader().ready();
    naven.client().post("/v1/event-queues", r#"{"name":"q"}"#).success();
    stopped(naven, "TERM");
}

#[test]
fn a_waiting_claim_is_answered_null_when_the_server_stops() {
    let naven = Start::serve().ready();
    naven.client().post("/v1/event-queues", r#"{"name":"q"}"#).success();
    let client = naven.client();
    let waiting =
        std::thread::spawn(move || client.post("/v1/event-queues/q/claim", r#"{"waitSeconds":60}"#));
    let waits = |naven: &Naven| naven.client().get("/v1/system").success()["waiters"]["claims"] == 1;
    naven.wait_until("a waiting claim", waits);
    stopped(naven, "TERM");
    assert!(waiting.join().expect("the waiting call returns").success().is_null());
}

#[test]
fn blocked_readers_of_the_redis_door_are_let_go_within_a_second() {
    let naven = Start::serve().ready();
    let mut other = Resp::open(naven.redis(), key());
    other.done("XGROUP CREATE s g $ MKSTREAM");
    let calls = ["XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "XREAD BLOCK 0 STREAMS s $"];
    let mut blocked: Vec<TcpStream> = calls
        .map(|call| {
            let mut stream = TcpStream::connect(naven.redis()).expect("a connection");
            write!(stream, "AUTH {}\r\n{call}\r\n", key()).expect("the server reads");
            stream
        })
        .into();
    naven.wait_until("both wait", |_| {
        Resp::open(naven.redis(), key()).done("INFO clients").text().contains("blocked_clients:2")
    });
    drop(other);
    let begun = now();
    naven.signal("TERM");
    for stream in &mut blocked {
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("closed, not reset");
        assert_eq!(said, "+OK\r\n*-1\r\n", "nothing came, and it is told so");
        println!("a blocked reader was let go after {:?}", begun.elapsed());
        // The bound is a second; a crowded machine gets three.
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    }
    assert_eq!(naven.ended().code, Some(0));
}

#[expect(clippy::disallowed_methods, reason = "the one place where these tests read a clock")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let naven = Start::serve().ready();
    // A request that never ends holds up the graceful stop.
    let mut open = TcpStream::connect(&naven.http).expect("a connection");
    let head = "POST /v1/event-queues HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n";
    let head = format!("{head}content-type: application/json\r\nauthorization: Bearer {}\r\n\r\n{{", key());
    open.write_all(head.as_bytes()).expect("the server reads");
    naven.signal("TERM");
    naven.wait_until("the first signal is taken", |naven| naven.stderr().contains("stopping"));
    naven.signal("TERM");
    let ended = naven.ended();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("ended at once"), "{}", ended.stderr);
}

#[test]
fn a_port_that_is_taken_is_69() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    refused(Start::serve().args(&["--http", &address]), 69, &address);
    refused(Start::serve().args(&["--redis", &address]), 69, &address);
}

#[test]
fn a_folder_in_use_is_75() {
    let first = Start::serve().ready();
    refused(Start::serve().folder(first.cwd()), 75, "another process uses this data folder");
    assert_eq!(first.client().get("/v1/me").status, 200, "the first one is not disturbed");
}

#[test]
fn a_folder_that_is_not_ours_is_65_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("naven-data");
    std::fs::create_dir(&data).expect("a folder");
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).expect("its mode");
    std::fs::write(data.join("thesis.txt"), "mine").expect("a file");
    refused(Start::serve().folder(folder.path()), 65, "thesis.txt");
    let names: Vec<_> =
        std::fs::read_dir(&data).expect("the folder").map(|entry| entry.expect("a name")).collect();
    assert_eq!(names.len(), 1, "nothing was made in it: {names:?}");
}

#[test]
fn a_folder_that_others_can_write_to_is_65() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("naven-data");
    std::fs::create_dir(&data).expect("a folder");
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o777)).expect("its mode");
    refused(Start::serve().folder(folder.path()), 65, "others can write");
}

#[test]
fn what_cannot_be_asked_for_is_2_and_says_why() {
    for (args, says) in [
        (&["--http", "here"][..], "http: expected an IP address and a port"),
        (&["--engine", "postgres://me:pw@db/x"], "PostgreSQL is not in this version"),
        (&["--engine", "sqlite"], "'embedded', the one engine"),
        (&["--redis", "0.0.0.0:0", "--redis-no-auth"], "loopback"),
        (&["--config", "nowhere.toml"], "nowhere.toml"),
        (&["--log", "a=b=c"], "NAVEN_LOG"),
        (&["--nonsense"], "--nonsense"),
    ] {
        refused(Start::serve().args(args), 2, says);
    }
    refused(Start::serve().env("NAVEN_ADMIN_KEY", "secret"), 2, "NAVEN_ADMIN_KEY");
    let ended = run(&["frobnicate"], &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn flags_outrank_variables_and_variables_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("naven.toml");
    let text = format!("redis = 'off'\ndata = 'from-file'\nadmin_key = '{}'\n", key());
    std::fs::write(&config, text).expect("a file");
    let path = config.to_str().expect("a UTF-8 path");
    let start = || Start::serve().folder(folder.path()).env("NAVEN_ADMIN_KEY", "").env("NAVEN_CONFIG", path);

    drop(start().args(&["--redis", "off"]).env("NAVEN_DATA", "from-variable").ready());
    assert!(folder.path().join("from-variable").is_dir());
    let naven = start().env("NAVEN_DATA", "from-variable").args(&["--data", "from-flag"]).ready();
    assert!(folder.path().join("from-flag").is_dir());
    assert!(!folder.path().join("from-file").exists());
    assert_eq!(naven.client().get("/v1/me").status, 200, "the file's key is installed");
}

#[test]
fn without_a_key_it_starts_warns_and_lets_nobody_in() {
    let naven = Start::serve().env("NAVEN_ADMIN_KEY", "").ready();
    assert_eq!(naven.client().get("/v1/me").code, 40_101);
    let log = naven.stderr();
    assert_eq!(log.matches("no key is stored").count(), 1, "one warning: {log}");
}

#[test]
fn the_data_folder_and_what_is_in_it_are_the_owners_alone() {
    let naven = Start::dev().ready();
    let mode = |path: &std::path::Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&naven.data()), 0o700);
    for entry in std::fs::read_dir(naven.data()).expect("the data folder") {
        let path = entry.expect("a name").path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn a_generated_key_stands_alone_on_its_line() {
    let ended = run(&["key", "generate"], &[]);
    assert_eq!(ended.code, Some(0));
    let key = ended.stdout.strip_suffix('\n').expect("a line");
    assert_eq!((key.len(), &key[..4], key.matches('_').count()), (83, "nvk_", 2), "{key}");
    assert_ne!(run(&["key", "generate"], &[]).stdout, ended.stdout);
}
