//! The groups of one stream.
//!
//! Lives here: making a group and its consumers on the target, and bringing a group along that an earlier import
//! made there. Not here: its pending list (`pending.rs`).
//!
//! While a group is being made, or brought along, a consumer without entries stands in it whose name says so
//! ([`MARK`]) and from where on. Where an import was interrupted, that is how the next one knows that lines which
//! the list lacks have never been there, and were not finished by somebody.

use std::collections::BTreeSet;

use redis::{Cmd, cmd};

use super::info::{ConsumerInfo, GroupInfo, consumers};
use super::limits::PENDING_ROWS;
use super::pending::{self, Bounds, Names, Outcome};
use super::place::Place;
use super::reply::shown;
use super::report::GroupReport;
use super::side::Side;
use super::trouble::Trouble;

/// How the name of that consumer begins; behind it the place through which the list was whole before.
const MARK: &str = "naven-import-unfinished:";

/// Two sides of a stream whose entries have been copied.
pub(super) struct Copying<'a> {
    pub(super) source: &'a Side,
    pub(super) target: &'a Side,
    pub(super) stream: &'a [u8],
    /// Entries behind here were not copied.
    pub(super) until: Place,
    pub(super) is_dry: bool,
}

/// What was done to a group.
pub(super) struct Copied {
    pub(super) report: GroupReport,
    pub(super) lines: Outcome,
    /// Where the target's group stands now.
    pub(super) last: Place,
}

/// Whether a consumer of this name is the mark.
pub(super) fn is_mark(name: &[u8]) -> bool {
    name.starts_with(MARK.as_bytes())
}

fn mark_of(consumers: &[ConsumerInfo]) -> Option<Place> {
    let place = |consumer: &ConsumerInfo| Place::parse(consumer.name.strip_prefix(MARK.as_bytes())?);
    consumers.iter().find_map(place)
}

impl Copying<'_> {
    /// Makes the target's group like the source's; `there` is what the target has of it.
    ///
    /// # Errors
    /// What a side says.
    pub(super) async fn group(
        &self,
        group: &GroupInfo,
        there: Option<&GroupInfo>,
    ) -> Result<Copied, Trouble> {
        let names = Names { stream: self.stream, group: &group.name };
        // What was delivered behind the last entry that was copied is for the next import.
        let last = group.last.min(self.until);
        let wanted = consumers(self.source, self.stream, &group.name).await?;
        let wanted: Vec<_> = wanted.into_iter().filter(|consumer| !is_mark(&consumer.name)).collect();
        let mut report = GroupReport {
            group: shown(&group.name),
            last_delivered_id: last.to_string(),
            consumers: wanted.len() as u64,
            pending: group.pending,
            ..GroupReport::default()
        };
        if let Some(there) = there.filter(|there| there.last > last) {
            report.moved_on = true;
            return Ok(Copied { report, lines: Outcome::default(), last: there.last });
        }
        let present = match there {
            Some(there) => consumers(self.target, self.stream, &there.name).await?,
            None => Vec::new(),
        };
        let marked = mark_of(&present);
        let floor = marked.or(there.map(|there| there.last)).unwrap_or(Place::ZERO);
        let read = group.read.filter(|_| group.last == last);
        let stands = there.is_some_and(|there| there.last == last && (read.is_none() || there.read == read));
        if !stands && !self.is_dry {
            self.put(names, there.is_some(), last, read, floor).await?;
        }
        if !self.is_dry {
            self.make_consumers(names, &wanted, &present).await?;
        }
        let bounds = Bounds { floor, until: self.until };
        let lines =
            pending::copy(self.source, self.target, names, bounds, there.is_some(), self.is_dry).await?;
        if (!stands || marked.is_some()) && !self.is_dry {
            self.unmark(names).await?;
        }
        report.claimed = lines.sum(|lines| lines.claimed);
        report.gone = lines.sum(|lines| lines.gone);
        report.newer = lines.sum(|lines| lines.newer);
        report.left_out = lines.sum(|lines| lines.left_out);
        report.acknowledged = lines.acknowledged;
        Ok(Copied { report, lines, last })
    }

    /// Makes or moves the group, and marks it, in one step.
    async fn put(
        &self,
        names: Names<'_>,
        is_there: bool,
        last: Place,
        read: Option<u64>,
        floor: Place,
    ) -> Result<(), Trouble> {
        let mut put = of_group(if is_there { "SETID" } else { "CREATE" }, names);
        put.arg(last.to_string());
        if let Some(read) = read {
            put.arg("ENTRIESREAD").arg(read);
        }
        let mut mark = of_group("CREATECONSUMER", names);
        mark.arg(format!("{MARK}{floor}"));
        self.target.ask_all(vec![cmd("MULTI"), put, mark, cmd("EXEC")]).await.map(|_| ())
    }

    async fn make_consumers(
        &self,
        names: Names<'_>,
        wanted: &[ConsumerInfo],
        present: &[ConsumerInfo],
    ) -> Result<(), Trouble> {
        let present: BTreeSet<&[u8]> = present.iter().map(|consumer| consumer.name.as_slice()).collect();
        let missing: Vec<&ConsumerInfo> =
            wanted.iter().filter(|consumer| !present.contains(consumer.name.as_slice())).collect();
        for some in missing.chunks(PENDING_ROWS) {
            let make = |consumer: &&ConsumerInfo| {
                of_group("CREATECONSUMER", names).arg(consumer.name.as_slice()).clone()
            };
            self.target.ask_all(some.iter().map(make).collect()).await?;
        }
        Ok(())
    }

    /// The group is whole. No entry is ever the mark's, so none goes with it.
    async fn unmark(&self, names: Names<'_>) -> Result<(), Trouble> {
        let present = consumers(self.target, self.stream, names.group).await?;
        let marks = present.iter().filter(|consumer| is_mark(&consumer.name) && consumer.pending == 0);
        let forget =
            |consumer: &ConsumerInfo| of_group("DELCONSUMER", names).arg(consumer.name.as_slice()).clone();
        self.target.ask_all(marks.map(forget).collect()).await.map(|_| ())
    }
}

fn of_group(verb: &str, names: Names<'_>) -> Cmd {
    let mut command = cmd("XGROUP");
    command.arg(verb).arg(names.stream).arg(names.group);
    command
}
