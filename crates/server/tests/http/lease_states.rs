//! How an event gets to each state that the table of lease semantics names.
//!
//! Lives here: the way there, by calls of holders and operators, and by the engine's own handle where no
//! call leads there yet. Not here: what a late call is then answered (`lease_table.rs`).

use std::time::Duration;

use naven_api::{EventId, QueueId};
use naven_store::queue::QueueRef;
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{OpKind, Proof, Settle, SettleStep, Txn};
use naven_store::{Clock, Engine};
use serde_json::{Value, json};

use crate::Factory;
use crate::test_server::TestServer;

/// How the event came to where it is when the calls arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum State {
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
    PastTheGrace,
    NackedAndDue,
    NackedAndTaken,
    DeadByFailing,
    ReleasedAndTaken,
    QueueLongDeleted,
    StreamDeleted,
    Reset,
    AckedThenReset,
    GivenBack,
    HeldByRedis,
    DoneByRedis,
    EventExpired,
    CutToTheBound,
    NoId,
    NullToken,
    EmptyToken,
    TombstoneGone,
    OutOfReach,
    TokenOutOfReach,
    WithinReach,
}

/// A late call: about which event, with which body, under which key.
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) body: Value,
    pub(crate) key: String,
}

/// A server, and a key that reaches the queues whose names begin with `near.`.
pub(crate) struct World {
    pub(crate) server: TestServer,
    near: String,
}

/// A lease that was taken, before anything came of it.
struct Taken<'a> {
    queue: &'a str,
    id: String,
    claim: Value,
}

impl World {
    pub(crate) async fn new(factory: Factory) -> Self {
        let server = TestServer::start(factory).await;
        let key = json!({ "name": "near", "scopes": ["consume"], "queues": ["near.*"] });
        let near = server.post("/v1/keys", key).await.data()["secret"].as_str().unwrap().to_owned();
        Self { server, near }
    }

    /// Brings an event of `queue` to `state`, and gives the call that comes too late, or not.
    pub(crate) async fn reach(&self, queue: &str, state: State) -> Call {
        if matches!(state, State::TokenOutOfReach | State::WithinReach) {
            return self.of_shared_stream(queue, state).await;
        }
        let taken = self.take(queue, state).await;
        let body = json!({ "leaseToken": taken.claim["leaseToken"] });
        let mut call = Call { id: taken.id.clone(), body, key: self.server.key.clone() };
        match state {
            State::WrongPath => call.id = self.server.publish(queue, 2).await,
            State::NoId => "evt_1".clone_into(&mut call.id),
            State::Unknown => "evt_00000000000000000000000000".clone_into(&mut call.id),
            State::NoToken => call.body = json!({}),
            State::BadToken => call.body = json!({ "leaseToken": "not-a-token" }),
            State::EmptyToken => call.body = json!({ "leaseToken": "" }),
            State::NullToken => call.body = json!({ "leaseToken": null }),
            State::TokenOfOtherKind => call.body = json!({ "leaseToken": 7 }),
            State::OutOfReach => call.key.clone_from(&self.near),
            _ => self.change(&taken, state).await,
        }
        call
    }

    async fn take<'a>(&self, queue: &'a str, state: State) -> Taken<'a> {
        let server = &self.server;
        let mut event = json!({ "payload": {} });
        if state == State::EventExpired {
            event["expiresAt"] = json!(server.clock.wall().plus_ms(5_000).to_string());
        }
        let path = format!("/v1/event-queues/{queue}/events");
        let id = server.post(&path, event).await.data()["id"].as_str().unwrap().to_owned();
        Taken { queue, id, claim: server.claim(queue, 10).await }
    }

    async fn settle(&self, taken: &Taken<'_>, verb: &str, more: Value) {
        assert_eq!(self.server.settle(verb, &taken.claim, more).await.code(), 0, "{verb}");
    }

    /// Time goes by, or the holder itself does something.
    async fn change(&self, taken: &Taken<'_>, state: State) {
        let later = json!({ "retryDelaySeconds": 60 });
        match state {
            State::Leased => self.server.advance(9),
            State::EventExpired => self.server.advance(6),
            // The end is exclusive: at this very instant the lease does not hold any more.
            State::Expired => self.server.advance(10),
            State::PastTheGrace => self.server.advance(15),
            State::AckedByThis => self.settle(taken, "ack", json!({})).await,
            State::Nacked => self.settle(taken, "nack", later).await,
            State::NackedAndDue => {
                self.settle(taken, "nack", later).await;
                self.server.advance(60);
            }
            State::DeadByFatal => self.settle(taken, "nack", json!({ "mode": "fatal" })).await,
            State::DeadByFailing => self.settle(taken, "nack", json!({})).await,
            State::Released => self.settle(taken, "nack", json!({ "mode": "release" })).await,
            State::UsedUpByExpiry => {
                self.server.advance(10);
                assert_eq!(self.server.claim(taken.queue, 10).await, Value::Null);
            }
            State::AtTheBound | State::CutToTheBound => self.cut(taken, state).await,
            State::TombstoneGone => self.forgotten(taken).await,
            _ => self.by_another(taken, state).await,
        }
    }

    /// A queue whose leases are bounded to 12 s, whatever a heartbeat asks for.
    async fn cut(&self, taken: &Taken<'_>, state: State) {
        self.server.advance(8);
        let beat = self.server.settle("heartbeat", &taken.claim, json!({ "leaseSeconds": 10 })).await.data();
        let bound = self.server.clock.wall().plus_ms(4_000).to_string();
        assert_eq!(beat["leaseExpiresAt"], json!(bound), "extended, and cut to the bound");
        assert_eq!(beat["leaseMs"], 4_000, "and so is what its holder may count on");
        self.server.advance(if state == State::AtTheBound { 4 } else { 3 });
    }

    /// Waits until nothing is known any more of an event that was acked.
    async fn forgotten(&self, taken: &Taken<'_>) {
        self.settle(taken, "ack", json!({})).await;
        // What is needed to judge a late call is kept for a day, whatever the queue's retention is.
        self.server.advance(86_399);
        let late = self.server.settle("ack", &taken.claim, json!({})).await.data();
        assert_eq!(late["replayed"], true, "within the day");
        self.server.advance(2);
        let path = format!("/v1/events/{}", taken.id);
        for _ in 0..5_000 {
            if self.server.get(&path).await.code() == 40_402 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("the event is remembered for ever");
    }

    /// Another consumer gets it.
    async fn by_another(&self, taken: &Taken<'_>, state: State) {
        match state {
            State::Redelivered | State::DoneByAnother => self.server.advance(10),
            State::NackedAndTaken => {
                self.settle(taken, "nack", json!({ "retryDelaySeconds": 60 })).await;
                self.server.advance(60);
            }
            State::ReleasedAndTaken => self.settle(taken, "nack", json!({ "mode": "release" })).await,
            _ => return self.by_operator(taken, state).await,
        }
        let other = self.server.claim(taken.queue, 10).await;
        assert_eq!(other["event"]["id"], taken.claim["event"]["id"]);
        if state == State::DoneByAnother {
            assert_eq!(self.server.settle("ack", &other, json!({})).await.code(), 0);
        }
    }

    /// An operator does something to it.
    async fn by_operator(&self, taken: &Taken<'_>, state: State) {
        let (queue, id) = (taken.queue, &taken.id);
        let call = match state {
            State::Redriven => {
                self.settle(taken, "nack", json!({ "mode": "fatal" })).await;
                ("POST", format!("/v1/events/{id}/redrive"), None)
            }
            State::QueueDeleted | State::QueueLongDeleted => {
                ("DELETE", format!("/v1/event-queues/{queue}?force=true"), None)
            }
            State::StreamDeleted => ("DELETE", format!("/v1/streams/{queue}?force=true"), None),
            State::Reset | State::AckedThenReset | State::HeldByRedis | State::DoneByRedis => {
                if state == State::AckedThenReset {
                    self.settle(taken, "ack", json!({})).await;
                }
                let path = format!("/v1/streams/{queue}/groups/{queue}/reset");
                ("POST", path, Some(json!({ "id": "0-0" })))
            }
            State::CancelRequested => ("POST", format!("/v1/events/{id}/cancel"), None),
            State::CancelledAfterNack => {
                self.settle(taken, "nack", json!({ "retryDelaySeconds": 60 })).await;
                ("POST", format!("/v1/events/{id}/cancel"), None)
            }
            State::CancelledAfterExpiry => {
                self.server.advance(10);
                ("POST", format!("/v1/events/{id}/cancel"), None)
            }
            _ => return self.by_engine(taken, state).await,
        };
        let answer = self.server.call(call.0, &call.1, call.2).await;
        assert_eq!(answer.code(), 0, "{} {}: {}", call.0, call.1, answer.envelope());
        assert_eq!(answer.status == 202, state == State::CancelRequested);
        match state {
            // A day less a minute after the end of the hold.
            State::QueueLongDeleted => self.server.advance(86_340),
            State::HeldByRedis | State::DoneByRedis => self.by_engine(taken, state).await,
            _ => {}
        }
    }

    /// What no call of this door does: a give-back, and what a Redis consumer does.
    async fn by_engine(&self, taken: &Taken<'_>, state: State) {
        let event: EventId = taken.id.parse().expect("an id");
        let named = QueueRef::Name(taken.queue.to_owned());
        match state {
            State::GivenBack => {
                let queue = self.server.get(&format!("/v1/event-queues/{}", taken.queue)).await.data();
                let queue: QueueId = queue["id"].as_str().unwrap().parse().expect("an id");
                let fence = taken.claim["event"]["deliveryCount"].as_u64().unwrap();
                let proof = Proof::Fence { queue, round: 0, fence };
                self.ask(OpKind::Settle(Settle { event, proof, step: SettleStep::GiveBack })).await;
            }
            State::HeldByRedis | State::DoneByRedis => {
                let read = super::consumers::read_one(taken.queue, b"reader");
                let OpReply::Read(reads) = self.ask(read).await else { panic!("not a read's reply") };
                assert_eq!(reads[0].entries.iter().map(|one| one.event).collect::<Vec<_>>(), [event]);
                assert_eq!(self.server.event(&taken.id).await["state"], "held");
                if state == State::DoneByRedis {
                    let proof = Proof::Group { queue: named };
                    self.ask(OpKind::Settle(Settle { event, proof, step: SettleStep::Ack })).await;
                }
            }
            other => panic!("no way leads to {other:?}"),
        }
    }

    async fn ask(&self, op: OpKind) -> OpReply {
        let mut replies = self.server.engine.submit(vec![Txn::one(op)]).await;
        let reply: Result<OpReply, OpError> = replies.remove(0).ops.remove(0);
        reply.expect("the engine takes it")
    }

    /// An event of two queues, of which a key reaches one.
    async fn of_shared_stream(&self, queue: &str, state: State) -> Call {
        let (near, far, stream) = (format!("near.{queue}"), format!("far.{queue}"), format!("s.{queue}"));
        for name in [&near, &far] {
            self.server.queue(name, json!({ "stream": stream })).await;
        }
        let path = format!("/v1/streams/{stream}/events");
        let id = self.server.post(&path, json!({ "payload": {} })).await.data()["id"].clone();
        let from = if state == State::WithinReach { near } else { far };
        let claim = self.server.claim(&from, 10).await;
        assert_eq!(claim["event"]["id"], id);
        let body = json!({ "leaseToken": claim["leaseToken"] });
        Call { id: id.as_str().unwrap().to_owned(), body, key: self.near.clone() }
    }
}
