//! The table of lease semantics in the contract, cell by cell, over HTTP.
//!
//! Lives here: the rows whose verbs exist, and the list of those whose verbs do not. Not here: how an
//! event gets to each state (`lease_states.rs`), and the rules themselves (`naven-core`).

use serde_json::{Value, json};

use crate::Factory;
use crate::lease_states::{Call, State, World};
use crate::raw::Answer;
use crate::test_server::TestServer;

/// What one cell answers: a code, and for successes the state and whether it was a repetition.
#[derive(Clone, Copy)]
enum Cell {
    Code(u64),
    Beat(&'static str),
    Acked(bool),
    Nacked(&'static str, bool),
}

use Cell::{Acked, Beat, Code, Nacked};

/// A row: how the event got there, what three calls then answer, and the settings of its queue.
struct Row {
    name: &'static str,
    settings: fn() -> Value,
    state: State,
    heartbeat: Cell,
    ack: Cell,
    nack: Cell,
}

/// Rows that need verbs which later parts of the product bring.
const MISSING: &[&str] = &["moved", "replayed", "purged with tombstone"];

fn plain() -> Value {
    json!({})
}

fn graceful() -> Value {
    json!({ "lateAckGraceSeconds": 5 })
}

fn once() -> Value {
    json!({ "maxAttempts": 1, "lateAckGraceSeconds": 5 })
}

fn brief() -> Value {
    json!({ "retentionSeconds": { "done": 0 } })
}

/// Entries of done events stay, so that a reset finds them.
fn trimmed() -> Value {
    json!({ "retention": "trim" })
}

fn bounded() -> Value {
    json!({ "maxLeaseSeconds": 12 })
}

const fn row(name: &'static str, settings: fn() -> Value, state: State, cells: [Cell; 3]) -> Row {
    let [heartbeat, ack, nack] = cells;
    Row { name, settings, state, heartbeat, ack, nack }
}

const EXPIRED: [Cell; 3] = [Code(40_900); 3];
const LOST: [Cell; 3] = [Code(40_901); 3];
const UNKNOWN: [Cell; 3] = [Code(40_402); 3];

const ROWS: &[Row] = &[
    row(
        "leased by this token, in time",
        plain,
        State::Leased,
        [Beat("leased"), Acked(false), Nacked("retrying", false)],
    ),
    row("expired, unclaimed", plain, State::Expired, EXPIRED),
    row(
        "expired, within the grace",
        graceful,
        State::Expired,
        [Beat("leased"), Acked(false), Nacked("retrying", false)],
    ),
    row("expired, at the end of the grace", graceful, State::PastTheGrace, EXPIRED),
    row("redelivered to another", plain, State::Redelivered, LOST),
    row("redelivered to another, within the grace", graceful, State::Redelivered, LOST),
    row("done by another", plain, State::DoneByAnother, LOST),
    row("acked by this token", plain, State::AckedByThis, [Beat("done"), Acked(true), Code(40_902)]),
    row(
        "nacked by this token",
        plain,
        State::Nacked,
        [Beat("retrying"), Code(40_902), Nacked("retrying", true)],
    ),
    row(
        "nacked by this token, ready again",
        plain,
        State::NackedAndDue,
        [Beat("ready"), Code(40_902), Nacked("ready", true)],
    ),
    row("nacked by this token, redelivered to another", plain, State::NackedAndTaken, LOST),
    row(
        "dead-lettered by this token, its attempts used up",
        once,
        State::DeadByFailing,
        [Beat("dead"), Code(40_902), Nacked("dead", true)],
    ),
    row(
        "dead-lettered by this token",
        plain,
        State::DeadByFatal,
        [Beat("dead"), Code(40_902), Nacked("dead", true)],
    ),
    row("released by this token", plain, State::Released, [Beat("ready"), Code(40_902), Code(40_902)]),
    row("released by this token, taken by another", plain, State::ReleasedAndTaken, LOST),
    row("expired, attempts used up, dead (no grace)", once, State::UsedUpByExpiry, EXPIRED),
    row("redriven", plain, State::Redriven, LOST),
    row("queue deleted", plain, State::QueueDeleted, LOST),
    row("queue deleted, within the tombstone time", plain, State::QueueLongDeleted, LOST),
    row("stream deleted", plain, State::StreamDeleted, LOST),
    row("broken by an operator's reset", plain, State::Reset, LOST),
    row("acked, then reset", trimmed, State::AckedThenReset, LOST),
    row("given back by the server", plain, State::GivenBack, LOST),
    row("held by a Redis consumer now", plain, State::HeldByRedis, LOST),
    row("done by a Redis consumer", plain, State::DoneByRedis, LOST),
    row(
        "expiresAt passed while leased",
        plain,
        State::EventExpired,
        [Beat("leased"), Acked(false), Nacked("dead", false)],
    ),
    row(
        "heartbeat past maxLeaseSeconds",
        bounded,
        State::CutToTheBound,
        [Beat("leased"), Acked(false), Nacked("retrying", false)],
    ),
    row("heartbeat at maxLeaseSeconds", bounded, State::AtTheBound, EXPIRED),
    row("token right, path id of another event", plain, State::WrongPath, LOST),
    row("token right, path id that is none", plain, State::NoId, UNKNOWN),
    row("leaseToken missing", plain, State::NoToken, [Code(40_001); 3]),
    row("any string that is no token", plain, State::BadToken, LOST),
    row("leaseToken not a string", plain, State::TokenOfOtherKind, [Code(40_001); 3]),
    row(
        "asked to stop",
        plain,
        State::CancelRequested,
        [Beat("leased"), Acked(false), Nacked("cancelled", false)],
    ),
    row(
        "nacked by this token, then cancelled",
        plain,
        State::CancelledAfterNack,
        [Beat("cancelled"), Code(40_902), Nacked("cancelled", true)],
    ),
    row("expired, then cancelled", plain, State::CancelledAfterExpiry, [Code(40_900); 3]),
    row("leaseToken null", plain, State::NullToken, [Code(40_001); 3]),
    row("an empty string", plain, State::EmptyToken, LOST),
    row("tombstone gone", brief, State::TombstoneGone, UNKNOWN),
    row("outside the key's reach", plain, State::OutOfReach, UNKNOWN),
    row(
        "another queue's token, of a shared stream, outside the key's reach",
        plain,
        State::TokenOutOfReach,
        LOST,
    ),
    row(
        "within the key's reach",
        plain,
        State::WithinReach,
        [Beat("leased"), Acked(false), Nacked("retrying", false)],
    ),
    row("id unknown", plain, State::Unknown, UNKNOWN),
];

pub(crate) async fn every_cell_that_has_a_verb(factory: Factory) {
    let world = World::new(factory).await;
    for (at, row) in ROWS.iter().enumerate() {
        for (verb, cell) in [("heartbeat", row.heartbeat), ("ack", row.ack), ("nack", row.nack)] {
            let queue = format!("q{at}-{verb}");
            world.server.queue(&queue, (row.settings)()).await;
            let Call { id, body, key } = world.reach(&queue, row.state).await;
            let place = format!("{} / {verb}", row.name);
            // In a batch it is told the same; asked first where nothing comes of it.
            if let Code(code) = cell
                && code != 40_001
            {
                let mut item = body.clone();
                item["eventId"] = json!(id);
                let path = format!("/v1/leases/{verb}");
                let answer = world.server.call_as(&key, "POST", &path, json!({ "items": [item] })).await;
                assert_eq!(answer.envelope()["data"]["items"][0]["code"], code, "{place} in a batch");
            }
            let path = format!("/v1/events/{id}/{verb}");
            check(&world.server.call_as(&key, "POST", &path, body).await, cell, &place);
        }
    }
}

fn check(answer: &Answer, cell: Cell, place: &str) {
    let told = |state: &str, replayed: bool| {
        let data = answer.data();
        assert_eq!((&data["state"], &data["replayed"]), (&json!(state), &json!(replayed)), "{place}");
    };
    match cell {
        Code(code) => assert_eq!(answer.code(), code, "{place}"),
        Beat(state) => assert_eq!(answer.data()["state"], state, "{place}"),
        Acked(replayed) => told("done", replayed),
        Nacked(state, replayed) => told(state, replayed),
    }
}

/// Rows of the table in the contract, each either tested here or named as missing.
pub(crate) async fn no_cell_is_forgotten(factory: Factory) {
    // Rows that several names above stand for are counted once by the contract.
    assert_eq!((ROWS.len(), MISSING.len()), (43, 3), "a new verb moves its row from the list to the table");
    let server = TestServer::start(factory).await;
    // A release repeated, and a fail or fatal repeated as the other, are cells of their own.
    for (first, second, code, state) in [
        ("release", "release", 0, "ready"),
        ("release", "fail", 40_902, ""),
        ("release", "fatal", 40_902, ""),
        ("fail", "release", 40_902, ""),
        ("fail", "fatal", 0, "retrying"),
        ("fatal", "fail", 0, "dead"),
    ] {
        let queue = format!("{first}-{second}");
        server.queue(&queue, json!({})).await;
        server.publish(&queue, 1).await;
        let claim = server.claim(&queue, 10).await;
        let earlier = server.settle("nack", &claim, json!({ "mode": first })).await.data();
        let answer = server.settle("nack", &claim, json!({ "mode": second })).await;
        assert_eq!(answer.code(), code, "{second} after {first}");
        if code == 0 {
            let data = answer.data();
            assert_eq!(
                (&data["state"], &data["replayed"]),
                (&json!(state), &json!(true)),
                "{second} after {first}"
            );
            assert_eq!(data["nextAttemptAt"], earlier["nextAttemptAt"], "the first answer again");
        }
    }
}
