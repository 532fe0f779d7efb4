//! The entries of one stream.
//!
//! Lives here: reading them page by page, comparing what both sides have, and writing what the target lacks.
//! Not here: groups (`groups.rs`), and counting at the end (`counts.rs`).

use std::collections::VecDeque;

use redis::{Cmd, cmd};

use super::limits::{PAGE_BYTES, PAGE_ENTRIES_FIRST, PAGE_ENTRIES_MAX};
use super::place::Place;
use super::reply::{Entry, bytes, entries};
use super::side::Side;
use super::trouble::Trouble;
use crate::progress::Progress;

/// The entries of a stream on one side, in order, from one place through another.
struct Pages<'a> {
    side: &'a Side,
    stream: &'a [u8],
    /// None: all have been read.
    from: Option<Place>,
    until: Place,
    entries: usize,
    read: VecDeque<Entry>,
}

impl<'a> Pages<'a> {
    fn new(side: &'a Side, stream: &'a [u8], from: Option<Place>, until: Place) -> Self {
        Self { side, stream, from, until, entries: PAGE_ENTRIES_FIRST, read: VecDeque::new() }
    }

    /// The next page; an empty one behind the last.
    async fn page(&mut self) -> Result<Vec<Entry>, Trouble> {
        let Some(from) = self.from.filter(|from| *from <= self.until) else { return Ok(Vec::new()) };
        let mut command = cmd("XRANGE");
        command.arg(self.stream).arg(from.to_string()).arg(self.until.to_string());
        command.arg("COUNT").arg(self.entries);
        let answer = self.side.ask(&command).await?;
        let page = entries(answer).ok_or_else(|| self.side.refused(&command, "not an answer to it"))?;
        // Fewer than were asked for are the last.
        let last = page.last().filter(|_| page.len() >= self.entries);
        self.from = last.and_then(|entry| entry.place.next());
        let bytes = page.iter().map(Entry::bytes).sum::<usize>() / page.len().max(1);
        self.entries = (PAGE_BYTES / bytes.max(1)).clamp(1, PAGE_ENTRIES_MAX);
        Ok(page)
    }

    async fn next(&mut self) -> Result<Option<Entry>, Trouble> {
        if self.read.is_empty() {
            self.read = self.page().await?.into();
        }
        Ok(self.read.pop_front())
    }
}

/// The last entry of a stream; none where it has none.
///
/// # Errors
/// What the side says.
pub(super) async fn last(side: &Side, stream: &[u8]) -> Result<Option<Place>, Trouble> {
    let mut command = cmd("XREVRANGE");
    command.arg(stream).arg("+").arg("-").arg("COUNT").arg(1);
    let found =
        entries(side.ask(&command).await?).ok_or_else(|| side.refused(&command, "not an answer to it"))?;
    Ok(found.first().map(|entry| entry.place))
}

/// Compares the entries through `until`, the target's last: both sides must have the same. How many there are.
///
/// # Errors
/// The first difference, by id.
pub(super) async fn compare(
    source: &Side,
    target: &Side,
    stream: &[u8],
    until: Place,
    progress: &mut Progress,
) -> Result<u64, Trouble> {
    let mut theirs = Pages::new(source, stream, Some(Place::ZERO), until);
    let mut ours = Pages::new(target, stream, Some(Place::ZERO), until);
    let mut alike = 0;
    loop {
        let (their, our) = tokio::try_join!(theirs.next(), ours.next())?;
        let foreign = |our: Entry| format!("it has an entry {} that the source does not have", our.place);
        let why = match (their, our) {
            (None, None) => return Ok(alike),
            (Some(their), Some(our)) if their == our => {
                alike += 1;
                progress.add(our.bytes() as u64, None);
                continue;
            }
            (Some(their), Some(our)) if their.place == our.place => {
                format!("its entry {} is another one than that of the source", our.place)
            }
            (Some(their), Some(our)) if our.place < their.place => foreign(our),
            (None, Some(our)) => foreign(our),
            (Some(their), _) => {
                format!("it goes on through {until} without the source's entry {}", their.place)
            }
        };
        return Err(Trouble::Refused(format!(
            "{}: {why}: it was left alone; delete it there to import it anew",
            target.name
        )));
    }
}

/// Writes the source's entries behind `behind` through `until` to the target. How many there were.
///
/// # Errors
/// What a side says: what was written stays, and another run goes on behind it.
pub(super) async fn copy(
    source: &Side,
    target: &Side,
    stream: &[u8],
    behind: Option<Place>,
    until: Place,
    progress: &mut Progress,
) -> Result<u64, Trouble> {
    let from = behind.map_or(Some(Place::ZERO), Place::next);
    let mut pages = Pages::new(source, stream, from, until);
    let mut copied = 0;
    let mut page = pages.page().await?;
    while !page.is_empty() {
        copied += page.len() as u64;
        let bytes = page.iter().map(Entry::bytes).sum::<usize>();
        // The next page is read while this one is written.
        let (next, ()) = tokio::try_join!(pages.page(), write(target, stream, page))?;
        progress.add(bytes as u64, None);
        page = next;
    }
    Ok(copied)
}

async fn write(target: &Side, stream: &[u8], page: Vec<Entry>) -> Result<(), Trouble> {
    let places: Vec<Place> = page.iter().map(|entry| entry.place).collect();
    let commands = page.into_iter().map(|entry| add(stream, &entry)).collect();
    let replies = target.ask_all(commands).await?;
    for (place, reply) in places.into_iter().zip(replies) {
        if bytes(reply).is_none_or(|id| Place::parse(&id) != Some(place)) {
            let mut command = cmd("XADD");
            command.arg(stream).arg(place.to_string());
            return Err(target.refused(&command, "it got another id"));
        }
    }
    Ok(())
}

fn add(stream: &[u8], entry: &Entry) -> Cmd {
    let mut command = cmd("XADD");
    command.arg(stream).arg(entry.place.to_string());
    for field in &entry.fields {
        command.arg(field.as_slice());
    }
    command
}
