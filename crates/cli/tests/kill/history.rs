//! One event as its clients saw it: how it was published, its holds, and what their holders said.
//!
//! Lives here: the shapes, and reading them out of answers. Not here: keeping them (`facts.rs`) and
//! whether they can all be true (`judge.rs`).

use std::fmt;

use naven_api::Timestamp;
use serde_json::Value;

use crate::clock::Moment;
use crate::plan::QUEUES;

/// When something is due, in ms since 1970: not before `from`, not after `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// An event that a client published, or tried to.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) number: usize,
    /// Its place in `QUEUES`.
    pub(crate) queue: usize,
    /// The call that published it together with others.
    pub(crate) batch: Option<usize>,
    /// Its id, once an answer named it.
    pub(crate) id: Option<String>,
    /// True where the publish was answered.
    pub(crate) answered: bool,
    pub(crate) due: Due,
    pub(crate) attempts_max: u32,
    /// In the order of their fences.
    pub(crate) holds: Vec<Hold>,
    /// The highest fence that any answer named.
    pub(crate) fence_seen: u64,
    /// True once an answer showed it done or dead.
    pub(crate) over_seen: bool,
    /// How an audit found it to be over.
    pub(crate) over: Option<Over>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Done,
    Dead,
}

/// A lease that a client was answered.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) fence: u64,
    pub(crate) token: String,
    pub(crate) attempts: u32,
    pub(crate) expiries: u32,
    /// `leaseExpiresAt` as it was answered.
    pub(crate) ends_ms: i64,
    pub(crate) sent: Moment,
    pub(crate) got: Moment,
    /// What its holder said with the token, one call after the other.
    pub(crate) calls: Vec<Call>,
}

/// A call with a token.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) sent: Moment,
    /// When its answer was there, or when it was clear that none would come.
    pub(crate) got: Moment,
    /// None where it was not answered.
    pub(crate) said: Option<Said>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Heartbeat,
    Ack,
    /// With the seconds that the retry is put off; none: the queue's backoff.
    Fail(Option<u32>),
    Fatal,
    Release,
}

/// An answer to a call with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// To this `leaseExpiresAt`.
    Extended {
        ends_ms: i64,
    },
    Acked {
        replayed: bool,
        at_ms: i64,
    },
    Nacked {
        replayed: bool,
        state: String,
        next_ms: Option<i64>,
    },
    /// With the code.
    Refused(u64),
}

/// A claim that was not answered: it may have leased events to nobody.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stray {
    pub(crate) queue: usize,
    pub(crate) sent: Moment,
    /// When the process was surely dead.
    pub(crate) lost: Moment,
    /// Most events that it asked for.
    pub(crate) most: usize,
}

/// A lease in a client's hands.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) number: usize,
    pub(crate) queue: usize,
    pub(crate) fence: u64,
    pub(crate) id: String,
    pub(crate) token: String,
}

/// An event as `GET /v1/events/{id}` and lists show it.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) state: String,
    pub(crate) fence: u64,
    pub(crate) attempts: u32,
    pub(crate) expiries: u32,
    pub(crate) next_ms: Option<i64>,
    pub(crate) settled_ms: Option<i64>,
}

impl Due {
    pub(crate) fn at(ms: i64) -> Self {
        Self { from_ms: ms, to_ms: ms }
    }

    pub(crate) fn from(ms: i64) -> Self {
        Self { from_ms: ms, to_ms: i64::MAX }
    }

    pub(crate) fn holds(self, ms: i64) -> bool {
        (self.from_ms..=self.to_ms).contains(&ms)
    }
}

impl Event {
    /// The newest lease that a client was answered.
    fn last_hold(&self) -> Option<&Hold> {
        self.holds.last()
    }

    /// The lease that a client was answered with this fence.
    pub(crate) fn hold_mut(&mut self, fence: u64) -> Option<&mut Hold> {
        self.holds.iter_mut().find(|hold| hold.fence == fence)
    }

    /// The newest lease as its holder has it in hands; none where it was settled, or given up as
    /// lost.
    pub(crate) fn open_lease(&self) -> Option<Held> {
        let hold = self.last_hold()?;
        let keeps =
            |call: &Call| call.kind == Kind::Heartbeat && !matches!(call.said, Some(Said::Refused(_)));
        hold.calls.iter().all(keeps).then(|| self.held(hold))
    }

    /// The newest lease's call that may or may not have taken effect.
    pub(crate) fn in_doubt(&self) -> Option<(Held, Kind)> {
        let hold = self.last_hold()?;
        let call = hold.calls.last().filter(|call| call.said.is_none())?;
        Some((self.held(hold), call.kind))
    }

    /// The newest lease's nack that was answered with success.
    pub(crate) fn last_nack(&self) -> Option<(Held, Kind)> {
        let hold = self.last_hold()?;
        let call = hold.calls.last()?;
        matches!(call.said, Some(Said::Nacked { .. })).then(|| (self.held(hold), call.kind))
    }

    /// The ack that was answered with success, and its `settledAt`.
    pub(crate) fn answered_ack(&self) -> Option<(Held, i64)> {
        let hold = self.last_hold()?;
        let at_ms = hold.calls.iter().find_map(|call| match call.said {
            Some(Said::Acked { at_ms, .. }) => Some(at_ms),
            _ => None,
        })?;
        Some((self.held(hold), at_ms))
    }

    fn held(&self, hold: &Hold) -> Held {
        let id = self.id.clone().expect("an event that was claimed has an id");
        Held { number: self.number, queue: self.queue, fence: hold.fence, id, token: hold.token.clone() }
    }
}

impl fmt::Display for Event {
    /// A history to be read by whoever looks for the cause of a fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, queue, id, batch, answered, due, attempts_max, fence_seen, over, .. } = self;
        write!(
            f,
            "event {number} in {}, {id:?}, batch {batch:?}, answered: {answered}, ",
            QUEUES[*queue].name
        )?;
        writeln!(f, "{due:?}, at most {attempts_max} attempts, fence seen {fence_seen}, over: {over:?}")?;
        for hold in &self.holds {
            let Hold { fence, attempts, expiries, ends_ms, sent, got, .. } = hold;
            writeln!(f, "  fence {fence}: attempt {attempts}, expiries {expiries}, until {ends_ms} ms")?;
            writeln!(f, "    claimed at {sent:?} to {got:?}")?;
            for Call { kind, sent, got, said } in &hold.calls {
                writeln!(f, "    {kind:?} at {sent:?} to {got:?}: {said:?}")?;
            }
        }
        Ok(())
    }
}

impl Said {
    /// What an answer says to a call of this kind; none where it is no answer that such a call has.
    pub(crate) fn of(kind: Kind, code: u64, data: &Value) -> Option<Self> {
        if code != 0 {
            return Some(Self::Refused(code));
        }
        let state = data["state"].as_str()?;
        match kind {
            Kind::Heartbeat => {
                let live = state == "leased" && data["cancelRequested"] == false;
                live.then_some(Self::Extended { ends_ms: instant(&data["leaseExpiresAt"])? })
            }
            Kind::Ack => {
                let acked = Self::Acked {
                    replayed: data["replayed"].as_bool()?,
                    at_ms: instant(&data["settledAt"])?,
                };
                (state == "done").then_some(acked)
            }
            Kind::Fail(_) | Kind::Fatal | Kind::Release => Some(Self::Nacked {
                replayed: data["replayed"].as_bool()?,
                state: state.to_owned(),
                next_ms: instant(&data["nextAttemptAt"]),
            }),
        }
    }
}

impl View {
    pub(crate) fn of(data: &Value) -> Option<Self> {
        let count = |name: &str| data[name].as_u64().and_then(|count| u32::try_from(count).ok());
        Some(Self {
            state: data["state"].as_str()?.to_owned(),
            fence: data["deliveryCount"].as_u64()?,
            attempts: count("attemptCount")?,
            expiries: count("expiryCount")?,
            next_ms: instant(&data["nextAttemptAt"]),
            settled_ms: instant(&data["settledAt"]),
        })
    }
}

impl View {
    /// True where nothing that clients do here makes it claimable again.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "done" | "dead")
    }
}

/// An instant of an answer, in ms since 1970.
pub(crate) fn instant(value: &Value) -> Option<i64> {
    Timestamp::parse(value.as_str()?).ok().map(Timestamp::as_ms)
}
