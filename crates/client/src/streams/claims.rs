//! Which entries are taken, and in which order.
//!
//! Lives here: own ones first, then in turns what is due or idle and what is new; and making a group that is not there.
//! Not here: how they are taken (`scripted.rs`, `commands.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use redis::cmd;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::builder::MissingGroup;
use super::door::{Holding, StreamDoor, failed};
use super::entry::Facts;
use super::error::Error;
use super::fields::Fields;
use super::reply;
use super::step::{Found, Handed, Look, START, Wanted};
use crate::consumer::door::{Claimed, Failed};

/// How often it is asked what is due: others may make something due at any time.
const DUE_EVERY: Duration = Duration::from_secs(1);
/// How often it is asked what is idle: a quarter of a lease, but no more and no less.
const IDLE_EVERY: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(15)];

/// Between two parts of a pending list that is too long for one look.
const PAUSE: Duration = Duration::from_millis(100);

/// Where the claims of a consumer go on.
#[derive(Debug)]
pub(crate) struct Place {
    /// Among our own entries; none once all of them were looked at.
    own: Option<String>,
    /// Among all that are pending.
    idle: String,
    next_due: Instant,
    next_idle: Instant,
    /// Where a look found more than it could take, new entries have a turn before the next.
    is_turn_of_new: bool,
    /// False until the group is known to be there.
    has_group: bool,
}

impl Place {
    pub(super) fn new() -> Self {
        let (own, idle, now) = (Some(START.to_owned()), START.to_owned(), Instant::now());
        Self { own, idle, next_due: now, next_idle: now, is_turn_of_new: false, has_group: false }
    }
}

impl StreamDoor {
    /// One to `most` entries; none where none came until `until`.
    pub(super) async fn claims(
        &self,
        most: usize,
        lease: Duration,
        until: Instant,
    ) -> Result<Vec<Claimed<Self>>, Failed<Error>> {
        let mut is_made_anew = false;
        loop {
            let claims = self.claims_once(most, lease, until).await;
            match claims {
                Ok(claims) if claims.is_empty() && Instant::now() < until => {}
                Ok(claims) => return Ok(claims),
                Err(error) if error.is_no_group() => {
                    if self.missing == MissingGroup::End {
                        return Err(Failed::Never(error));
                    }
                    // Gone again at once: somebody else is at it, or it is not the same server.
                    if std::mem::replace(&mut is_made_anew, true) {
                        return Err(failed(error));
                    }
                    warn!(
                        stream = self.source.stream,
                        group = self.source.group,
                        "the group is gone, with what it had finished and had not: it is made anew"
                    );
                    self.place.borrow_mut().has_group = false;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    async fn claims_once(
        &self,
        most: usize,
        lease: Duration,
        until: Instant,
    ) -> Result<Vec<Claimed<Self>>, Error> {
        if !self.place.borrow().has_group {
            self.make_group().await?;
            self.place.borrow_mut().has_group = true;
        }
        if let Some(wanted) = self.wanted() {
            let found = self.look(wanted, most, lease).await?;
            if !found.is_empty() || wanted == Wanted::Own {
                return Ok(found);
            }
        }
        let block = {
            let mut place = self.place.borrow_mut();
            let is_turn = std::mem::take(&mut place.is_turn_of_new);
            let next = place.next_due.min(place.next_idle).min(until);
            if is_turn { Duration::ZERO } else { next.saturating_duration_since(Instant::now()) }
        };
        self.read_new(most, block).await
    }

    fn wanted(&self) -> Option<Wanted> {
        let (place, now) = (self.place.borrow(), Instant::now());
        if place.own.is_some() {
            Some(Wanted::Own)
        } else if place.is_turn_of_new {
            None
        } else if now >= place.next_idle {
            Some(Wanted::DueAndIdle)
        } else {
            (now >= place.next_due).then_some(Wanted::Due)
        }
    }

    async fn look(&self, wanted: Wanted, most: usize, lease: Duration) -> Result<Vec<Claimed<Self>>, Error> {
        let cursor = {
            let place = self.place.borrow();
            let own = place.own.clone().filter(|_| wanted == Wanted::Own);
            own.unwrap_or_else(|| place.idle.clone())
        };
        let in_work = self.in_work.borrow().keys().copied().collect();
        let max_deliveries = self.max_deliveries;
        let look = Look { wanted, most, lease, max_deliveries, cursor, in_work };
        let before = self.begin_taking();
        let found = self.take(&look).await.inspect_err(|error| self.taken_unless(error, &before))?;
        self.place.borrow_mut().own = before;
        self.go_on(wanted, lease, &found);
        self.tell(&found);
        let claims = found.entries.into_iter().map(|entry| {
            let of = Handed { id: entry.id, count: entry.count, was_released: entry.released > 0 };
            let attempt = u32::try_from(entry.count.saturating_sub(entry.released)).unwrap_or(u32::MAX);
            self.claimed(of, attempt, entry.fields)
        });
        Ok(claims.collect())
    }

    /// When to look again, and from where on.
    fn go_on(&self, wanted: Wanted, lease: Duration, found: &Found) {
        let mut place = self.place.borrow_mut();
        let now = Instant::now();
        if wanted == Wanted::Own {
            place.own = Some(found.cursor.clone()).filter(|cursor| cursor != START);
            return;
        }
        // Not at once: what is due first may be one that we still say a word of.
        place.next_due = now + found.next_due.map_or(DUE_EVERY, |due| due.clamp(PAUSE, DUE_EVERY));
        if wanted == Wanted::DueAndIdle {
            place.idle.clone_from(&found.cursor);
            place.next_idle = now + (lease / 4).clamp(IDLE_EVERY[0], IDLE_EVERY[1]);
        }
        if found.is_full && found.entries.is_empty() {
            // A long list of which nothing is idle is not gone through without a pause.
            place.next_idle = now + PAUSE;
        } else if found.is_full {
            place.is_turn_of_new = true;
            place.next_due = now;
            if wanted == Wanted::DueAndIdle {
                place.next_idle = now;
            }
        }
    }

    /// Says what became of entries that are not handed out.
    fn tell(&self, found: &Found) {
        let queue = &self.source.shown;
        for id in &found.deleted {
            warn!(%id, queue, "an entry was deleted while it was pending: it is acked");
            if let Some(on_deleted) = &self.on_deleted {
                // A panic of it is printed as any other, and costs no lease.
                let _ = catch_unwind(AssertUnwindSafe(|| on_deleted(*id)));
            }
        }
        for id in &found.buried {
            warn!(%id, queue, "an entry was delivered as often as it may be: it is a dead letter");
        }
        for (id, why) in &found.unburied {
            error!(%id, queue, why, "an entry cannot be made a dead letter: it stays pending");
        }
    }

    async fn read_new(&self, most: usize, block: Duration) -> Result<Vec<Claimed<Self>>, Error> {
        let mut call = cmd("XREADGROUP");
        call.arg("GROUP").arg(&self.group.names.group).arg(&self.group.names.consumer).arg("COUNT").arg(most);
        // None at all would be for ever.
        let ms = u64::try_from(block.as_millis()).unwrap_or(u64::MAX);
        if ms > 0 {
            call.arg("BLOCK").arg(ms);
        }
        call.arg("STREAMS").arg(&self.group.names.stream).arg(">");
        let before = self.begin_taking();
        let answer = self.group.link.read(&call, block).await;
        let answer = answer.inspect_err(|error| self.taken_unless(error, &before))?;
        self.place.borrow_mut().own = before;
        let entries = reply::streams(answer).ok_or_else(|| self.group.link.unexpected("entries"))?;
        let claims = entries.into_iter().filter_map(|(id, fields)| {
            let of = Handed { id, count: 1, was_released: false };
            // None that is new was deleted.
            fields.map(|fields| self.claimed(of, 1, fields))
        });
        Ok(claims.collect())
    }

    /// Before a call that hands entries out: what it does stands under our name, and is looked for there where its answer
    /// does not come, or nobody waits for it any more. Answers from where on we looked before.
    fn begin_taking(&self) -> Option<String> {
        self.place.borrow_mut().own.replace(START.to_owned())
    }

    /// After a call that failed: it handed nothing out unless it may have taken effect.
    fn taken_unless(&self, error: &Error, before: &Option<String>) {
        if !error.may_have_applied() {
            self.place.borrow_mut().own.clone_from(before);
        }
    }

    /// What stands under our name and is in nobody's work: at the end, when nothing new is to be taken.
    pub(super) async fn own(&self, most: usize, lease: Duration) -> Result<Vec<Claimed<Self>>, Error> {
        if self.place.borrow().own.is_none() {
            return Ok(Vec::new());
        }
        self.look(Wanted::Own, most, lease).await
    }

    fn claimed(&self, of: Handed, attempt: u32, fields: Fields) -> Claimed<Self> {
        let Handed { id, count: fence, .. } = of;
        let source = Arc::clone(&self.source);
        let facts = Facts { id, source, fields, attempt, fence };
        Claimed { token: Holding::new(of, attempt, &self.in_work), facts, length: None }
    }

    /// Makes the group where it is not there, unless that is to be an error.
    async fn make_group(&self) -> Result<(), Error> {
        let from = match self.missing {
            MissingGroup::FromStart => "0",
            MissingGroup::FromNew => "$",
            // The first look says so.
            MissingGroup::End => return Ok(()),
        };
        let mut call = cmd("XGROUP");
        call.arg("CREATE")
            .arg(&self.group.names.stream)
            .arg(&self.group.names.group)
            .arg(from)
            .arg("MKSTREAM");
        let shared = self.group.link.shared().await?;
        let (stream, group) = (&self.source.stream, &self.source.group);
        match self.group.link.ask(&shared, &call).await {
            Ok(_) => info!(stream, group, from, "there was no such group: it is made"),
            Err(Error::Answered { code, .. }) if code == "BUSYGROUP" => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
