//! One stream from end to end.
//!
//! Lives here: the order of things: entries, then what the stream remembers, then groups, then counting. Not
//! here: each of these.

use std::collections::BTreeMap;

use redis::cmd;

use super::entries;
use super::groups::Copying;
use super::info::{self, StreamInfo};
use super::place::Place;
use super::reply::shown;
use super::report::{State, StreamReport};
use super::side::Side;
use super::trouble::Trouble;
use crate::progress::Progress;

/// The group that makes a stream without entries come into being, and goes at once.
const PASSING_GROUP: &str = "naven-import-empty-stream";

/// Imports a stream. What refuses stands in the report.
///
/// # Errors
/// [`Trouble::Broken`] alone.
pub(super) async fn import(
    source: &Side,
    target: &Side,
    stream: &[u8],
    is_dry: bool,
    progress: &mut Progress,
) -> Result<StreamReport, Trouble> {
    let mut report = StreamReport::of(shown(stream));
    match steps(source, target, stream, is_dry, progress, &mut report).await {
        Ok(()) => {
            report.state = match (is_dry, report.problems.is_empty()) {
                (true, true) => State::Possible,
                (false, true) => State::Whole,
                (_, false) => State::Differs,
            };
            Ok(report)
        }
        Err(Trouble::Refused(why)) => {
            report.problems.push(why);
            Ok(report)
        }
        Err(broken) => Err(broken),
    }
}

async fn steps(
    source: &Side,
    target: &Side,
    stream: &[u8],
    is_dry: bool,
    progress: &mut Progress,
    report: &mut StreamReport,
) -> Result<(), Trouble> {
    let start = info::stream(source, stream).await?;
    let start = start.ok_or_else(|| Trouble::refused(format!("{}: it is gone", source.name)))?;
    report.entries = start.entries;
    let there = info::stream(target, stream).await?;
    let copying = Copying { source, target, stream, until: start.last, is_dry };
    let behind = match there {
        Some(there) => copying.compared(&there, progress, report).await?,
        None => None,
    };
    if is_dry {
        report.copied = start.entries.saturating_sub(report.found);
    } else {
        report.copied = entries::copy(source, target, stream, behind, start.last, progress).await?;
        copying.remember(&start, there.is_some() || report.copied > 0).await?;
    }

    let present = if is_dry && there.is_none() { Vec::new() } else { info::groups(target, stream).await? };
    let present: BTreeMap<_, _> = present.iter().map(|group| (group.name.as_slice(), group)).collect();
    let mut copied = Vec::new();
    for group in info::groups(source, stream).await? {
        let done = copying.group(&group, present.get(group.name.as_slice()).copied()).await?;
        copied.push((group.name, done));
    }
    if is_dry {
        let moved_on = copied.iter().filter(|(_, done)| done.report.moved_on);
        let why = "the target's group is further than the source's: it would be left alone";
        report.problems.extend(moved_on.map(|(name, _)| format!("group {}: {why}", shown(name))));
    } else {
        copying.check(&start, &copied, report).await?;
    }
    report.groups = copied.into_iter().map(|(_, done)| done.report).collect();
    Ok(())
}

impl Copying<'_> {
    /// Sees that the target's stream is the source's, as far as it goes; its last entry.
    async fn compared(
        &self,
        there: &StreamInfo,
        progress: &mut Progress,
        report: &mut StreamReport,
    ) -> Result<Option<Place>, Trouble> {
        let last = if there.entries > 0 { entries::last(self.target, self.stream).await? } else { None };
        if let Some(last) = last {
            report.found = entries::compare(self.source, self.target, self.stream, last, progress).await?;
        }
        if there.last > self.until {
            return Err(Trouble::refused(format!(
                "{}: its last id {} is behind the source's last {}: it was left alone",
                self.target.name, there.last, self.until
            )));
        }
        Ok(last)
    }

    /// Tells the target what the stream remembers beyond its entries.
    async fn remember(&self, start: &StreamInfo, is_there: bool) -> Result<(), Trouble> {
        if !is_there {
            let mut make = cmd("XGROUP");
            make.arg("CREATE").arg(self.stream).arg(PASSING_GROUP).arg(0).arg("MKSTREAM");
            let mut forget = cmd("XGROUP");
            forget.arg("DESTROY").arg(self.stream).arg(PASSING_GROUP);
            self.target.ask_all(vec![cmd("MULTI"), make, forget, cmd("EXEC")]).await?;
        }
        let mut command = cmd("XSETID");
        command.arg(self.stream).arg(start.last.to_string());
        if let (Some(added), Some(deleted)) = (start.added, start.deleted) {
            command.arg("ENTRIESADDED").arg(added).arg("MAXDELETEDID").arg(deleted.to_string());
        }
        self.target.ask(&command).await.map(|_| ())
    }
}
