//! When two engines' answers are the same answer.
//!
//! Lives here: what is left out of the comparison, because it is each engine's own: tokens, cursors,
//! versions, files. Lists under cursors are compared item by item, to their end (`play.rs`).

use naven_api::LeaseToken;

use crate::read::{EventPage, Page, SystemView};
use crate::reply::{OpError, OpReply};

/// `answer` without what is the engine's own.
pub(super) fn plain(answer: Result<OpReply, OpError>) -> Result<OpReply, OpError> {
    answer.map(|reply| match reply {
        OpReply::Claimed(mut claimed) => {
            for grant in &mut claimed.leases {
                grant.token = grant.token.take().map(|_| LeaseToken::new("its own"));
            }
            OpReply::Claimed(claimed)
        }
        OpReply::Page(page) => OpReply::Page(Box::new(plain_page(*page))),
        OpReply::Replayed(first) => {
            let first = plain(Ok(*first)).expect("a success stays one");
            OpReply::Replayed(Box::new(first))
        }
        other @ (OpReply::Event(_)
        | OpReply::Deduped(_)
        | OpReply::Settled(_)
        | OpReply::Queue(_)
        | OpReply::Removed(_)
        | OpReply::Operation(_)
        | OpReply::Read(_)
        | OpReply::Transferred(_)
        | OpReply::Fates(_)
        | OpReply::Made(_)
        | OpReply::Done) => other,
    })
}

/// `page` without what is the engine's own.
pub(super) fn plain_page(page: Page) -> Page {
    match page {
        Page::Queues(items, _) => Page::Queues(items, None),
        Page::DeadLetters(items, _) => Page::DeadLetters(items, None),
        Page::Events(page) => Page::Events(EventPage { next: None, ..page }),
        Page::Keys(mut keys) => {
            keys.sort_by(|a, b| a.name.cmp(&b.name));
            Page::Keys(keys)
        }
        Page::System(view) => Page::System(SystemView { disk_bytes: 0, cut_bytes: 0, ..view }),
        Page::Operations(items, _) => Page::Operations(items, None),
        Page::Streams(items, _) => Page::Streams(items, None),
        Page::Audit(items, _) => Page::Audit(items, None),
        other @ (Page::Queue(_)
        | Page::Event(_)
        | Page::Stream(_)
        | Page::Entries(..)
        | Page::Groups(_)
        | Page::DeadGroups(_)
        | Page::Matched(_)
        | Page::Holders(_)
        | Page::StreamDetail(_)
        | Page::Consumers(_)
        | Page::Pending(..)
        | Page::PendingSummary(_)
        | Page::Operation(_)) => other,
    }
}

/// None where both say the same, else both, and the first line in which they differ.
pub(super) fn difference<T: PartialEq + std::fmt::Debug>(subject: &T, model: &T) -> Option<String> {
    if subject == model {
        return None;
    }
    let (ours, right) = (format!("{subject:#?}"), format!("{model:#?}"));
    let differs = ours.lines().zip(right.lines()).find(|(a, b)| a != b);
    let (a, b) = differs.unwrap_or(("(longer or shorter)", "(longer or shorter)"));
    Some(format!("first difference: {} | model: {}\nanswer: {ours}\nmodel: {right}", a.trim(), b.trim()))
}
