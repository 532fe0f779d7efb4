//! A primary that dies, and the replica that takes over.
//!
//! Lives here: a pair of servers that a Sentinel watches. Not here: single servers (`servers.rs`).

use std::process::{Child, Command, Stdio};

use redis::Value;
use tempfile::TempDir;

use crate::bench::{Seen, consumer, lease, run};
use crate::servers::{Kind, free_port};
use crate::wire::{GROUP, STREAM, Wire};

/// A process that ends with the test.
pub(crate) struct Process {
    child: Child,
    pub(crate) url: String,
    _folder: TempDir,
}

impl Process {
    pub(crate) fn start(binary: &str, arguments: &[&str], config: &str, port: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("server.conf");
        std::fs::write(&file, format!("port {port}\nbind 127.0.0.1\n{config}")).expect("it is ours");
        let child = Command::new(binary)
            .arg(&file)
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{binary}: {error}: this test needs it"));
        let url = format!("redis://127.0.0.1:{port}/");
        let mut tries = 0;
        while !Wire::answers(&url) {
            tries += 1;
            assert!(tries < 1_000, "{binary} does not answer at {url}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Self { child, url, _folder: folder }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) async fn a_failover_is_followed(kind: Kind) {
    let binary = kind.binary();
    let [first, second, third] = [free_port(), free_port(), free_port()];
    let primary = Process::start(&binary, &[], "save \"\"\n", first);
    let replica = Process::start(&binary, &[], &format!("save \"\"\nreplicaof 127.0.0.1 {first}\n"), second);
    let watched = format!(
        "sentinel monitor mymaster 127.0.0.1 {first} 1\nsentinel down-after-milliseconds mymaster 500\n\
         sentinel failover-timeout mymaster 5000\n"
    );
    let sentinel = Process::start(&binary, &["--sentinel"], &watched, third);
    let mut wire = Wire::to(&primary.url);
    wire.until(|wire| wire.ask::<String>(&["INFO", "replication"]).contains("state=online")).await;
    let mut watcher = Wire::to(&sentinel.url);
    let knows = |wire: &mut Wire| wire.ask::<Vec<Value>>(&["SENTINEL", "REPLICAS", "mymaster"]).len() == 1;
    watcher.until(knows).await;

    let seen = Seen::default();
    let server = naven_client::streams::Server::by_sentinels([sentinel.url.as_str()], "redis://mymaster");
    let server = server.expect("URLs");
    let running = run(consumer(server, "w1", &seen).lease(lease(3)), &seen, |_, _| async {});
    wire.add_many(20);
    seen.until_runs(20).await;
    wire.until_pending(0).await;
    assert_eq!(wire.ask::<u32>(&["WAIT", "1", "10000"]), 1, "the replica has all of it");
    drop(primary);

    // A Sentinel that promotes a server closes its connections.
    let is_primary = |_: &mut Wire| {
        let told = Wire::to(&replica.url).try_ask::<String>(&["INFO", "replication"]);
        told.is_ok_and(|told| told.contains("role:master"))
    };
    watcher.until(is_primary).await;
    let mut wire = Wire::to(&replica.url);
    wire.add(21);
    seen.until_runs(21).await;
    wire.until(|wire| wire.ask::<(u32, Value, Value, Value)>(&["XPENDING", STREAM, GROUP]).0 == 0).await;
    running.stop().await;
    assert_eq!(seen.numbers(), (1..=21).collect::<Vec<u32>>());
}
