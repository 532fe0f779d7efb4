//! A call that waits for something to read.
//!
//! Lives here: its tries, and all that ends it. Not here: who is told to look when (`wait/reader.rs`), and what
//! a try asks (`commands`).

use std::sync::Arc;

use tokio::time::Instant;

use super::asked::Prepared;
use super::clients::{Blocked, Client, Unblock};
use super::door::RedisDoor;
use super::frame::{Protocol, Reply};
use super::plan::{BlockFor, Tried, Waiting};
use super::refusal::refusal;
use crate::auth::Caller;
use crate::room::Taken;
use crate::wait::{Look, Seat, WaitsFor};

/// Who waits.
pub(crate) struct Waiter {
    pub(crate) door: Arc<RedisDoor>,
    pub(crate) client: Arc<Client>,
    pub(crate) caller: Caller,
    pub(crate) protocol: Protocol,
    /// The command's name.
    pub(crate) name: &'static str,
}

/// What ended a pause between two tries.
enum Woken {
    Try,
    Empty,
    Reply(Reply),
}

impl Waiter {
    /// The reply of `waiting`, and the room that it takes. Dropped while it waits, it reads nothing.
    pub(crate) async fn run(&self, waiting: Box<dyn Waiting>) -> (Reply, Option<Taken>) {
        // Who waits for something to read takes no room meanwhile.
        let mut room = None;
        let reply = self.tried(waiting, &mut room).await;
        (reply, room)
    }

    async fn tried(&self, mut waiting: Box<dyn Waiting>, room: &mut Option<Taken>) -> Reply {
        let deadline = match waiting.patience() {
            // A time that no clock reaches is no end.
            Some(BlockFor::Time(time)) => Some(Instant::now().checked_add(time)),
            Some(BlockFor::Ever) => Some(None),
            None => None,
        };
        let node = &self.door.node;
        let (mut seat, mut blocked): (Option<(Seat, WaitsFor)>, Option<Blocked<'_>>) = (None, None);
        loop {
            let Some(caller) = self.door.still(&self.caller) else {
                return Reply::error("NOAUTH Authentication required.");
            };
            let since = node.waits.hints_seen();
            let answers = match Prepared::of(node, &caller, waiting.asks(), self.name).await {
                Ok(prepared) => match prepared.ask(node).await {
                    Ok((answers, taken)) => {
                        *room = Some(taken);
                        answers
                    }
                    Err(reply) => return reply,
                },
                Err(reply) => return reply,
            };
            let wake = match waiting.tried(answers, self.protocol) {
                Tried::Over(reply) => return reply,
                Tried::Nothing(wake) => wake,
            };
            *room = None;
            let Some(deadline) = deadline else { return waiting.empty() };
            let due = wake.due_in.map(|due| Instant::now() + due);
            let on = WaitsFor { queues: wake.queues, streams: wake.streams };
            if seat.as_ref().is_none_or(|(_, sits_on)| *sits_on != on) {
                drop(seat.take());
                match node.waits.seat(on.clone(), since, caller.id()) {
                    Ok(taken) => seat = Some((taken, on)),
                    Err(failure) => return Reply::error(format!("ERR {}", failure.text)),
                }
            }
            let Some((seat, _)) = &seat else { return waiting.empty() };
            // It counts as blocked from when what comes will wake it.
            let blocked = blocked.get_or_insert_with(|| Blocked::new(&self.door.clients, &self.client));
            match pause(seat, blocked, due, deadline).await {
                Woken::Try => {}
                Woken::Empty => return waiting.empty(),
                Woken::Reply(reply) => return reply,
            }
        }
    }
}

async fn pause(
    seat: &Seat,
    blocked: &mut Blocked<'_>,
    due: Option<Instant>,
    deadline: Option<Instant>,
) -> Woken {
    let over = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        how = &mut blocked.unblocked => match how {
            Ok(Unblock::Error) => Woken::Reply(Reply::error("UNBLOCKED client unblocked via CLIENT UNBLOCK")),
            Ok(Unblock::Timeout) | Err(_) => Woken::Empty,
        },
        () = over => Woken::Empty,
        look = seat.look(due) => match look {
            Look::Now => Woken::Try,
            Look::Closing => Woken::Empty,
            Look::Failed(error) => Woken::Reply(refusal(&error)),
        },
    }
}
