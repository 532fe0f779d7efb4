//! `naven backup` and `naven restore` as processes: under load, killed, and started on what they made.
//!
//! Lives here: what the commands promise to whoever runs them. Not here: the stream itself, byte by byte
//! (`crates/store/tests/backup`).

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use support::{Ended, Http, Naven, Start, key, naven, run, wait_for_rows};

/// How many publish at once.
const PUBLISHERS: usize = 4;

fn server() -> Naven {
    let naven = Start::serve().ready();
    naven.client().post("/v1/event-queues", r#"{"name":"mail"}"#).success();
    naven
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are UTF-8")
}

fn backup(server: &Naven, target: &str) -> Ended {
    run(&["backup", target], &[("NAVEN_API_URL", &server.url()), ("NAVEN_API_KEY", key())])
}

fn restore(source: &Path, data: &Path) -> Ended {
    run(&["restore", text(source), "--data", text(data)], &[])
}

fn done(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("one JSON text: {ended:?}"))
}

fn publish(client: &Http, bytes: usize) -> std::io::Result<String> {
    let body = format!(r#"{{"payload":{{"x":"{}"}}}}"#, "y".repeat(bytes));
    let answer = client.try_call("POST", "/v1/event-queues/mail/events", &body)?;
    Ok(answer.success()["id"].as_str().expect("an id").to_owned())
}

/// Publishes from several threads at once until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    /// Who published, and what.
    answered: Arc<Mutex<Vec<(usize, String)>>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn on(server: &Naven) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let publisher = |number: usize| {
            let (client, stop, answered) = (server.client(), Arc::clone(&stop), Arc::clone(&answered));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    let Ok(id) = publish(&client, 900) else { return };
                    answered.lock().expect("no holder panics").push((number, id));
                }
            })
        };
        let threads = (0..PUBLISHERS).map(publisher).collect();
        Self { stop, answered, threads }
    }

    /// How many events were answered so far.
    fn count(&self) -> usize {
        self.answered.lock().expect("no holder panics").len()
    }

    fn wait_for(&self, count: usize) {
        while self.count() < count {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn end(mut self) -> Vec<(usize, String)> {
        self.stop.store(true, Ordering::Release);
        self.threads.drain(..).for_each(|thread| thread.join().expect("a publisher does not panic"));
        std::mem::take(&mut self.answered.lock().expect("no holder panics"))
    }
}

/// Starts a server on `data`.
fn serve(data: &Path) -> Naven {
    Start::serve().args(&["--data", text(data)]).ready()
}

/// How many of `ids` the server does not know.
fn missing(server: &Naven, ids: &[String]) -> usize {
    let client = server.client();
    let is_missing = |id: &&String| client.get(&format!("/v1/events/{id}")).status != 200;
    ids.iter().filter(is_missing).count()
}

#[test]
fn a_backup_under_load_is_restored_with_all_that_was_answered_before_its_end() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let client = server.client();
    publish(&client, 10).expect("it is served");
    let claim = client.post("/v1/event-queues/mail/claim", r#"{"waitSeconds":0,"leaseSeconds":600}"#);
    let claim = claim.success();
    let file = folder.path().join("naven.bak");
    for (name, target) in
        [("file", text(&file).to_owned()), ("folder", format!("{}/as-folder/", text(folder.path())))]
    {
        let load = Load::on(&server);
        load.wait_for(300);
        wait_for_rows(&server, 1);
        let before = load.count();
        let ended = backup(&server, &target);
        let after = load.count();
        let answered = load.end();
        let said = done(&ended);
        assert_eq!(said["kind"], name);
        assert!(said["rows"].as_u64() > Some(0) && said["uptoLsn"].as_u64() > Some(0), "{said}");
        let data = match name {
            "file" => {
                let data = folder.path().join("restored");
                assert_eq!(done(&restore(&file, &data))["rows"], said["rows"]);
                data
            }
            _ => PathBuf::from(target),
        };
        let restored = serve(&data);
        let is_there: Vec<bool> =
            answered.iter().map(|(_, id)| missing(&restored, std::slice::from_ref(id)) == 0).collect();
        assert!(is_there[..before].iter().all(|is_there| *is_there), "answered before the command began");
        // The process ends a little later than the backup: what came in between may be missing, but never
        // anything that was answered before something that is there.
        for publisher in 0..PUBLISHERS {
            let own = answered.iter().zip(&is_there).filter(|((by, _), _)| *by == publisher);
            let own: Vec<bool> = own.map(|(_, is_there)| *is_there).collect();
            assert!(own.is_sorted_by_key(|is_there| !is_there), "publisher {publisher} has a gap");
        }
        let late = is_there[..after].iter().filter(|is_there| !**is_there).count();
        println!("{name}: {} answered while it ran, {late} of them after its last piece", after - before);
        let client = restored.client();
        let body = format!(r#"{{"leaseToken":{}}}"#, claim["leaseToken"]);
        let event = claim["event"]["id"].as_str().expect("an id");
        for verb in ["heartbeat", "ack"] {
            let answer = client.post(&format!("/v1/events/{event}/{verb}"), &body);
            assert_eq!((answer.status, answer.code), (409, 40_901), "{}", answer.body);
        }
        publish(&client, 10).expect("it serves");
    }
    let body = format!(r#"{{"leaseToken":{}}}"#, claim["leaseToken"]);
    let event = claim["event"]["id"].as_str().expect("an id");
    client.post(&format!("/v1/events/{event}/ack"), &body).success();
}

#[test]
fn a_file_is_replaced_only_by_a_whole_backup_and_only_where_it_is_one() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("naven.bak");
    done(&backup(&server, text(&file)));
    let first = std::fs::read(&file).expect("it is there");
    publish(&server.client(), 100).expect("it is served");
    done(&backup(&server, text(&file)));
    assert_ne!(std::fs::read(&file).expect("it is there"), first, "it was replaced");
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "mine").expect("a file");
    let refused = backup(&server, text(&notes));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&notes).expect("it is there"), "mine");
    let refused = backup(&server, text(folder.path()));
    assert_eq!(refused.code, Some(65), "a folder with something in it: {refused:?}");
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).expect("it is there").collect();
    assert_eq!(names.drain(..).count(), 2, "nothing was left beside them");
}

#[test]
fn a_damaged_backup_is_refused_by_what_is_wrong_with_it() {
    let server = server();
    publish(&server.client(), 100).expect("it is served");
    let folder = tempfile::tempdir().expect("a folder");
    let (file, data) = (folder.path().join("naven.bak"), folder.path().join("data"));
    done(&backup(&server, text(&file)));
    let whole = std::fs::read(&file).expect("it is there");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let half = whole[..whole.len() / 2].to_vec();
    for (bytes, word) in [(flipped, "damaged"), (half, "incomplete"), (b"hello".to_vec(), "not a backup")] {
        std::fs::write(&file, bytes).expect("a file");
        let refused = restore(&file, &data);
        assert_eq!(refused.code, Some(65), "{refused:?}");
        assert!(refused.stderr.contains(word), "{refused:?}");
        let served = run(&["serve", "--data", text(&data), "--http", "127.0.0.1:0", "--redis", "off"], &[]);
        assert_eq!(served.code, Some(65), "no store was left: {served:?}");
    }
    std::fs::write(&file, &whole).expect("a file");
    done(&restore(&file, &data));
    let refused = restore(&file, &data);
    assert_eq!(refused.code, Some(65), "there is a store now: {refused:?}");
    assert_eq!(restore(&folder.path().join("none"), &data).code, Some(74));
}

#[test]
fn there_is_one_backup_at_a_time_and_a_client_that_goes_away_makes_room() {
    let server = server();
    for _ in 0..40 {
        publish(&server.client(), 200_000).expect("it is served");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let slow = begin_slowly(&server);
    let refused = backup(&server, text(&folder.path().join("second")));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("40906 operation_running"), "{refused:?}");
    drop(slow);
    server.wait_until("the first is given up", |server| {
        backup(server, text(&folder.path().join("third"))).code == Some(0)
    });
    let no_key = Http::new(&server.http, "nvk_none").get("/v1/system/backup");
    assert_eq!(no_key.code, 40_101);
}

/// A backup of which a few bytes were taken, and that waits for its client.
fn begin_slowly(server: &Naven) -> TcpStream {
    let mut stream = TcpStream::connect(&server.http).expect("it listens");
    let request = format!(
        "GET /v1/system/backup HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        key()
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut first = [0; 4_096];
    stream.read_exact(&mut first).expect("it begins");
    assert!(first.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first));
    stream
}

#[test]
fn a_server_killed_in_the_middle_of_a_backup_leaves_no_file_that_passes_for_one() {
    let mut server = server();
    for _ in 0..40 {
        publish(&server.client(), 200_000).expect("it is served");
    }
    let mut slow = begin_slowly(&server);
    server.kill();
    let mut rest = Vec::new();
    // Reset or ended: either way there is no end of the last chunk.
    let _ = slow.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"0\r\n\r\n"), "it was not completed");
    let folder = tempfile::tempdir().expect("a folder");
    for delay_ms in [0, 5, 20, 60] {
        server = server.restart();
        let file = folder.path().join(format!("{delay_ms}.bak"));
        let mut command = naven();
        command.args(["backup", text(&file)]).env("NAVEN_API_URL", server.url()).env("NAVEN_API_KEY", key());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("naven starts");
        std::thread::sleep(Duration::from_millis(delay_ms));
        server.kill();
        let ended: Ended = child.wait_with_output().expect("it ends").into();
        assert_eq!(file.exists(), ended.code == Some(0), "{ended:?}");
        println!("killed after {delay_ms} ms: {:?}", ended.code);
    }
    let server = server.restart();
    assert_eq!(done(&backup(&server, text(&folder.path().join("whole"))))["kind"], "file");
}

#[test]
fn a_restore_killed_at_any_moment_leaves_no_store_or_a_whole_one() {
    let server = server();
    let client = server.client();
    let ids: Vec<String> = (0..40).map(|_| publish(&client, 200_000).expect("it is served")).collect();
    wait_for_rows(&server, 80);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("naven.bak");
    done(&backup(&server, text(&file)));
    drop(server);
    for delay_ms in [1, 4, 10, 20, 40, 80, 160, 320] {
        let data = folder.path().join(format!("data-{delay_ms}"));
        let mut command = naven();
        command.args(["restore", text(&file), "--data", text(&data)]);
        let killed = killed_after(command, delay_ms);
        let begun = Start::serve().args(&["--data", text(&data)]).try_ready();
        let state = match begun {
            // Killed before it had marked the folder: a new store.
            Ok(server) if missing(&server, &ids[..1]) == 1 => {
                drop(server);
                std::fs::remove_dir_all(&data).expect("it is there");
                "empty"
            }
            Ok(server) => {
                assert_eq!(missing(&server, &ids), 0);
                "whole"
            }
            Err(ended) => {
                assert_eq!(ended.code, Some(65), "{ended:?}");
                "none"
            }
        };
        println!("killed after {delay_ms} ms: {killed:?}, {state}");
        if state != "whole" {
            done(&restore(&file, &data));
            assert_eq!(missing(&serve(&data), &ids), 0, "the next restore begins anew");
        }
    }
}

fn killed_after(mut command: Command, delay_ms: u64) -> Ended {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("naven starts");
    std::thread::sleep(Duration::from_millis(delay_ms));
    // It may have ended by itself.
    let _ = child.kill();
    child.wait_with_output().expect("it ends").into()
}
