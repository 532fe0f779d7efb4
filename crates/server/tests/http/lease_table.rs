//! The table of lease semantics in the contract, cell by cell, over HTTP.
//!
//! Lives here: the rows whose verbs exist, and the list of those whose verbs do not. Not here: the
//! rules themselves (`naven-core`).

use serde_json::{Value, json};

use crate::Factory;
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

/// How the event came to where it is when the calls arrive.
#[derive(Clone, Copy)]
enum State {
    Leased,
    Expired,
    Redelivered,
    DoneByAnother,
    AckedByThis,
    Nacked,
    DeadByFatal,
    Released,
    UsedUpByExpiry,
    Redriven,
    QueueDeleted,
    CancelRequested,
    CancelledAfterNack,
    CancelledAfterExpiry,
    AtTheBound,
    WrongPath,
    NoToken,
    BadToken,
    TokenOfOtherKind,
    Unknown,
}

/// Rows that need verbs which later parts of the product bring.
const MISSING: &[&str] = &[
    // A cancel breaks no lease: it asks the holder to stop.
    "lease broken by an operator",
    "given back by the server",
    "moved",
    "reset",
    "replayed",
    "purged with tombstone",
    "expiresAt passed while leased",
    "held by a Redis consumer now",
    "tombstone gone, or outside the key's reach",
];

fn plain() -> Value {
    json!({})
}

fn graceful() -> Value {
    json!({ "lateAckGraceSeconds": 5 })
}

fn once() -> Value {
    json!({ "maxAttempts": 1, "lateAckGraceSeconds": 5 })
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
        "dead-lettered by this token",
        plain,
        State::DeadByFatal,
        [Beat("dead"), Code(40_902), Nacked("dead", true)],
    ),
    row("released by this token", plain, State::Released, [Beat("ready"), Code(40_902), Code(40_902)]),
    row("expired, attempts used up, dead (no grace)", once, State::UsedUpByExpiry, EXPIRED),
    row("redriven", plain, State::Redriven, LOST),
    row("queue deleted", plain, State::QueueDeleted, LOST),
    row("heartbeat at maxLeaseSeconds", bounded, State::AtTheBound, EXPIRED),
    row("token right, path id of another event", plain, State::WrongPath, LOST),
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
    row("id unknown", plain, State::Unknown, [Code(40_402); 3]),
];

pub(crate) async fn every_cell_that_has_a_verb(factory: Factory) {
    let server = TestServer::start(factory).await;
    for (at, row) in ROWS.iter().enumerate() {
        for (verb, cell) in [("heartbeat", row.heartbeat), ("ack", row.ack), ("nack", row.nack)] {
            let queue = format!("q{at}-{verb}");
            server.queue(&queue, (row.settings)()).await;
            let (id, body) = reach(&server, &queue, row.state).await;
            let answer = server.post(&format!("/v1/events/{id}/{verb}"), body).await;
            check(&answer, cell, &format!("{} / {verb}", row.name));
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

/// Brings an event of `queue` to `state`, and gives the path's id and the body of a call.
async fn reach(server: &TestServer, queue: &str, state: State) -> (String, Value) {
    let id = server.publish(queue, 1).await;
    let claim = server.claim(queue, 10).await;
    let mut body = json!({ "leaseToken": claim["leaseToken"] });
    let settle = async |verb: &str, more: Value| {
        assert_eq!(server.settle(verb, &claim, more).await.code(), 0);
    };
    match state {
        State::Leased => server.advance(9),
        // The end is exclusive: at this very instant the lease does not hold any more.
        State::Expired => server.advance(10),
        State::Redelivered | State::DoneByAnother => {
            server.advance(10);
            let other = server.claim(queue, 10).await;
            assert_eq!(other["event"]["id"], claim["event"]["id"]);
            if matches!(state, State::DoneByAnother) {
                assert_eq!(server.settle("ack", &other, json!({})).await.code(), 0);
            }
        }
        State::AckedByThis => settle("ack", json!({})).await,
        State::Nacked => settle("nack", json!({ "retryDelaySeconds": 60 })).await,
        State::DeadByFatal => settle("nack", json!({ "mode": "fatal" })).await,
        State::Released => settle("nack", json!({ "mode": "release" })).await,
        State::UsedUpByExpiry => {
            server.advance(10);
            assert_eq!(server.claim(queue, 10).await, Value::Null);
        }
        State::Redriven => {
            settle("nack", json!({ "mode": "fatal" })).await;
            assert_eq!(server.call("POST", &format!("/v1/events/{id}/redrive"), None).await.code(), 0);
        }
        State::QueueDeleted => {
            assert_eq!(
                server.call("DELETE", &format!("/v1/event-queues/{queue}?force=true"), None).await.code(),
                0
            );
        }
        State::CancelRequested | State::CancelledAfterNack | State::CancelledAfterExpiry => {
            match state {
                State::CancelledAfterNack => settle("nack", json!({ "retryDelaySeconds": 60 })).await,
                State::CancelledAfterExpiry => server.advance(10),
                _ => {}
            }
            cancel(server, &id, matches!(state, State::CancelRequested)).await;
        }
        State::AtTheBound => {
            server.advance(8);
            let beat = server.settle("heartbeat", &claim, json!({ "leaseSeconds": 10 })).await.data();
            let claimed_at = claim["leaseExpiresAt"].as_str().unwrap();
            assert!(beat["leaseExpiresAt"].as_str().unwrap() > claimed_at, "extended, and cut to the bound");
            server.advance(4);
        }
        State::WrongPath => return (server.publish(queue, 2).await, body),
        State::NoToken => body = json!({}),
        State::BadToken => body = json!({ "leaseToken": "not-a-token" }),
        State::TokenOfOtherKind => body = json!({ "leaseToken": 7 }),
        State::Unknown => return ("evt_00000000000000000000000000".to_owned(), body),
    }
    (id, body)
}

/// Calls an event off, which asks its holder where it has one.
async fn cancel(server: &TestServer, id: &str, is_held: bool) {
    let answer = server.call("POST", &format!("/v1/events/{id}/cancel"), None).await;
    assert_eq!((answer.code(), answer.status == 202), (0, is_held));
}

/// Rows of the table in the contract, each either tested here or named as missing.
pub(crate) async fn no_cell_is_forgotten(factory: Factory) {
    // Rows that several names above stand for are counted once by the contract.
    assert_eq!((ROWS.len(), MISSING.len()), (22, 9), "a new verb moves its row from the list to the table");
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
