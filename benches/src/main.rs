//! `naven-benches`: what a Naven Events server costs, measured from outside.
//!
//! Lives here: the way from arguments to one measurement to its section of `docs/performance.md`. Not
//! here: what is measured, a file each (`waiters.rs`, `backlog.rs`, `delayed.rs`, `fanout.rs`).
//!
//! Every measurement starts a server of its own in a temporary folder and speaks HTTP to it, so nothing
//! here knows how the engine works.

mod arguments;
mod backlog;
mod binary;
mod calls;
mod clock;
mod connection;
mod delayed;
mod descriptors;
mod fanout;
mod figures;
mod machine;
mod narration;
mod process;
mod publishing;
mod random;
mod section;
mod server;
mod table;
mod waiters;

use clap::Parser;

use crate::arguments::{Arguments, Measurement};
use crate::section::Section;
use crate::server::Launch;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    descriptors::raise();
    let launch =
        Launch { naven: binary::find(arguments.naven.as_deref())?, folder: arguments.folder.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let section = runtime.block_on(measure(&arguments, &launch))?;
    narration::result(&section.text())?;
    if arguments.write {
        section.write()?;
    }
    Ok(())
}

async fn measure(arguments: &Arguments, launch: &Launch) -> anyhow::Result<Section> {
    let runs = arguments.runs;
    let (name, tables) = match &arguments.measurement {
        Measurement::Waiters(args) => ("waiters", waiters::measure(launch, args, runs).await?),
        Measurement::Backlog(args) => ("backlog", backlog::measure(launch, args, runs).await?),
        Measurement::Delayed(args) => ("delayed", delayed::measure(launch, args, runs).await?),
        Measurement::Fanout(args) => ("fanout", fanout::measure(launch, args, runs).await?),
    };
    let name = arguments.section.as_deref().unwrap_or(name);
    Ok(Section::new(name, machine::facts(&launch.place())?, tables))
}
