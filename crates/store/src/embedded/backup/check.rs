//! Reading a backup back, checking every byte of it.
//!
//! Lives here: taking the stream apart as it comes, and what is wrong with one that is not whole. Not
//! here: what becomes of rows and log (`restoring.rs`).

use super::error::BackupError;
use super::fixed::Fixed;
use super::format::{
    AFTER_BYTES, BEFORE_BYTES, CONTENT_BYTES_MAX, End, Head, Kind, MAGIC, ROW_HEAD_BYTES, START_BYTES,
    STREAM_FORMAT, SegmentHead,
};
use crate::embedded::cold::{COLD_FORMAT, row};
use crate::embedded::log::batch::{BATCH_BYTES_MAX, BATCH_FORMAT};
use crate::embedded::meta::FOLDER_FORMAT;
use crate::embedded::tables::Table;

/// What a whole backup holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The id of the store that it is of.
    pub store: [u8; 16],
    /// Its length.
    pub bytes: u64,
    /// Rows of the cold store.
    pub rows: u64,
    /// Everything up to this place in the log is in it.
    pub upto: u64,
}

/// What is done with a backup's content.
pub(super) trait Take {
    fn head(&mut self, head: &Head) -> Result<(), BackupError>;
    fn row(&mut self, table: Table, key: &[u8], row: &[u8]) -> Result<(), BackupError>;
    fn segment(&mut self, segment: SegmentHead) -> Result<(), BackupError>;
    /// Bytes of the segment that was named last, in order.
    fn log(&mut self, bytes: &[u8]) -> Result<(), BackupError>;
}

/// Nothing is done with it: it is only checked.
#[derive(Debug, Default)]
pub struct CheckOnly(());

impl Take for CheckOnly {
    fn head(&mut self, _: &Head) -> Result<(), BackupError> {
        Ok(())
    }

    fn row(&mut self, _: Table, _: &[u8], _: &[u8]) -> Result<(), BackupError> {
        Ok(())
    }

    fn segment(&mut self, _: SegmentHead) -> Result<(), BackupError> {
        Ok(())
    }

    fn log(&mut self, _: &[u8]) -> Result<(), BackupError> {
        Ok(())
    }
}

/// True where a file that begins with these bytes is a backup, as far as they tell.
pub fn is_backup(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// Takes a backup apart as its bytes come.
#[derive(Debug, Default)]
pub struct Checker<T = CheckOnly> {
    pub(super) take: T,
    /// Bytes that make no whole piece yet.
    buffer: Vec<u8>,
    /// Where `buffer` begins.
    at: u64,
    sum: u32,
    head: Option<Head>,
    /// Bytes of rows that make no whole row yet.
    row: Vec<u8>,
    rows: u64,
    /// The stretch of the log that comes now, and how many bytes of it are still to come.
    stretch: Option<u64>,
    stretches: u64,
    end: Option<End>,
}

impl Checker {
    /// Checks only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that all bytes have come.
    ///
    /// # Errors
    /// `CutShort` where they are not a whole backup.
    pub fn finish(self) -> Result<Summary, BackupError> {
        self.summary()
    }
}

impl<T> Checker<T> {
    /// About how many bytes the backup will have, once its beginning was seen. For people who wait.
    pub fn estimate(&self) -> Option<u64> {
        self.head.as_ref().map(|head| head.estimate)
    }

    pub(super) fn summary(&self) -> Result<Summary, BackupError> {
        let at = self.at + self.buffer.len() as u64;
        match (&self.head, &self.end) {
            (Some(head), Some(end)) => {
                Ok(Summary { store: head.meta.store.0, bytes: at, rows: self.rows, upto: end.upto })
            }
            _ => Err(BackupError::CutShort { at }),
        }
    }
}

#[expect(private_bounds, reason = "who takes a backup's content is decided here alone")]
impl<T: Take> Checker<T> {
    pub(super) fn taken_by(take: T) -> Self {
        Checker {
            take,
            buffer: Vec::new(),
            at: 0,
            sum: 0,
            head: None,
            row: Vec::new(),
            rows: 0,
            stretch: None,
            stretches: 0,
            end: None,
        }
    }

    /// The next bytes.
    ///
    /// # Errors
    /// What is wrong with them, and where.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.buffer.extend_from_slice(bytes);
        let mut used = 0;
        while let Some((start, len)) = self.next_piece(used)? {
            let whole = &self.buffer[used..used + start + BEFORE_BYTES + len + AFTER_BYTES];
            let (checked, crc) = whole.split_at(whole.len() - AFTER_BYTES);
            let sum = crc32c::crc32c_append(self.sum, checked);
            if sum.to_le_bytes() != *crc {
                return Err(self.damaged(used, "is not what was written: its checksum is wrong"));
            }
            let (kind, content) =
                (Kind::of_code(checked[start + 4]), checked[start + BEFORE_BYTES..].to_vec());
            self.sum = sum;
            let kind = kind.ok_or_else(|| self.damaged(used, "is of a kind that there is not"))?;
            self.content(kind, &content, used)?;
            used += whole_len(start, len);
        }
        self.at += used as u64;
        self.buffer.drain(..used);
        Ok(())
    }

    /// Where in the buffer, seen from `used`, the next piece begins, and how long its content is; none
    /// where it is not whole yet.
    fn next_piece(&self, used: usize) -> Result<Option<(usize, usize)>, BackupError> {
        let rest = &self.buffer[used..];
        if self.end.is_some() && !rest.is_empty() {
            return Err(self.damaged(used, "comes after the end mark"));
        }
        let start = if self.at == 0 && used == 0 { START_BYTES } else { 0 };
        if start > 0 && !is_start(rest)? {
            return Ok(None);
        }
        let Some(len) = rest.get(start..start + 4) else { return Ok(None) };
        let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
        if len > CONTENT_BYTES_MAX {
            return Err(self.damaged(used, "is longer than any: its length is not what was written"));
        }
        Ok((rest.len() >= whole_len(start, len)).then_some((start, len)))
    }

    fn content(&mut self, kind: Kind, content: &[u8], used: usize) -> Result<(), BackupError> {
        let wrong = |checker: &Self, what| Err(checker.damaged(used, what));
        let is_open = self.stretch.is_some_and(|left| left > 0);
        match kind {
            _ if self.head.is_none() != (kind == Kind::Head) => wrong(self, "is out of its order"),
            _ if is_open && kind != Kind::Log => wrong(self, "comes before the log's bytes are all there"),
            _ if kind != Kind::Rows && !self.row.is_empty() => wrong(self, "comes in the middle of a row"),
            Kind::Head => {
                let Some(head) = Head::decode(content) else { return wrong(self, "is no head") };
                check_formats(&head)?;
                self.take.head(&head)?;
                self.head = Some(head);
                Ok(())
            }
            Kind::Rows if self.stretch.is_some() => wrong(self, "has rows, after the log"),
            Kind::Rows => {
                self.row.extend_from_slice(content);
                self.take_rows(used)
            }
            Kind::Segment => {
                let segment = SegmentHead::decode(content).filter(|head| head.from <= head.to);
                let Some(segment) = segment.filter(|head| head.to <= head.len) else {
                    return wrong(self, "names no segment");
                };
                self.stretch = Some(segment.to - segment.from);
                self.stretches += 1;
                self.take.segment(segment)
            }
            Kind::Log => {
                let left = self.stretch.and_then(|left| left.checked_sub(content.len() as u64));
                let Some(left) = left else { return wrong(self, "has more of the log than was said") };
                self.stretch = Some(left);
                self.take.log(content)
            }
            Kind::End => {
                let said = End::decode(content).map(|end| (end.rows, end.stretches, end.bytes));
                if said != Some((self.rows, self.stretches, self.at + used as u64)) || self.stretches == 0 {
                    return wrong(self, "does not say what was there");
                }
                self.end = End::decode(content);
                Ok(())
            }
        }
    }

    /// Hands on every row that is whole.
    fn take_rows(&mut self, used: usize) -> Result<(), BackupError> {
        let mut at = 0;
        while let Some(head) = self.row.get(at..at + ROW_HEAD_BYTES) {
            let head = Fixed::<ROW_HEAD_BYTES>::of(head).expect("it has that length");
            let (table, key, value) = (head.u8(0), head.u16(1) as usize, head.u32(3) as usize);
            if value > BATCH_BYTES_MAX {
                return Err(self.damaged(used, "has a row longer than any"));
            }
            let Some(bytes) = self.row.get(at + ROW_HEAD_BYTES..at + ROW_HEAD_BYTES + key + value) else {
                break;
            };
            at += ROW_HEAD_BYTES + key + value;
            let (key, value) = bytes.split_at(key);
            let Some(table) = Table::ALL.get(usize::from(table)).copied() else {
                return Err(self.damaged(used, "has a row of a table that this version does not know"));
            };
            let Some(row) = row::decode(table, key, value) else {
                return Err(self.damaged(used, "has a row that is not what was written"));
            };
            self.take.row(table, key, row)?;
            self.rows += 1;
        }
        self.row.drain(..at);
        Ok(())
    }

    fn damaged(&self, used: usize, what: &str) -> BackupError {
        BackupError::Damaged { offset: self.at + used as u64, what: what.to_owned() }
    }
}

fn whole_len(start: usize, content: usize) -> usize {
    start + BEFORE_BYTES + content + AFTER_BYTES
}

/// Whether the stream's beginning is there.
fn is_start(bytes: &[u8]) -> Result<bool, BackupError> {
    let shared = bytes.len().min(MAGIC.len());
    if bytes[..shared] != MAGIC[..shared] {
        return Err(BackupError::NotABackup { why: "it does not begin as one does".to_owned() });
    }
    if bytes.len() < START_BYTES {
        return Ok(false);
    }
    check_format("stream", u16::from_le_bytes([bytes[8], bytes[9]]), STREAM_FORMAT).map(|()| true)
}

/// A backup is restored as it is, so its parts must be of formats that this version reads.
fn check_formats(head: &Head) -> Result<(), BackupError> {
    if head.folder_format != FOLDER_FORMAT {
        let (what, found, known) = ("folder", head.folder_format, FOLDER_FORMAT);
        return Err(BackupError::OtherFormat { what, found, known });
    }
    check_format("rows", head.row_format, COLD_FORMAT)?;
    check_format("log", head.batch_format, BATCH_FORMAT)
}

fn check_format(what: &'static str, found: u16, known: u16) -> Result<(), BackupError> {
    if (1..=known).contains(&found) {
        return Ok(());
    }
    Err(BackupError::OtherFormat { what, found, known })
}
