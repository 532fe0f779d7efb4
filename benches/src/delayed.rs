//! Many events that are due later.
//!
//! Lives here: publishing them to a fresh server, and what they take there. Not here: what happens once
//! they are due.

use std::time::Duration;

use crate::arguments::Delayed;
use crate::calls::make_queue;
use crate::connection::Connection;
use crate::figures::{self, Figures};
use crate::narration::progress;
use crate::publishing::{Due, Wanted, publish};
use crate::section::Measured;
use crate::server::Launch;
use crate::table::Table;

/// Until a server has done what it does after publishes.
const QUIET: Duration = Duration::from_secs(5);

pub(crate) async fn measure(launch: &Launch, args: &Delayed, runs: u32) -> anyhow::Result<Measured> {
    let (mut rate, mut resident, mut disk) = (Figures::default(), Figures::default(), Figures::default());
    for run in 1..=runs {
        let server = launch.start().await?;
        make_queue(&mut Connection::open(&server.address()).await?, "later").await?;
        let (events, bytes) = (args.events, args.bytes as usize);
        let wanted = Wanted { queue: "later".to_owned(), events, bytes, due: Due::WithinADay };
        let took = publish(&server.address(), &wanted).await?;
        progress(&format!("run {run}: {events} delayed events were published in {took:.1?}"));
        rate.add(events as f64 / took.as_secs_f64());
        tokio::time::sleep(QUIET).await;
        resident.add(server.process().resident_bytes()? as f64);
        disk.add(server.disk_bytes()? as f64);
    }
    let mut table = Table::new(&["what", "median (smallest to largest)"]);
    table.row(["publish in batches of 500, 4 connections".to_owned(), rate.shown(figures::per_second)]);
    table.row([format!("memory of the server {} s after", QUIET.as_secs()), resident.shown(figures::mib)]);
    table.row(["data folder on disk, log files made ahead included".to_owned(), disk.shown(figures::mib)]);
    let how = format!(
        "{} events with payloads of {} bytes, each due at a random time within the next 24 hours; a fresh server for each \
         of {runs} runs.",
        figures::grouped(args.events),
        args.bytes
    );
    Ok(Measured { how, tables: vec![table] })
}
