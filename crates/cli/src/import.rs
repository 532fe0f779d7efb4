//! `naven import`: streams of a running Redis or Valkey, copied to a server through its Redis door.
//!
//! Lives here: its arguments, going from stream to stream, and what it prints. Not here: what is done to a
//! stream (`import/`). Only commands that every Redis since 5.0 has are sent to the source, and none that writes.

mod address;
mod counts;
mod entries;
mod find;
mod groups;
mod info;
mod limits;
mod pending;
mod place;
mod reply;
mod report;
mod side;
mod stream;
mod trouble;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use self::address::Address;
use self::limits::PATTERNS_MAX;
use self::report::{Report, State, StreamReport};
use self::side::Side;
use self::trouble::Trouble;
use crate::exit::{Exit, Failure};
use crate::print::{Output, note};
use crate::progress::Progress;

/// Arguments of `naven import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The Redis to copy from: redis://USER:PASSWORD@HOST:PORT/DATABASE, of which all but HOST may be left out, or
    /// rediss:// over TLS. Nothing is written there. Better in the variable where it has a password: arguments show in process lists.
    #[arg(value_name = "SOURCE", env = "NAVEN_IMPORT_SOURCE", hide_env_values = true)]
    source: String,

    /// The Redis door of the server to copy to: redis://:KEY@HOST:PORT, or rediss:// over TLS.
    #[arg(
        long,
        env = "NAVEN_REDIS_URL",
        hide_env_values = true,
        value_name = "URL",
        default_value = "redis://127.0.0.1:7379"
    )]
    to: String,

    /// The key, where --to has none. Better in the variable: arguments show in process lists.
    #[arg(long, env = "NAVEN_API_KEY", hide_env_values = true)]
    key: Option<String>,

    /// Over TLS, trust the certificates in this PEM file and no others, on both sides. [default: those that the
    /// system trusts]
    #[arg(long, env = "NAVEN_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Only this stream, or those that a pattern of Redis meets, such as 'orders:*'; may be repeated. [default:
    /// all]
    #[arg(long = "stream", value_name = "NAME|PATTERN", allow_hyphen_values = true)]
    streams: Vec<String>,

    /// Write nothing: say what would be copied, and what stands in the way.
    #[arg(long)]
    dry_run: bool,

    /// How to print: table on a terminal and jsonl in a pipe, unless it is named.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

/// Imports, and prints what came of each stream.
pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    let (from, to) = addresses(&args)?;
    let source = Side::open("source", &from).await.map_err(failed)?;
    let target = Side::open("target", &to).await.map_err(failed)?;
    let (streams, met_nothing) = find::streams(&source, &args.streams).await.map_err(failed)?;
    for pattern in met_nothing {
        note(&format!("{}: no stream is met by {pattern}", source.name));
    }
    if streams.is_empty() && args.streams.is_empty() {
        note(&format!("{}: there are no streams", source.name));
    }
    let mut report = Report { dry_run: args.dry_run, streams: Vec::new() };
    let mut broken = None;
    let mut progress = Progress::of("import");
    for name in &streams {
        match stream::import(&source, &target, name, args.dry_run, &mut progress).await {
            Ok(stream) => report.streams.push(stream),
            Err(why) => {
                broken = Some((reply::shown(name), why));
                break;
            }
        }
    }
    drop(progress);
    let output = args.output.unwrap_or_else(Output::for_stdout);
    output.listed(&report, &report.streams, &StreamReport::HEADINGS, StreamReport::row)?;
    for text in report.streams.iter().flat_map(StreamReport::notes) {
        note(&text);
    }
    if let Some((name, why)) = broken {
        let rest = streams.len() - report.streams.len();
        return Err(failed_with(format!(
            "stream {name}: {why}; {rest} of {} streams are not done: run it again, it goes on from there",
            streams.len()
        )));
    }
    let bad = report.streams.iter().filter(|stream| !matches!(stream.state, State::Whole | State::Possible));
    match bad.count() {
        0 => Ok(()),
        bad => Err(failed_with(format!("{bad} of {} streams are not whole", streams.len()))),
    }
}

fn addresses(args: &ImportArgs) -> Result<(Address, Address), Failure> {
    if args.streams.len() > PATTERNS_MAX {
        return Err(Failure::usage(format!("--stream: given more than {PATTERNS_MAX} times")));
    }
    let file = args.ca_file.as_ref().filter(|path| !path.as_os_str().is_empty());
    let roots = file.map(|path| address::roots(path)).transpose()?;
    let key = args.key.as_deref().filter(|key| !key.is_empty());
    let from = Address::read("SOURCE", &args.source, None, roots.as_deref())?;
    let to = Address::read("--to", &args.to, key, roots.as_deref())?;
    if to.database != 0 {
        return Err(Failure::usage("--to: there is no database but 0"));
    }
    if from.is(&to) {
        return Err(Failure::usage("SOURCE and --to are one place"));
    }
    Ok((from, to))
}

fn failed(why: Trouble) -> Failure {
    failed_with(why.to_string())
}

fn failed_with(why: String) -> Failure {
    Failure::new(Exit::Failed, anyhow!(why))
}
