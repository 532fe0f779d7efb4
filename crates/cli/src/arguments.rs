//! The command line as a whole: its commands and what all of them take.
//!
//! Lives here: the tree. Not here: each command's own arguments, which stand in its file.

use clap::{Parser, Subcommand};

use crate::audit_log::AuditLogArgs;
use crate::backup::BackupArgs;
use crate::claim::ClaimArgs;
use crate::config::ConfigCommand;
use crate::dead_letter::DeadLetterCommand;
use crate::event::EventCommand;
use crate::key::KeyCommand;
use crate::operation::OperationCommand;
use crate::publish::PublishArgs;
use crate::queue::QueueCommand;
use crate::restore::RestoreArgs;
use crate::salvage::SalvageArgs;
use crate::settings::ServerArgs;
use crate::settle::{AckArgs, NackArgs};
use crate::smoke::SmokeArgs;
use crate::stream::StreamCommand;
use crate::verify::VerifyArgs;

/// Naven Events: a durable event queue.
#[derive(Debug, Parser)]
#[command(name = "naven", version, about)]
pub(crate) struct Arguments {
    /// What to log on stderr: off, error, warn, info, debug, trace, or a filter for modules.
    #[arg(long, global = true, env = "NAVEN_LOG", value_name = "FILTER", display_order = 900)]
    pub(crate) log: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server.
    Serve(ServerArgs),
    /// Run a server to try things on: a queue `demo`, a key, and lines to paste.
    Dev(ServerArgs),
    /// Show a server's settings, and list all that there are.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Prove the guarantees against a throw-away server, or against a running one.
    Smoke(SmokeArgs),
    /// Make, list, change, rotate and revoke keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show what operators changed, newest first.
    AuditLog(AuditLogArgs),
    /// Make, list, change, pause and delete queues.
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Look at events, call them off, bring them back.
    #[command(subcommand)]
    Event(EventCommand),
    /// Look at streams, delete them, put their queues at other places.
    #[command(subcommand)]
    Stream(StreamCommand),
    /// Look at dead letters, bring them back, forget them.
    #[command(subcommand)]
    DeadLetter(DeadLetterCommand),
    /// Look after work on many events in the background.
    #[command(subcommand)]
    Operation(OperationCommand),
    /// Publish an event.
    Publish(PublishArgs),
    /// Claim due events under a lease.
    Claim(ClaimArgs),
    /// Say that an event is finished.
    Ack(AckArgs),
    /// Say that an attempt at an event failed.
    Nack(NackArgs),
    /// Take a backup of a running server: everything that was answered before its end.
    Backup(BackupArgs),
    /// Make a data folder of a backup.
    Restore(RestoreArgs),
    /// Read everything in a data folder that no server uses, and say what is wrong. Nothing is written.
    Verify(VerifyArgs),
    /// Make a new data folder of what can be read in a damaged one, which stays as it is.
    Salvage(SalvageArgs),
}
