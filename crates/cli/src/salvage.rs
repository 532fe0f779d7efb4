//! `naven salvage`: a new data folder of what can still be read in a damaged one.
//!
//! Lives here: its arguments and its report. Not here: the saving (`naven-store`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use naven_server::{SystemClock, SystemRandom};
use naven_store::Engine;
use naven_store::embedded::backup::BackupError;
use naven_store::embedded::disk::{Disk, RealDisk};
use naven_store::embedded::salvage::{QueueSaved, Salvaged, StreamSaved, salvage};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::{Embedded, Options};
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::print::{Lines, Output, note};
use crate::progress::Progress;
use crate::restore::backup_failed;
use crate::verify::{Shown, hex};

/// Arguments of `naven salvage`.
#[derive(Debug, Args)]
pub(crate) struct SalvageArgs {
    /// The damaged folder; it is only read, and no server may use it meanwhile.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The folder to make: it must be empty, or not there. What a salvage that was cut short left in it is
    /// removed. Without it nothing is made: the report says what could be saved, and the exit code is 65
    /// where anything is missing.
    #[arg(long, value_name = "NEW_DIR")]
    to: Option<PathBuf>,

    /// How to print: table on a terminal and jsonl in a pipe, unless it is named.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

/// The report, as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// True where nothing is missing.
    ok: bool,
    store: String,
    new_store: Option<String>,
    rows: u64,
    segments: u64,
    replayed_upto_lsn: u64,
    lost_log: Option<LostLog>,
    records_without_effect: u64,
    under_new_ids: u64,
    streams: Vec<Stream>,
    streams_found: u64,
    queues: Vec<Queue>,
    queues_found: u64,
    found: u64,
    findings: Vec<Shown>,
}

/// Places of the log that are lost, the last included.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LostLog {
    from_lsn: u64,
    upto_lsn: u64,
}

/// What is left of a stream.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stream {
    name: Option<String>,
    events: u64,
    damaged: u64,
    lost_rows: u64,
}

/// What is left of a queue.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Queue {
    name: Option<String>,
    deliveries: u64,
    outcomes: u64,
    again: u64,
    lost_rows: u64,
}

impl From<StreamSaved> for Stream {
    fn from(StreamSaved { name, events, damaged, lost_rows }: StreamSaved) -> Self {
        Self { name, events, damaged, lost_rows }
    }
}

impl From<QueueSaved> for Queue {
    fn from(QueueSaved { name, deliveries, outcomes, again, lost_rows }: QueueSaved) -> Self {
        Self { name, deliveries, outcomes, again, lost_rows }
    }
}

impl From<Salvaged> for Report {
    fn from(saved: Salvaged) -> Self {
        Self {
            ok: saved.found == 0,
            store: hex(saved.store),
            new_store: saved.made.map(hex),
            rows: saved.rows,
            segments: saved.segments,
            replayed_upto_lsn: saved.lsn,
            lost_log: saved.lost_log.map(|lost| LostLog { from_lsn: lost.from, upto_lsn: lost.upto }),
            records_without_effect: saved.without_effect,
            under_new_ids: saved.under_new_ids,
            streams: saved.streams.into_iter().map(Stream::from).collect(),
            streams_found: saved.streams_found,
            queues: saved.queues.into_iter().map(Queue::from).collect(),
            queues_found: saved.queues_found,
            found: saved.found,
            findings: saved.findings.into_iter().map(Shown::from).collect(),
        }
    }
}

impl Report {
    /// The report as people read it.
    fn lines(&self) -> Lines {
        let mut lines = vec![
            ("store", self.store.clone()),
            ("new store", self.new_store.clone().unwrap_or_else(|| "none was asked for".to_owned())),
            ("rows", self.rows.to_string()),
            ("replayed up to lsn", self.replayed_upto_lsn.to_string()),
        ];
        if let Some(LostLog { from_lsn, upto_lsn }) = self.lost_log {
            lines.push(("lost of the log", format!("lsn {from_lsn} to {upto_lsn}")));
            lines.push(("events under new ids", self.under_new_ids.to_string()));
        }
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "(name unknown)".to_owned());
        for Stream { name, events, damaged, lost_rows } in &self.streams {
            let counts = format!("{events} events, {damaged} without their content, {lost_rows} rows lost");
            lines.push(("stream", format!("{}: {counts}", named(name))));
        }
        for Queue { name, deliveries, outcomes, again, lost_rows } in &self.queues {
            let counts = format!("{deliveries} deliveries, {outcomes} outcomes");
            let lost = format!("{again} delivered again, {lost_rows} rows lost");
            lines.push(("queue", format!("{}: {counts}, {lost}", named(name))));
        }
        lines.push(("found", self.found.to_string()));
        lines.extend(self.findings.iter().map(|found| ("missing", found.line())));
        lines
    }
}

/// Saves what can be saved, opens and closes the new store once, and prints the report. That something
/// is missing is no failure of a saving: it is what the command is for. Of a look it is one.
pub(crate) async fn run(args: SalvageArgs) -> Result<(), Failure> {
    let failed = |error| backup_failed(&args.folder, error);
    let from = RealDisk::read_only(&args.folder).map_err(|error| failed(error.into()))?;
    let to = args.to.as_deref().map(open).transpose()?;
    let mut progress = Progress::of("salvage");
    let into = to.clone().map(|to| -> Arc<dyn Disk> { to });
    let saved = salvage(Arc::new(from), into, &SystemRandom, &mut |bytes| progress.add(bytes, None));
    drop(progress);
    let report = Report::from(saved.map_err(|error| match (&args.to, &error) {
        (Some(to), BackupError::Store(StorageError::NotEmpty { .. })) => backup_failed(to, error),
        _ => failed(error),
    })?);
    if let (Some(folder), Some(disk)) = (&args.to, to) {
        let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
        let engine = Embedded::open(disk, Options::default(), clock, random);
        engine.map_err(|error| backup_failed(folder, error.into()))?.close().await;
    }
    let output = args.output.unwrap_or_else(Output::for_stdout);
    output.one(Some(&report), Report::lines)?;
    let count = report.found;
    match report.new_store {
        _ if count == 0 => Ok(()),
        Some(_) => {
            note(&format!("{}: {count} findings: not everything is as it was", args.folder.display()));
            Ok(())
        }
        None => Err(Failure::new(Exit::NotOurs, anyhow!("{}: {count} findings", args.folder.display()))),
    }
}

fn open(folder: &Path) -> Result<Arc<RealDisk>, Failure> {
    RealDisk::open(folder).map(Arc::new).map_err(|error| backup_failed(folder, error.into()))
}
