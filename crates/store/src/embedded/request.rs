//! What callers hand to the sequencer, and how their answers find back.
//!
//! Lives here: requests and answers in waiting. Not here: the thread that serves them
//! (`sequencer.rs`).

use std::sync::mpsc;

use tokio::sync::{OwnedSemaphorePermit, broadcast, oneshot};

use super::log::Lsn;
use crate::engine::{Budget, Hint, Tended};
use crate::feed::{Change, Feed};
use crate::read::{Page, Read};
use crate::reply::{Grant, OpError, OpReply, TxnReply};
use crate::txn::{OpKind, Proof, Settle, SettleStep, Txn};

/// One caller's wish.
#[expect(
    clippy::large_enum_variant,
    reason = "a request is moved a few times, and a box costs an allocation each"
)]
pub(super) enum Request {
    /// Apply transactions.
    Submit {
        txns: Vec<Txn>,
        reply: oneshot::Sender<Vec<TxnReply>>,
        /// The caller's place among those that may wait; none for the engine's own.
        permit: Option<OwnedSemaphorePermit>,
    },
    /// Look at something.
    Read { read: Read, reply: oneshot::Sender<Result<Page, OpError>>, permit: OwnedSemaphorePermit },
    /// Do what is due.
    Tend { budget: Budget, reply: oneshot::Sender<Result<Tended, OpError>>, permit: OwnedSemaphorePermit },
    /// Write everything to the cold store, and say up to which LSN it holds everything; none where
    /// that failed.
    Checkpoint { reply: mpsc::Sender<Option<Lsn>> },
    /// Take no more, and close.
    Close { reply: oneshot::Sender<()> },
}

/// An answer that waits until what it shows is durable.
pub(super) enum Answer {
    Txns {
        reply: oneshot::Sender<Vec<TxnReply>>,
        replies: Vec<TxnReply>,
        permit: Option<OwnedSemaphorePermit>,
    },
    Page {
        reply: oneshot::Sender<Result<Page, OpError>>,
        page: Result<Page, OpError>,
        permit: OwnedSemaphorePermit,
    },
    Tended {
        reply: oneshot::Sender<Result<Tended, OpError>>,
        tended: Tended,
        permit: OwnedSemaphorePermit,
    },
    /// Where to look, once what happened there is durable.
    Hint(Hint),
    /// What became of deliveries, once it is durable.
    Changes(Vec<Change>),
}

/// Where answers go when they are durable.
#[derive(Clone)]
pub(super) struct Outlet {
    pub(super) hints: broadcast::Sender<Hint>,
    pub(super) feed: Feed,
    /// Back to the sequencer: leases whose claimer is gone.
    pub(super) requests: mpsc::Sender<Request>,
}

impl Outlet {
    /// Sends every answer. A caller that is gone gives its leases back.
    pub(super) fn deliver(&self, answers: Vec<Answer>) {
        self.tell(&answers);
        let mut unclaimed = Vec::new();
        for answer in answers {
            match answer {
                Answer::Txns { reply, replies, permit } => {
                    if let Err(replies) = reply.send(replies) {
                        unclaimed.extend(give_backs(&replies));
                    }
                    drop(permit);
                }
                Answer::Page { reply, page, permit } => {
                    drop(reply.send(page));
                    drop(permit);
                }
                Answer::Tended { reply, tended, permit } => {
                    drop(reply.send(Ok(tended)));
                    drop(permit);
                }
                // Nobody waits where nobody listens.
                Answer::Hint(hint) => drop(self.hints.send(hint)),
                Answer::Changes(_) => {}
            }
        }
        send_back(unclaimed, &self.requests);
    }

    /// Tells what became of deliveries before anybody is answered: who was answered finds it told.
    fn tell(&self, answers: &[Answer]) {
        let changes = answers.iter().filter_map(|answer| match answer {
            Answer::Changes(changes) => Some(changes.as_slice()),
            Answer::Txns { .. } | Answer::Page { .. } | Answer::Tended { .. } | Answer::Hint(_) => None,
        });
        let changes: Vec<&[Change]> = changes.collect();
        match changes.as_slice() {
            [] => {}
            [one] => self.feed.tell(one),
            many => self.feed.tell(&many.concat()),
        }
    }

    /// Answers everything with `error`: nothing of it is known to be durable.
    pub(super) fn refuse(answers: Vec<Answer>, error: &OpError) {
        for answer in answers {
            match answer {
                Answer::Txns { reply, replies, permit } => {
                    drop(reply.send(replies.into_iter().map(|txn| doubted(txn, error)).collect()));
                    drop(permit);
                }
                Answer::Page { reply, .. } => drop(reply.send(Err(OpError::Unavailable))),
                Answer::Tended { reply, .. } => drop(reply.send(Err(OpError::Unavailable))),
                Answer::Hint(_) | Answer::Changes(_) => {}
            }
        }
    }
}

/// A transaction's answer with every success in doubt. Refusals are answers about rows that may not
/// be durable either, so they are in doubt too.
fn doubted(txn: TxnReply, error: &OpError) -> TxnReply {
    TxnReply { version: txn.version, ops: txn.ops.iter().map(|_| Err(error.clone())).collect() }
}

/// Answers a request of an engine that takes no work.
pub(super) fn refuse_request(request: Request) {
    match request {
        Request::Submit { txns, reply, permit } => {
            drop(reply.send(unavailable(&txns)));
            drop(permit);
        }
        Request::Read { reply, .. } => drop(reply.send(Err(OpError::Unavailable))),
        Request::Tend { reply, .. } => drop(reply.send(Err(OpError::Unavailable))),
        // Whoever waits learns it by the end of the channel.
        Request::Checkpoint { .. } => {}
        Request::Close { reply } => drop(reply.send(())),
    }
}

/// What each of `txns` is answered by an engine that takes no work.
pub(super) fn unavailable(txns: &[Txn]) -> Vec<TxnReply> {
    txns.iter()
        .map(|txn| TxnReply { version: 0, ops: txn.ops.iter().map(|_| Err(OpError::Unavailable)).collect() })
        .collect()
}

/// True where a transaction only takes events for a caller: one whose caller is gone takes nothing.
pub(super) fn only_claims(txn: &Txn) -> bool {
    txn.ops.iter().all(|op| matches!(op.kind, OpKind::Claim(_)))
}

/// An answer on its way to whoever waits for it. Dropped before it was read, the leases in it go back: whether it came in
/// the very moment or comes later.
pub(super) struct Unread {
    pub(super) answer: oneshot::Receiver<Vec<TxnReply>>,
    pub(super) requests: mpsc::Sender<Request>,
}

impl Unread {
    /// Waits for it; none where the engine takes no work any more.
    pub(super) async fn read(mut self) -> Option<Vec<TxnReply>> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        // From here on whoever answers learns that nobody listens.
        self.answer.close();
        if let Ok(replies) = self.answer.try_recv() {
            send_back(give_backs(&replies).collect(), &self.requests);
        }
    }
}

fn send_back(leases: Vec<OpKind>, requests: &mpsc::Sender<Request>) {
    if !leases.is_empty() {
        let (reply, _) = oneshot::channel();
        let back = Request::Submit { txns: vec![Txn::each(leases)], reply, permit: None };
        // Where the sequencer is gone the leases run out by themselves.
        drop(requests.send(back));
    }
}

/// The ops that give back every lease in `replies`.
fn give_backs(replies: &[TxnReply]) -> impl Iterator<Item = OpKind> + '_ {
    replies
        .iter()
        .flat_map(|reply| &reply.ops)
        .filter_map(|op| match op {
            Ok(OpReply::Claimed(claimed)) => Some(&claimed.leases),
            _ => None,
        })
        .flatten()
        .filter(|grant| grant.token.is_some())
        .map(give_back)
}

fn give_back(grant: &Grant) -> OpKind {
    let proof = Proof::Fence { queue: grant.queue, round: grant.round, fence: grant.fence };
    OpKind::Settle(Settle { event: grant.event, proof, step: SettleStep::GiveBack })
}
