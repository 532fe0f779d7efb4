//! FC-06: consumers that get a twentieth of a CPU do no work twice that nobody was told to stop.
//!
//! The twentieth is dealt out by stopping the processes, which needs no rights, unlike a control group: 5 ms of every 100.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use crate::consumer::Consumer;
use crate::{event, publish, server};

const EVENTS: usize = 8;

/// Stops a process and what it started for most of the time. Dropped, it lets them go on.
struct Throttle {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Throttle {
    fn on(pid: u32) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                signal("STOP", pid);
                sleep(Duration::from_millis(95));
                signal("CONT", pid);
                sleep(Duration::from_millis(5));
            }
        });
        Self { ends, thread: Some(thread) }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // A thread that panicked has nothing stopped.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// To a process and to all that descend from it.
fn signal(name: &str, pid: u32) {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(pid) = all.get(at) {
        // Each thread has those that it started.
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    let pids: Vec<String> = all.iter().map(u32::to_string).collect();
    // Some may have ended meanwhile.
    drop(Command::new("kill").arg(format!("-{name}")).args(&pids).output());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whether it is starved is measured by the real clock")]
fn fc06_starved_consumers_do_nothing_twice_that_they_were_not_told_to_stop() {
    let (naven, http) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let ids: Vec<String> = (0..EVENTS).map(|_| publish(&http, r#"{"payload":{}}"#)).collect();
    // Some tenths of a second of CPU, in the shell itself.
    let script = format!(
        r#"say() {{ echo "$1 $NAVEN_EVENT_ID $NAVEN_FENCE" >> '{}'; }}
        trap 'say stopped; exit 1' TERM; say began; n=0; while [ $n -lt 300000 ]; do n=$((n+1)); done; say ended"#,
        log.display()
    );
    let began = Instant::now();
    let args = ["--lease-seconds", "3", "--exec", "sh", "-c", &script];
    let consumers: Vec<_> = (0..3).map(|_| Consumer::start(&naven, "q", &args)).collect();
    let throttles: Vec<_> = consumers.iter().map(|consumer| Throttle::on(consumer.pid())).collect();
    for id in &ids {
        naven.wait_until("an event of a starved consumer", |_| event(&http, id)["state"] == "done");
    }
    let took = began.elapsed();
    drop(throttles);
    for consumer in consumers {
        assert_eq!(consumer.ended_by("TERM").code, Some(0));
    }
    let log = fs::read_to_string(&log).expect("handlers wrote it");
    let mut running: BTreeMap<&str, &str> = BTreeMap::new();
    let mut fences: BTreeMap<&str, u64> = BTreeMap::new();
    for line in log.lines() {
        let [what, id, fence] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if what == "began" {
            let other = running.insert(id, fence);
            assert_eq!(
                other, None,
                "{id} was begun while another worked on it that was not told to stop:\n{log}"
            );
            let fence = fence.parse().expect("a number");
            assert!(fences.insert(id, fence).is_none_or(|before| before < fence), "{log}");
        } else if running.get(id) == Some(&fence) {
            running.remove(id);
        }
    }
    // With all of the CPU it is less than three.
    assert!(took > Duration::from_secs(6), "nobody was starved: {took:?}");
    println!(
        "{took:?}: {EVENTS} events in {} attempts, {} of them told to stop",
        log.matches("began").count(),
        log.matches("stopped").count()
    );
}
