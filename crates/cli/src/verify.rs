//! `naven verify`: everything in a data folder, read and not changed.
//!
//! Lives here: its arguments and its report. Not here: the checks (`naven-store`).

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use naven_store::embedded::disk::RealDisk;
use naven_store::embedded::finding::Finding;
use naven_store::embedded::verify::verify;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::print::{Lines, Output};
use crate::progress::Progress;
use crate::restore::backup_failed;

/// Arguments of `naven verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The folder to read; no server may use it meanwhile.
    #[arg(long, env = "NAVEN_DATA", value_name = "DIR")]
    data: PathBuf,

    /// How to print: table on a terminal and jsonl in a pipe, unless it is named.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

/// The report, as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    ok: bool,
    store: Option<String>,
    lsn: u64,
    rows: u64,
    segments: u64,
    bytes: u64,
    tail_bytes: u64,
    found: u64,
    findings: Vec<Shown>,
}

impl Report {
    /// The report as people read it.
    fn lines(&self) -> Lines {
        let mut lines = vec![
            ("store", self.store.clone().unwrap_or_else(|| "unknown".to_owned())),
            ("lsn", self.lsn.to_string()),
            ("rows", self.rows.to_string()),
            ("segments", self.segments.to_string()),
            ("bytes", self.bytes.to_string()),
            ("tail bytes", self.tail_bytes.to_string()),
            ("found", self.found.to_string()),
        ];
        lines.extend(self.findings.iter().map(|found| ("wrong", found.line())));
        lines
    }
}

/// One finding, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    what: String,
}

impl From<Finding> for Shown {
    fn from(finding: Finding) -> Self {
        let Finding { file, offset, table, key, what } = finding;
        Self { file, offset, table, key, what }
    }
}

impl Shown {
    /// The finding as people read it.
    pub(crate) fn line(&self) -> String {
        let at = self.offset.map_or_else(String::new, |offset| format!(" at byte {offset}"));
        let table = self.table.as_ref().map_or_else(String::new, |table| format!(" {table}"));
        let key = self.key.as_ref().map_or_else(String::new, |key| format!(" {key}"));
        format!("{}{at}{table}{key}: {}", self.file, self.what)
    }
}

/// An id as text.
pub(crate) fn hex(id: [u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks and prints the report. Findings end the process with 65.
pub(crate) async fn run(args: VerifyArgs) -> Result<(), Failure> {
    let failed = |error| backup_failed(&args.data, error);
    let disk = RealDisk::read_only(&args.data).map_err(|error| failed(error.into()))?;
    let mut progress = Progress::of("verify");
    let found = verify(Arc::new(disk), &mut |bytes| progress.add(bytes, None));
    drop(progress);
    let found = found.map_err(|error| failed(error.into()))?;
    let count = found.found;
    let report = Report {
        ok: count == 0,
        store: found.store.map(hex),
        lsn: found.lsn,
        rows: found.rows,
        segments: found.segments,
        bytes: found.bytes,
        tail_bytes: found.tail_bytes,
        found: count,
        findings: found.findings.into_iter().map(Shown::from).collect(),
    };
    args.output.unwrap_or_else(Output::for_stdout).one(Some(&report), Report::lines)?;
    if report.ok {
        return Ok(());
    }
    Err(Failure::new(Exit::NotOurs, anyhow!("{}: {count} findings", args.data.display())))
}
