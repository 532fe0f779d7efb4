//! The end of a generation: it is emptied, looked at, deleted and judged.
//!
//! Lives here: the way there. Not here: the rules (`crate::checker`, `readings.rs`).

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::actor::{Actor, Word};
use super::book::{Book, GROUP, Stream};
use super::generation::join;
use super::http::Heard;
use super::scene::{lock, pause};
use super::told::{said, seen};
use super::wire::Wire;
use crate::checker::{Report, Rules};
use crate::history::{Answer, Ask, History};
use crate::node::resp;

/// Everything has to be finished so long after the last publish, in ms: the longest delays, and a restart.
const FINISHED_MS: i64 = 120_000;
/// Of so many events one is looked at.
const LOOK_EACH: usize = 25;
/// A lease may last so much longer after a crash: a second, and syncs that take their time.
const CRASH_MS: i64 = 5_000;
/// Clocks cut to ms, and the wall clock's drift between two looks at it.
const SLACK_MS: i64 = 5;

/// What came of a generation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) calls: u64,
    /// Events, each in each of its queues over HTTP.
    pub(super) lives: u64,
    pub(super) undecided: u64,
    pub(super) violations: Vec<String>,
}

/// Ends it; none where the soak is over before.
pub(super) async fn close(book: &Arc<Book>, mut consumers: JoinSet<()>) -> Option<Judged> {
    book.close();
    let mut actor = Actor::new(book);
    let is_finished = empty(&mut actor).await;
    book.end();
    join(&book.scene, &mut consumers).await;
    if is_finished {
        look(&mut actor).await;
        delete(&mut actor).await;
    }
    Some(judged(book).await)
}

/// Waits until everything is finished. What is dead begins anew.
async fn empty(actor: &mut Actor) -> bool {
    let until_ms = actor.now_ms() + FINISHED_MS;
    while !actor.book.scene.is_over() {
        let open = what_is_open(actor).await;
        match open {
            Ok(()) => return true,
            Err(what) if actor.now_ms() > until_ms => {
                let number = actor.book.number;
                let what = format!("generation {number} is not finished after {FINISHED_MS} ms: {what}");
                actor.book.scene.is_wrong(what);
            }
            Err(_) => pause(300).await,
        }
    }
    false
}

async fn what_is_open(actor: &mut Actor) -> Result<(), String> {
    for queue in 0..actor.book.queues.len() {
        let heard = actor.http.get(&actor.path(queue, "")).await;
        let data = given(&heard)?;
        let counts = data["counts"].clone();
        if counts["dead"].as_u64() != Some(0) {
            redrive(actor, queue).await?;
        }
        let states = ["scheduled", "ready", "leased", "held", "retrying", "dead"];
        let open: u64 = states.iter().filter_map(|state| counts[*state].as_u64()).sum();
        if open > 0 || counts["done"].as_u64().is_none() {
            return Err(format!("{} has {counts}", actor.book.queues[queue].name));
        }
    }
    for stream in actor.book.streams.clone() {
        let (count, one) = lock(&stream.readings).missing();
        if let Some(one) = one {
            return Err(format!("{} has {count} unread entries, {one} among them", stream.name));
        }
        let pending = on_wire(actor, &["XPENDING", &stream.name, GROUP]).await?;
        if pending.many().first() != Some(&resp::Value::Number(0)) {
            return Err(format!("{} has pending entries: {pending:?}", stream.name));
        }
    }
    Ok(())
}

fn given(heard: &Heard) -> Result<&Value, String> {
    said(heard)?.map_err(|answer| format!("the server answers {answer:?}"))
}

async fn on_wire(actor: &Actor, words: &[&str]) -> Result<resp::Value, String> {
    let wire = Wire::connect(&actor.book.scene).await;
    let mut wire = wire.ok_or("there is no Redis door")?;
    wire.call(words).await.map_err(|error| error.to_string())
}

/// Dead letters begin anew.
async fn redrive(actor: &mut Actor, queue: usize) -> Result<(), String> {
    let heard = actor.http.get(&actor.path(queue, "/dead-letters?limit=200")).await;
    let items = given(&heard)?["items"].as_array().cloned().unwrap_or_default();
    for item in items {
        let Some(event) = item["id"].as_str().and_then(|id| id.parse().ok()) else {
            return Err(format!("a dead letter without an id: {item}"));
        };
        let ask = Ask::Redrive { event: Some(event), reset_attempts: true };
        let body = json!({"queue": actor.book.queues[queue].name});
        actor.tell(queue, &format!("/v1/events/{event}/redrive"), &body, ask).await;
    }
    Ok(())
}

/// Looks at some of what is finished, in each queue.
async fn look(actor: &mut Actor) {
    let book = Arc::clone(&actor.book);
    for event in book.events().into_iter().step_by(LOOK_EACH) {
        let begun_ms = actor.now_ms();
        let heard = actor.http.get(&format!("/v1/events/{event}")).await;
        let Ok(Ok(data)) = said(&heard) else {
            if let Heard::Reply(reply) = &heard
                && reply.status != 503
            {
                book.scene.is_wrong(format!("a look at {event} was answered {}", reply.data));
            }
            continue;
        };
        for (queue, of) in book.queues.iter().enumerate() {
            let answer = seen(data, &of.name);
            if answer != Answer::NotFound {
                actor.note(queue, Ask::Look { event }, answer, begun_ms);
            }
        }
    }
}

/// Deletes its queues, which are empty, and its streams. Tokens of long ago are used before and after.
async fn delete(actor: &mut Actor) {
    let book = Arc::clone(&actor.book);
    let strays = book.take_strays();
    for (queue, lease) in &strays {
        actor.say(*queue, lease, Word::Ack).await;
    }
    for queue in 0..book.queues.len() {
        let begun_ms = actor.now_ms();
        let path = actor.path(queue, "");
        let mut is_again = false;
        while !book.scene.is_over() {
            let answer = match actor.http.delete(&path).await {
                Heard::Reply(reply) if reply.code == 0 => Answer::DONE,
                // An earlier one did it, whose answer was lost.
                Heard::Reply(reply) if is_again && reply.code == 40_401 => Answer::DONE,
                Heard::Reply(reply) if reply.status != 503 => {
                    return book.scene.is_wrong(format!("DELETE {path} was answered {}", reply.data));
                }
                _ => {
                    is_again = true;
                    pause(100).await;
                    continue;
                }
            };
            actor.note(queue, Ask::Delete, answer, begun_ms);
            break;
        }
    }
    for (queue, lease) in &strays {
        actor.say(*queue, lease, Word::Ack).await;
    }
    for stream in &book.streams {
        delete_stream(actor, stream).await;
    }
    for queue in &book.queues {
        let path = format!("/v1/dead-letters?queueId={}", queue.id);
        if let Ok(Ok(data)) = said(&actor.http.get(&path).await)
            && data["items"].as_array().is_none_or(|items| !items.is_empty())
        {
            book.scene.is_wrong(format!("{} was empty and left dead letters: {data}", queue.name));
        }
    }
}

async fn delete_stream(actor: &mut Actor, stream: &Stream) {
    let scene = Arc::clone(&actor.book.scene);
    let all: [&[&str]; 3] = [
        &["XGROUP", "DESTROY", &stream.name, GROUP],
        &["XTRIM", &stream.name, "MAXLEN", "0"],
        &["DEL", &stream.name],
    ];
    let mut asked = &all[..];
    while !scene.is_over() {
        let mut is_done = true;
        for words in asked {
            is_done &= on_wire(actor, words).await.is_ok();
        }
        // The others may be said again where the stream is gone, the first may not.
        asked = &all[1..];
        if is_done {
            let (entries, bytes) = stream.held();
            return scene.ledger.take(entries, bytes);
        }
        pause(100).await;
    }
}

async fn judged(book: &Arc<Book>) -> Judged {
    let history = book.take_history();
    let (number, folder) = (book.number, book.scene.plan.folder.clone());
    let must_finish = !book.scene.is_over();
    let judging = tokio::task::spawn_blocking(move || {
        let judged = judge(&history, must_finish);
        if !judged.violations.is_empty() {
            let file = folder.join(format!("history-{number}.jsonl"));
            // Where it cannot be written the violations are told all the same.
            drop(File::create(file).and_then(|file| history.write_to(BufWriter::new(file))));
        }
        judged
    });
    let judged = judging.await.unwrap_or_else(|error| {
        let violations = vec![format!("judging failed: {error}")];
        Judged { violations, ..Judged::default() }
    });
    for violation in &judged.violations {
        book.scene.is_wrong(format!("generation {number}: {violation}"));
    }
    judged
}

fn judge(history: &History, must_finish: bool) -> Judged {
    let rules = Rules { slack_ms: SLACK_MS, crash_ms: CRASH_MS, must_finish, threads: 1, ..Rules::default() };
    let report = Report::of(history, &rules);
    Judged {
        calls: history.calls.len() as u64,
        lives: report.lives as u64,
        undecided: report.undecided.len() as u64,
        violations: report.violations.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use naven_api::{EventId, QueueId};

    use super::*;
    use crate::history::{Call, Grant, Publish};

    fn call(begun_ms: i64, ask: Ask, answer: Answer) -> Call {
        let ended_ms = (answer != Answer::Unknown).then_some(begun_ms + 2);
        Call { client: 1, begun_ms, ended_ms, queue: QueueId::from_bits(1), ask, answer }
    }

    fn cycle() -> History {
        let event = EventId::from_bits(9);
        let grant = Grant { event, fence: 1, attempt: 1, round: None };
        let calls = vec![
            call(0, Ask::Publish(Publish::default()), Answer::Published { event }),
            call(10, Ask::Claim { lease_ms: 4_000 }, Answer::Claimed(vec![grant])),
            call(20, Ask::Ack { event, fence: 1 }, Answer::DONE),
            call(90, Ask::Delete, Answer::DONE),
        ];
        History { calls, ..History::default() }
    }

    #[test]
    fn a_cycle_is_right() {
        let judged = judge(&cycle(), true);
        assert_eq!((judged.calls, judged.lives, judged.violations), (4, 1, Vec::new()));
    }

    #[test]
    fn a_second_holder_is_found() {
        let mut history = cycle();
        let grant = Grant { event: EventId::from_bits(9), fence: 2, attempt: 2, round: None };
        let second = call(15, Ask::Claim { lease_ms: 4_000 }, Answer::Claimed(vec![grant]));
        history.calls.insert(2, second);
        let judged = judge(&history, true);
        assert!(judged.violations[0].starts_with("two_live_tokens"), "{judged:?}");
    }

    #[test]
    fn what_is_not_finished_is_found() {
        let mut history = cycle();
        history.calls.truncate(2);
        let judged = judge(&history, true);
        assert!(judged.violations[0].starts_with("unfinished"), "{judged:?}");
        assert!(judge(&history, false).violations.is_empty(), "a soak that breaks off proves less");
    }
}
