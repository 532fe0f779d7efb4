//! Counting both sides at the end.
//!
//! Lives here: what has to be alike, and what is told where it is not. Not here: copying.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::{Copied, Copying, is_mark};
use super::info::{self, GroupInfo, StreamInfo, consumers};
use super::reply::shown;
use super::report::StreamReport;
use super::trouble::Trouble;

/// Most consumers of a group that differ and are named.
const NAMED_MAX: usize = 10;

impl Copying<'_> {
    /// Counts, and writes down in `report` what is not alike. `start` is the source's stream when it began.
    ///
    /// # Errors
    /// What a side says.
    pub(super) async fn check(
        &self,
        start: &StreamInfo,
        copied: &[(Vec<u8>, Copied)],
        report: &mut StreamReport,
    ) -> Result<(), Trouble> {
        let theirs = info::stream(self.source, self.stream).await?;
        let ours = info::stream(self.target, self.stream).await?;
        let (Some(theirs), Some(ours)) = (theirs, ours) else {
            report.problems.push("it was deleted on one side meanwhile".to_owned());
            return Ok(());
        };
        let stands = theirs.last == self.until;
        if !stands {
            let came = theirs.added.zip(start.added).and_then(|(now, then)| now.checked_sub(then));
            report.newer = came.filter(|came| *came > 0);
        }
        // While entries come, what has left the source since cannot be told from what is to come.
        let wanted = if stands { theirs.entries } else { report.found + report.copied };
        if ours.entries != wanted {
            report.problems.push(format!("{} entries on the target, {wanted} on the source", ours.entries));
        }
        if ours.last != self.until {
            report
                .problems
                .push(format!("the last id is {} on the target, {} on the source", ours.last, self.until));
        }
        let theirs = self.groups_by_name(true).await?;
        let ours = self.groups_by_name(false).await?;
        for (name, done) in copied {
            let problems = self.problems_of(name, done, theirs.get(name), ours.get(name)).await?;
            report.problems.extend(problems.iter().map(|why| format!("group {}: {why}", shown(name))));
        }
        let known: BTreeSet<&Vec<u8>> = copied.iter().map(|(name, _)| name).collect();
        for name in theirs.keys().filter(|name| !known.contains(name)) {
            report.problems.push(format!("group {}: it came to the source meanwhile", shown(name)));
        }
        Ok(())
    }

    async fn groups_by_name(&self, of_source: bool) -> Result<BTreeMap<Vec<u8>, GroupInfo>, Trouble> {
        let side = if of_source { self.source } else { self.target };
        let groups = info::groups(side, self.stream).await?;
        Ok(groups.into_iter().map(|group| (group.name.clone(), group)).collect())
    }

    async fn problems_of(
        &self,
        name: &[u8],
        done: &Copied,
        theirs: Option<&GroupInfo>,
        ours: Option<&GroupInfo>,
    ) -> Result<Vec<String>, Trouble> {
        let (Some(theirs), Some(ours)) = (theirs, ours) else {
            return Ok(vec!["it was deleted on one side meanwhile".to_owned()]);
        };
        let wanted = theirs.last.min(self.until);
        if done.report.moved_on {
            let why = format!(
                "the target has delivered it through {}, the source through {wanted}: it was left alone",
                done.last
            );
            return Ok(vec![why]);
        }
        let mut problems = Vec::new();
        if ours.last != wanted {
            problems.push(format!(
                "it was delivered through {} on the target, {wanted} on the source",
                ours.last
            ));
        }
        let of = |infos: Vec<info::ConsumerInfo>| {
            let known = infos.into_iter().filter(|consumer| !is_mark(&consumer.name));
            known.map(|consumer| (consumer.name, consumer.pending)).collect::<BTreeMap<_, _>>()
        };
        let theirs = of(consumers(self.source, self.stream, name).await?);
        let ours = of(consumers(self.target, self.stream, name).await?);
        let names: BTreeSet<&Vec<u8>> = theirs.keys().chain(ours.keys()).collect();
        let pending = |of: &BTreeMap<Vec<u8>, u64>, name: &Vec<u8>| of.get(name).copied().unwrap_or(0);
        let mut differing = 0;
        for consumer in names {
            let lines = done.lines.of.get(consumer).copied().unwrap_or_default();
            let has = pending(&theirs, consumer);
            let wanted = has.saturating_sub(lines.gone + lines.newer + lines.left_out);
            let found = pending(&ours, consumer);
            if found == wanted {
                continue;
            }
            differing += 1;
            if differing <= NAMED_MAX {
                let consumer = shown(consumer);
                problems.push(format!(
                    "consumer {consumer} has {found} pending on the target, not {wanted} of the source's {has}"
                ));
            }
        }
        if differing > NAMED_MAX {
            problems.push(format!("so have {} consumers more", differing - NAMED_MAX));
        }
        Ok(problems)
    }
}
