//! What is looked at when the load is over.
//!
//! Lives here: a planned stop, the whole folder, and the last figures. Not here: generations,
//! each of which has been emptied (`closing.rs`).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tokio::task::spawn_blocking;

use super::closing::Judged;
use super::plan::Ending;
use super::run::end;
use super::scene::{Scene, lock};
use super::server::Server;
use super::verdict::Verdict;

/// Ends the server as operators do, and reads its folder.
pub(super) async fn finish(scene: &Arc<Scene>, process: &Arc<Mutex<Server>>) {
    if scene.is_over() {
        return;
    }
    end(scene, process, Ending::Stop).await;
    let process = Arc::clone(process);
    match spawn_blocking(move || lock(&process).verify()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => scene.is_wrong(format!("{error:#}")),
        Err(error) => scene.is_wrong(error.to_string()),
    }
}

impl Verdict {
    pub(super) fn add(&mut self, judged: &Judged) {
        self.judged += judged.calls;
        self.lives += judged.lives;
        self.undecided += judged.undecided;
    }

    /// Takes the last figures in.
    pub(super) fn close(&mut self, scene: &Scene) {
        let ledger = &scene.ledger;
        self.published = ledger.published.load(Ordering::Relaxed);
        self.finished = ledger.finished.load(Ordering::Relaxed);
        self.calls = ledger.calls.load(Ordering::Relaxed);
        self.silent = ledger.silent.load(Ordering::Relaxed);
        let timed = ledger.timed.load(Ordering::Relaxed).max(1);
        self.late_mean_ms = ledger.late_sum_ms.load(Ordering::Relaxed) as f64 / timed as f64;
        self.late_most_ms = ledger.late_most_ms.load(Ordering::Relaxed);
        self.faults = ledger.faults();
        self.wrong.extend(scene.wrongs());
    }
}
