//! Making a backup, piece by piece.
//!
//! Lives here: the order of things, and how much of a store is in memory at a time. Not here: where the
//! store comes from (`running.rs`, `resting.rs`), and what the pieces look like (`format.rs`).

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::format::{CONTENT_BYTES_MAX, End, Head, Kind, ROW_HEAD_BYTES, SegmentHead, Writer};
use crate::backup::{Backup, BackupFailed};
use crate::embedded::cold::{Applied, COLD_FILE, COLD_FORMAT, ColdReader, ColdRow, ColdRows, ReadFailed};
use crate::embedded::disk::{Disk, Site};
use crate::embedded::log::batch::BATCH_FORMAT;
use crate::embedded::log::copy::{LogCopy, Part};
use crate::embedded::log::{ClosedSegments, Lsn, Pin};
use crate::embedded::meta::{FOLDER_FORMAT, Meta};
use crate::embedded::tables::{Order, Table};

/// A rest of the log of so many bytes goes out together with the end.
const LAST_BYTES_MAX: u64 = CONTENT_BYTES_MAX as u64 - 256;
/// Where the log grows faster than the backup is taken, it ends after so many tries to catch up that
/// did not come nearer.
const VAIN_ROUNDS_MAX: u32 = 2;

/// What a backup is made of.
pub(in crate::embedded) struct Source {
    pub(in crate::embedded) disk: Arc<dyn Disk>,
    pub(in crate::embedded) meta: Meta,
    /// None: the cold store has no file yet.
    pub(in crate::embedded) reader: Option<Arc<ColdReader>>,
    /// What `reader` is of.
    pub(in crate::embedded) applied: Applied,
    pub(in crate::embedded) closed: Arc<ClosedSegments>,
    /// Keeps the log meanwhile.
    pub(in crate::embedded) pin: Pin,
    /// Asked once all rows are out: up to which LSN the log is durable.
    pub(in crate::embedded) durable: Box<dyn Fn() -> Lsn + Send>,
}

/// A backup under way.
pub(in crate::embedded) struct Pieces {
    source: Source,
    writer: Writer,
    stage: Stage,
    /// Rows that were read and are not out yet.
    pending: BytesMut,
    rows: u64,
    stretches: u64,
    /// Rounds of catching up that were not shorter than the one before.
    vain_rounds: u32,
    /// Bytes of the stream when this round began, and of the last round.
    round_began: u64,
    last_round: u64,
    upto: Lsn,
}

enum Stage {
    Head,
    /// The rows of the table with this place in the list, and of those after it.
    Rows(usize, Option<ColdRows>),
    Parts(LogCopy),
    /// A stretch of the log is out up to this byte of its segment.
    Bytes(LogCopy, Part, u64),
    Over,
}

impl Pieces {
    pub(in crate::embedded) fn new(source: Source) -> Self {
        let (writer, pending) = (Writer::new(), BytesMut::new());
        Self {
            source,
            writer,
            stage: Stage::Head,
            pending,
            rows: 0,
            stretches: 0,
            vain_rounds: 0,
            round_began: 0,
            last_round: u64::MAX,
            upto: 0,
        }
    }

    fn head(&self) -> Head {
        const COUNT: Site = Site("backup.count");
        let source = &self.source;
        let cold = source.disk.open(COUNT, COLD_FILE).and_then(|file| file.len(COUNT)).unwrap_or(0);
        Head {
            folder_format: FOLDER_FORMAT,
            row_format: COLD_FORMAT,
            batch_format: BATCH_FORMAT,
            meta: source.meta,
            applied: source.applied,
            estimate: cold + source.closed.bytes_from(source.applied.lsn) + source.meta.segment_bytes,
        }
    }

    /// Reads rows until they fill a piece. Answers where to go on.
    fn fill(
        &mut self,
        mut at: usize,
        mut rows: Option<ColdRows>,
    ) -> Result<(usize, Option<ColdRows>), BackupFailed> {
        let Some(reader) = self.source.reader.clone() else { return Ok((Table::ALL.len(), None)) };
        while self.pending.len() < CONTENT_BYTES_MAX {
            let Some(walk) = &mut rows else {
                let Some(table) = Table::ALL.get(at) else { break };
                rows = Some(reader.all(*table, Order::Rising).map_err(failed)?);
                continue;
            };
            match walk.next().map_err(failed)? {
                Some(row) => {
                    // What is damaged must not pass for a backup.
                    row.value().map_err(failed)?;
                    put_row(&mut self.pending, &row);
                    self.rows += 1;
                }
                None => (at, rows) = (at + 1, None),
            }
        }
        Ok((at, rows))
    }

    fn begin_log(&mut self) -> LogCopy {
        let source = &self.source;
        self.round_began = self.writer.bytes;
        self.upto = (source.durable)().max(source.applied.lsn);
        let span = (source.applied.lsn, self.upto);
        LogCopy::new(Arc::clone(&source.disk), source.meta, &source.closed, span)
    }

    /// The beginning of a stretch.
    fn begin_part(&mut self, part: &Part) -> Bytes {
        self.stretches += 1;
        let (number, len) = (part.segment.number.0, part.segment.len);
        let head = SegmentHead { number, len, from: part.from, to: part.to };
        self.writer.piece(Kind::Segment, &head.encode())
    }

    /// The bytes of a stretch from `at` on, as many as fit, and where they end.
    fn bytes(&mut self, part: &Part, at: u64) -> Result<(Bytes, u64), BackupFailed> {
        let count = usize::try_from(part.to - at).unwrap_or(CONTENT_BYTES_MAX).min(CONTENT_BYTES_MAX);
        let mut content = vec![0; count];
        part.file.read_at(Site("backup.read"), at, &mut content)?;
        Ok((self.writer.piece(Kind::Log, &content), at + count as u64))
    }

    /// All of the log is out that was durable when it was last asked. What has become so since is
    /// added: where it is little, together with the end, so that nothing comes between.
    fn catch_up(&mut self, mut log: LogCopy) -> Result<Bytes, BackupFailed> {
        let durable = (self.source.durable)();
        let round = self.writer.bytes - self.round_began;
        self.vain_rounds += u32::from(round >= self.last_round);
        (self.last_round, self.round_began) = (round, self.writer.bytes);
        if durable <= self.upto || self.vain_rounds > VAIN_ROUNDS_MAX {
            return self.end();
        }
        self.upto = durable;
        log.extend(durable);
        let Some(part) = log.next_part()? else { return self.end() };
        let begin = self.begin_part(&part);
        if !log.is_done() || part.to - part.from > LAST_BYTES_MAX {
            let from = part.from;
            self.stage = Stage::Bytes(log, part, from);
            return Ok(begin);
        }
        let mut last = BytesMut::from(begin);
        last.put(self.bytes(&part, part.from)?.0);
        last.put(self.end()?);
        Ok(last.freeze())
    }

    fn end(&mut self) -> Result<Bytes, BackupFailed> {
        self.check_pin()?;
        let (upto, rows, stretches) = (self.upto, self.rows, self.stretches);
        let end = End { upto, rows, stretches, bytes: self.writer.bytes };
        Ok(self.writer.piece(Kind::End, &end.encode()))
    }

    /// The segments may have been used again only after the pin was gone.
    fn check_pin(&self) -> Result<(), BackupFailed> {
        if self.source.pin.is_held() {
            return Ok(());
        }
        Err("the disk was full: the log was not kept for the backup; begin it again".into())
    }
}

impl Backup for Pieces {
    fn next_piece(&mut self) -> Result<Option<Bytes>, BackupFailed> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Head => {
                    self.stage = Stage::Rows(0, None);
                    return Ok(Some(self.writer.piece(Kind::Head, &self.head().encode())));
                }
                Stage::Rows(at, rows) => {
                    let (at, rows) = self.fill(at, rows)?;
                    if self.pending.is_empty() {
                        self.stage = Stage::Parts(self.begin_log());
                        continue;
                    }
                    self.stage = Stage::Rows(at, rows);
                    let content = self.pending.split_to(self.pending.len().min(CONTENT_BYTES_MAX));
                    return Ok(Some(self.writer.piece(Kind::Rows, &content)));
                }
                Stage::Parts(mut log) => match log.next_part()? {
                    Some(part) => {
                        let (begin, from) = (self.begin_part(&part), part.from);
                        self.stage = Stage::Bytes(log, part, from);
                        return Ok(Some(begin));
                    }
                    None => return self.catch_up(log).map(Some),
                },
                Stage::Bytes(log, part, at) if at == part.to => self.stage = Stage::Parts(log),
                Stage::Bytes(log, part, at) => {
                    let (bytes, at) = self.bytes(&part, at)?;
                    self.stage = Stage::Bytes(log, part, at);
                    return Ok(Some(bytes));
                }
                Stage::Over => return Ok(None),
            }
        }
    }
}

fn put_row(out: &mut BytesMut, row: &ColdRow) {
    let (key, value) = (row.key(), row.stored());
    out.reserve(ROW_HEAD_BYTES + key.len() + value.len());
    out.put_u8(row.table() as u8);
    out.put_u16_le(u16::try_from(key.len()).expect("keys are short"));
    out.put_u32_le(u32::try_from(value.len()).expect("rows are far below 4 GiB"));
    out.put_slice(key);
    out.put_slice(value);
}

fn failed(failed: ReadFailed) -> BackupFailed {
    match failed {
        ReadFailed::Stale => "a checkpoint failed meanwhile: begin the backup again".into(),
        ReadFailed::Broken(error) => error.into(),
    }
}
