//! Every batch of the log.
//!
//! Lives here: walking all segments, also those that a start has no need of. Not here: whether the end is
//! a tail or damage, which is asked of the code that a start runs.

use std::sync::Arc;

use super::folder::Report;
use crate::embedded::cold::{Applied, COLD_FILE};
use crate::embedded::disk::Disk;
use crate::embedded::finding::Finding;
use crate::embedded::log::check::{Walked, segments, walk};
use crate::embedded::log::segment::{LOG_FOLDER, Segment};
use crate::embedded::log::{BatchKind, FIRST_LSN, Log, Lsn};
use crate::embedded::meta::Meta;
use crate::embedded::replay::records;

/// Checks the log of a store whose rows are of `applied`; none where that is not known.
pub(super) fn check(
    disk: &Arc<dyn Disk>,
    meta: &Meta,
    applied: Option<Applied>,
    report: &mut Report,
    progress: &mut dyn FnMut(u64),
) {
    let segments = match segments(&**disk, meta) {
        Ok(segments) => segments,
        Err(error) => return report.add(Finding::of(&error, LOG_FOLDER)),
    };
    report.segments = segments.len() as u64;
    let mut before: Option<(&Segment, Walked)> = None;
    let mut first = None;
    for segment in &segments {
        let mut wrong = Vec::new();
        let walked = walk(&**disk, meta.store, segment, &mut |header, payload, offset| {
            if header.kind == BatchKind::Data
                && records(payload).is_none_or(|all| all.len() != header.count as usize)
            {
                wrong.push(Finding::at(&segment.name, offset, "records that this version does not know"));
            }
        });
        wrong.into_iter().for_each(|finding| report.add(finding));
        progress(segment.len);
        let walked = match walked {
            Ok(walked) => walked,
            Err(error) => {
                report.add(Finding::of(&error, &segment.name));
                before = None;
                continue;
            }
        };
        first = first.or(walked.first);
        report.lsn = report.lsn.max(walked.next.map_or(0, |next| next - 1));
        if let Some((earlier, earlier_walked)) = before
            && let Some(begins) = walked.first
            && (!earlier_walked.has_roll || earlier_walked.next != Some(begins))
        {
            let what = format!("no valid batch, and '{}' goes on with lsn {begins}", segment.name);
            report.add(Finding::at(&earlier.name, earlier_walked.end, what));
        }
        before = Some((segment, walked));
    }
    let from = applied.map_or_else(|| first.unwrap_or(FIRST_LSN), |applied| applied.lsn + 1);
    ask_a_start(disk, meta, from, report);
}

/// What a start would say of the log.
fn ask_a_start(disk: &Arc<dyn Disk>, meta: &Meta, from: Lsn, report: &mut Report) {
    match Log::open(Arc::clone(disk), meta, from, &mut |_, _| Ok(())) {
        Ok((_, recovered)) => {
            report.tail_bytes = recovered.cut_bytes;
            report.lsn = recovered.next_lsn - 1;
            if recovered.next_lsn < from {
                let what = format!("it holds lsn {}, and the log ends before", from - 1);
                report.add(Finding::at(COLD_FILE, 0, what));
            }
        }
        Err(error) => {
            let finding = Finding::of(&error, LOG_FOLDER);
            if !report.knows(&finding) {
                report.add(finding);
            }
        }
    }
}
