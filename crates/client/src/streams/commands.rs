//! The steps, by single commands: for Naven's own door, which has no scripts but `XNACK`.
//!
//! Lives here: which commands each step is. Not here: the same by scripts (`scripted.rs`).
//!
//! Between the look at an entry and the act on it another may take it, and only where the lease has run out meanwhile: then
//! it is delivered once more than it had to be, and no entry is lost.

use std::rc::Rc;

use redis::{Cmd, Value, cmd};

use super::error::Error;
use super::link::{Link, Shared};
use super::reply::{self, Row};
use super::step::{Found, Handed, Look, Names, Pending, START, Standing, Wanted, Word};

/// Most lines of a pending list that are looked at at once.
const WINDOW: usize = 200;
/// An entry that waited is taken once it has been due for so long: several consumers see it at once, and who is quicker sets
/// this back to nothing, so that the others find it taken.
const DUE_IDLE_MS: u64 = 100;

/// One server, and what is asked of it there.
pub(super) struct Commanded<'a> {
    pub(super) link: &'a Link,
    pub(super) shared: &'a Rc<Shared>,
    pub(super) names: &'a Names,
}

impl Commanded<'_> {
    async fn ask(&self, call: &Cmd) -> Result<Value, Error> {
        self.link.ask(self.shared, call).await
    }

    fn on_group(&self, verb: &str) -> Cmd {
        let mut call = cmd(verb);
        call.arg(&self.names.stream).arg(&self.names.group);
        call
    }

    async fn rows(&self, call: &Cmd) -> Result<Vec<Row>, Error> {
        let answer = self.ask(call).await?;
        reply::rows(answer).ok_or_else(|| self.link.unexpected("lines of a pending list"))
    }

    pub(super) async fn say(&self, of: Handed, word: &Word) -> Result<Standing, Error> {
        let id = of.id.to_string();
        let mut pending = self.on_group("XPENDING");
        pending.arg(&id).arg(&id).arg(1);
        match self.rows(&pending).await?.pop() {
            None => return Ok(Standing::Gone),
            Some(row) if row.count != of.count => return Ok(Standing::Other),
            Some(row) if row.consumer.is_empty() => return Ok(Standing::Waiting),
            Some(row) if row.consumer != self.names.consumer => return Ok(Standing::Other),
            Some(_) => {}
        }
        let nack = |how: &str| {
            let mut call = self.on_group("XNACK");
            call.arg(how).arg("IDS").arg(1).arg(&id);
            call
        };
        let call = match word {
            Word::Beat => {
                let mut call = self.on_group("XCLAIM");
                call.arg(&self.names.consumer).arg(0).arg(&id).arg("JUSTID");
                return Ok(match reply::ids(self.ask(&call).await?) {
                    Some(ids) if ids.is_empty() => Standing::Deleted,
                    Some(_) => Standing::Taken,
                    None => return Err(self.link.unexpected("an entry's id")),
                });
            }
            Word::Ack => {
                let mut call = self.on_group("XACK");
                call.arg(&id);
                call
            }
            // The group's own backoff has a say where nothing is asked for.
            Word::Wait { asked: None, .. } => nack("FAIL"),
            Word::Wait { asked: Some(delay), .. } => {
                let mut call = nack("FAIL");
                call.arg("DELAY").arg(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
                call
            }
            // The count stays, for it is the fencing number: the server would take one back.
            Word::Release => {
                let mut call = nack("SILENT");
                call.arg("RETRYCOUNT").arg(of.count);
                call
            }
            Word::Bury { .. } => nack("FATAL"),
        };
        match reply::count(self.ask(&call).await?) {
            Some(0) => Ok(Standing::Other),
            Some(_) => Ok(Standing::Taken),
            None => Err(self.link.unexpected("a count")),
        }
    }

    pub(super) async fn take(&self, look: &Look) -> Result<Found, Error> {
        let mut found = Found { cursor: START.to_owned(), ..Found::default() };
        match look.wanted {
            Wanted::Own => self.take_own(look, &mut found).await?,
            Wanted::Due => self.take_due(look, &mut found).await?,
            Wanted::DueAndIdle => {
                self.take_due(look, &mut found).await?;
                if found.entries.len() < look.most {
                    self.take_idle(look, &mut found).await?;
                } else {
                    found.cursor.clone_from(&look.cursor);
                }
            }
        }
        Ok(found)
    }

    async fn take_own(&self, look: &Look, found: &mut Found) -> Result<(), Error> {
        let mut call = self.on_group("XPENDING");
        call.arg(&look.cursor).arg("+").arg(WINDOW).arg(&self.names.consumer);
        let rows = self.rows(&call).await?;
        let is_last = rows.len() < WINDOW;
        let mut free = rows.into_iter();
        let mut wanted = Vec::new();
        while wanted.len() < look.most
            && let Some(row) = free.next()
        {
            found.cursor = format!("({}", row.id);
            if !look.in_work.contains(&row.id) {
                wanted.push(row);
            }
        }
        if is_last && free.as_slice().is_empty() {
            found.cursor = START.to_owned();
        }
        self.take_over(look, wanted, 0, found).await
    }

    /// What waited and is due stands under no name, and idle is for how long it has been due.
    async fn take_due(&self, look: &Look, found: &mut Found) -> Result<(), Error> {
        let mut call = self.on_group("XPENDING");
        call.arg("IDLE").arg(DUE_IDLE_MS).arg("-").arg("+").arg(look.most.min(WINDOW)).arg("");
        let mut rows = self.rows(&call).await?;
        found.is_full |= rows.len() >= look.most;
        // One of ours, whose release was taken and has no answer yet.
        rows.retain(|row| !look.in_work.contains(&row.id));
        let idle = rows.iter().map(|row| row.idle_ms).min().unwrap_or(0);
        // Whoever was quicker has set the idle time back, unless that was so long ago.
        self.take_over(look, rows, idle, found).await
    }

    async fn take_idle(&self, look: &Look, found: &mut Found) -> Result<(), Error> {
        let lease = u64::try_from(look.lease.as_millis()).unwrap_or(u64::MAX);
        let mut call = self.on_group("XPENDING");
        call.arg("IDLE").arg(lease).arg(&look.cursor).arg("+").arg(look.most - found.entries.len());
        let mut rows = self.rows(&call).await?;
        if let Some(last) = rows.last() {
            found.cursor = format!("({}", last.id);
            found.is_full = true;
        }
        // A lease over HTTP is not taken; asking for it would do no harm.
        rows.retain(|row| !row.consumer.starts_with(b"@http") && !look.in_work.contains(&row.id));
        self.take_over(look, rows, lease, found).await
    }

    async fn take_over(
        &self,
        look: &Look,
        rows: Vec<Row>,
        idle_ms: u64,
        found: &mut Found,
    ) -> Result<(), Error> {
        let is_over = |row: &Row| look.max_deliveries.is_some_and(|most| row.count >= u64::from(most));
        if rows.is_empty() {
            return Ok(());
        }
        let mut call = self.on_group("XCLAIM");
        call.arg(&self.names.consumer).arg(idle_ms);
        for row in &rows {
            call.arg(row.id.to_string());
        }
        let answer = self.ask(&call).await?;
        let entries = reply::entries(answer).ok_or_else(|| self.link.unexpected("entries"))?;
        for (id, fields) in entries {
            let Some(row) = rows.iter().find(|row| row.id == id) else { continue };
            if is_over(row) {
                let mut call = self.on_group("XNACK");
                call.arg("FATAL").arg("IDS").arg(1).arg(id.to_string());
                self.ask(&call).await?;
                found.buried.push(id);
            } else if let Some(fields) = fields {
                found.entries.push(Pending { id, fields, count: row.count + 1, released: 0 });
            }
        }
        self.find_deleted(rows, found).await
    }

    /// What was not handed over was deleted, or somebody else was quicker.
    async fn find_deleted(&self, rows: Vec<Row>, found: &mut Found) -> Result<(), Error> {
        for row in rows {
            let is_known =
                found.entries.iter().any(|entry| entry.id == row.id) || found.buried.contains(&row.id);
            if is_known {
                continue;
            }
            let mut call = self.on_group("XPENDING");
            call.arg(row.id.to_string()).arg(row.id.to_string()).arg(1);
            if self.rows(&call).await?.is_empty() {
                found.deleted.push(row.id);
            }
        }
        Ok(())
    }

    /// How many entries were dropped that every group has acked.
    pub(super) async fn trim(&self) -> Result<u64, Error> {
        let mut call = cmd("XTRIM");
        call.arg(&self.names.stream).arg("MAXLEN").arg("=").arg(0).arg("ACKED");
        let answer = self.ask(&call).await?;
        reply::count(answer).ok_or_else(|| self.link.unexpected("a count"))
    }
}
