//! A soak from its first process to its verdict.
//!
//! Lives here: the order of its parts, restarts and looks. Not here: what the parts do.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};

use super::closing::Judged;
use super::finish::finish;
use super::generation::{Span, live};
use super::measure::{Figures, Sample, look};
use super::plan::{Ending, Plan, SEGMENT_BYTES};
use super::rate::measure;
use super::scene::{Scene, lock, pause};
use super::server::Server;
use super::verdict::{FIXED_BYTES, Verdict};
use crate::history::WorldEvent;

/// Between two looks at memory, descriptors and disk.
const LOOK_MS: i64 = 5_000;
/// Between two looks at the wall clock, and at whether the process is there.
const CLOCK_MS: i64 = 1_000;

/// The process, and when it was ended how.
type Process = Arc<Mutex<Server>>;

/// Runs it. `say` is told how it goes.
///
/// # Errors
/// Where the binary or the folder cannot be used at all. What is wrong with the server is in the verdict.
pub async fn run(plan: Plan, say: fn(String)) -> anyhow::Result<Verdict> {
    std::fs::create_dir_all(&plan.folder)
        .with_context(|| format!("cannot make {}", plan.folder.display()))?;
    let mut server = Server::new(&plan.naven, &plan.folder)?;
    let scene = Scene::new(plan, server.key().to_owned());
    *lock(&scene.doors) = Some(server.start()?);
    let process: Process = Arc::new(Mutex::new(server));
    let mut verdict = Verdict {
        seconds: scene.plan.seconds,
        share: scene.plan.share,
        segment_bytes: SEGMENT_BYTES,
        ..Verdict::default()
    };
    if let Some((rate, judged)) = measure(&scene).await {
        say(format!("measured {rate:.0} cycles a second"));
        verdict.measured_per_second = rate;
        verdict.add(&judged);
        scene.ledger.begin_load();
        let samples = load(&scene, &process, &mut verdict, say).await;
        verdict.figures = Figures::of(&samples, scene.plan.steady_ms(), FIXED_BYTES);
    }
    finish(&scene, &process).await;
    verdict.close(&scene);
    Ok(verdict)
}

/// The load, generation by generation, with restarts.
async fn load(scene: &Arc<Scene>, process: &Process, verdict: &mut Verdict, say: fn(String)) -> Vec<Sample> {
    let plan = &scene.plan;
    let (count, from_ms) = (plan.generations(), scene.clock.now_ms());
    let rate = verdict.measured_per_second * f64::from(plan.share) / 100.0;
    let begins = |number: i64| from_ms + plan.length_ms() * (number - 1) / count;
    let ending = tokio::spawn(end_now_and_then(Arc::clone(scene), Arc::clone(process), from_ms));
    let looking = tokio::spawn(look_around(Arc::clone(scene), Arc::clone(process), from_ms));
    let mut generations = JoinSet::new();
    for number in 1..=count {
        pause(begins(number) - scene.clock.now_ms()).await;
        if scene.is_over() {
            break;
        }
        let (from_ms, until_ms) = (begins(number), begins(number + 1));
        let is_timed = from_ms >= begins(1) + plan.steady_ms();
        generations.spawn(live(
            Arc::clone(scene),
            Span { number, from_ms, until_ms, cycles_per_second: rate, is_timed },
        ));
        while let Some(ended) = generations.try_join_next() {
            take(verdict, ended, say);
        }
    }
    while let Some(ended) = generations.join_next().await {
        take(verdict, ended, say);
    }
    (verdict.kills, verdict.stops) = joined(scene, ending).await;
    joined(scene, looking).await
}

/// What an actor came to. One that panics is a fault of the soak itself, and is told.
async fn joined<T: Default>(scene: &Scene, actor: JoinHandle<T>) -> T {
    actor.await.unwrap_or_else(|error| {
        scene.is_wrong(format!("an actor failed: {error}"));
        T::default()
    })
}

fn take(verdict: &mut Verdict, ended: Result<Option<Judged>, tokio::task::JoinError>, say: fn(String)) {
    match ended {
        Ok(Some(judged)) => {
            let Judged { calls, lives, violations, .. } = &judged;
            let wrong = violations.len();
            say(format!("judged a generation: {calls} calls, {lives} lives, {wrong} violations"));
            verdict.generations += 1;
            verdict.add(&judged);
        }
        Ok(None) => {}
        Err(error) => verdict.wrong.push(format!("a generation failed: {error}")),
    }
}

/// Ends the process when it is time, and starts it again. Answers kills and stops.
async fn end_now_and_then(scene: Arc<Scene>, process: Process, from_ms: i64) -> (u64, u64) {
    let (mut kills, mut stops) = (0, 0);
    for (at_ms, ending) in scene.plan.endings() {
        while scene.clock.now_ms() < from_ms + at_ms && !scene.is_over() {
            pause((from_ms + at_ms - scene.clock.now_ms()).min(200)).await;
        }
        if scene.is_over() {
            break;
        }
        match ending {
            Ending::Kill => kills += 1,
            Ending::Stop => stops += 1,
        }
        restart(&scene, &process, ending).await;
    }
    (kills, stops)
}

/// Ends the process and starts it again on the same folder.
pub(super) async fn restart(scene: &Arc<Scene>, process: &Process, ending: Ending) {
    end(scene, process, ending).await;
    let starting = Arc::clone(process);
    match spawn_blocking(move || lock(&starting).start()).await {
        Ok(Ok(doors)) => {
            scene.befell(WorldEvent::Restart { at_ms: scene.clock.by_now_ms() });
            *lock(&scene.doors) = Some(doors);
        }
        Ok(Err(error)) => scene.is_wrong(format!("{error:#}")),
        Err(error) => scene.is_wrong(error.to_string()),
    }
}

/// Ends the process.
pub(super) async fn end(scene: &Arc<Scene>, process: &Process, ending: Ending) {
    scene.befell(WorldEvent::Crash { at_ms: scene.clock.now_ms() });
    if ending == Ending::Kill {
        *lock(&scene.doors) = None;
    }
    let ended = Arc::clone(process);
    let done = spawn_blocking(move || match ending {
        Ending::Kill => lock(&ended).kill(),
        Ending::Stop => lock(&ended).stop(),
    });
    match done.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => scene.is_wrong(format!("{error:#}")),
        Err(error) => scene.is_wrong(error.to_string()),
    }
    *lock(&scene.doors) = None;
}

/// Looks at the clocks, the process and its folder until the load is over.
async fn look_around(scene: Arc<Scene>, process: Process, from_ms: i64) -> Vec<Sample> {
    let (mut samples, mut next_ms) = (Vec::new(), 0);
    let mut file = File::create(scene.plan.folder.join("looks.csv")).ok();
    drop(file.as_mut().map(|file| writeln!(file, "{}", Sample::TITLES)));
    while scene.clock.now_ms() < from_ms + scene.plan.length_ms() && !scene.is_over() {
        pause(CLOCK_MS).await;
        scene.look_at_clocks();
        let ended = process.try_lock().ok().and_then(|mut server| server.has_ended());
        if let Some(how) = ended {
            scene.is_wrong(how);
        }
        let at_ms = scene.clock.now_ms() - from_ms;
        if at_ms < next_ms {
            continue;
        }
        next_ms = at_ms + LOOK_MS;
        // While it is being ended or started there is nothing to look at.
        let Some((Some(pid), data)) = process.try_lock().ok().map(|server| (server.pid(), server.data()))
        else {
            continue;
        };
        let looked = spawn_blocking(move || look(pid, &data)).await;
        if let Ok(Some(sample)) = looked {
            let (connections, live_bytes) = (scene.take_most_open() as u64, scene.ledger.live_bytes());
            let sample = Sample { at_ms, connections, live_bytes, ..sample };
            // Where it cannot be written the table is told all the same.
            drop(file.as_mut().map(|file| writeln!(file, "{sample}")));
            samples.push(sample);
        }
    }
    samples
}
