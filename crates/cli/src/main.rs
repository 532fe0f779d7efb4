//! `naven`: the server of Naven Events and its command line.
//!
//! Lives here: the way from arguments to a command to an exit code. Not here: what the commands do.

mod arguments;
mod audit_log;
mod backup;
mod bulk_shown;
mod claim;
mod completions;
mod config;
mod config_file;
mod connection;
mod consume;
mod dead_letter;
mod descriptors;
mod dev;
mod environment;
mod event;
mod event_list;
mod event_shown;
mod exit;
mod heartbeat;
mod import;
mod key;
mod logs;
mod memory;
mod operation;
mod print;
mod progress;
mod publish;
mod queue;
mod queue_fields;
mod queue_purge;
mod queue_shown;
mod queue_tail;
mod queue_watch;
mod restore;
mod salvage;
mod secret_file;
mod serve;
mod settings;
mod settle;
mod signals;
mod smoke;
mod stream;
mod stream_pending;
mod verify;

use std::future::Future;
use std::process::ExitCode;

use anyhow::Context;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use tokio::runtime::Runtime;

use crate::arguments::{Arguments, Command};
use crate::exit::Failure;
use crate::settings::Settings;

fn main() -> ExitCode {
    let matches = Arguments::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(arguments, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print::error(&failure);
            failure.code()
        }
    }
}

fn run(arguments: Arguments, matches: &ArgMatches) -> Result<(), Failure> {
    let log = arguments.log.as_deref();
    match arguments.command {
        Command::Serve(args) => {
            let settings = Settings::resolve(args)?;
            logs::start(log.or(settings.log.as_deref()), logs::OF_A_SERVER)?;
            block_on(serve::run(settings))
        }
        Command::Dev(args) => {
            let settings = Settings::resolve(args)?;
            logs::start(log.or(settings.log.as_deref()), logs::OF_A_SERVER)?;
            block_on(dev::run(settings))
        }
        Command::Config(command) => config::run(command, log, matches),
        Command::Completions(args) => completions::run(&args),
        Command::Smoke(args) => as_client(log, smoke::run(args)),
        Command::Key(command) => as_client(log, key::run(command)),
        Command::AuditLog(args) => as_client(log, audit_log::run(args)),
        Command::Queue(command) => as_client(log, queue::run(command)),
        Command::Event(command) => as_client(log, event::run(command)),
        Command::Stream(command) => as_client(log, stream::run(command)),
        Command::DeadLetter(command) => as_client(log, dead_letter::run(command)),
        Command::Operation(command) => as_client(log, operation::run(command)),
        Command::Publish(args) => as_client(log, publish::run(args)),
        Command::Claim(args) => as_client(log, claim::run(args)),
        Command::Consume(args) => as_client(log, consume::run(args)),
        Command::Heartbeat(args) => as_client(log, heartbeat::run(args)),
        Command::Ack(args) => as_client(log, settle::ack(args)),
        Command::Nack(args) => as_client(log, settle::nack(args)),
        Command::Backup(args) => as_client(log, backup::run(args)),
        Command::Restore(args) => as_client(log, restore::run(args)),
        Command::Verify(args) => as_client(log, verify::run(args)),
        Command::Salvage(args) => as_client(log, salvage::run(args)),
        Command::Import(args) => as_client(log, import::run(args)),
    }
}

fn as_client(log: Option<&str>, command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    logs::start(log, logs::OF_A_CLIENT)?;
    block_on(command)
}

fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the process cannot start its threads")?;
    let mut threads = Threads(Some(runtime));
    threads.0.as_mut().expect("they are taken by drop alone").block_on(command)
}

/// The runtime. What still runs when it is dropped, such as a read of standard input, does not hold up
/// the end of the process, not even where a panic brings it about.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
