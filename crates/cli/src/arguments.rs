//! The command line as a whole: its commands and what all of them take.
//!
//! Lives here: the tree. Not here: each command's own arguments, which stand in its file.

use clap::{Parser, Subcommand};

use crate::audit_log::AuditLogArgs;
use crate::backup::BackupArgs;
use crate::claim::ClaimArgs;
use crate::completions::CompletionsArgs;
use crate::config::ConfigCommand;
use crate::consume::ConsumeArgs;
use crate::dead_letter::DeadLetterCommand;
use crate::event::EventCommand;
use crate::heartbeat::HeartbeatArgs;
use crate::import::ImportArgs;
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
    /// Make, list, change, watch, pause, empty and delete queues.
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Find events, look at them, put them off, call them off, bring them back.
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
    /// Run a program for each event of a queue.
    Consume(ConsumeArgs),
    /// Say that the work on an event goes on, and how far it came.
    Heartbeat(HeartbeatArgs),
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
    /// Copy streams of a running Redis or Valkey, with their groups and pending lists.
    Import(ImportArgs),
    /// Print what a shell needs to complete the verbs and flags of naven.
    Completions(CompletionsArgs),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use clap::CommandFactory;

    use super::*;

    /// The page that lists all verbs.
    const PAGE: &str = include_str!("../../../docs/cli.md");
    const BEGIN: &str = "<!-- verbs -->\n";
    const END: &str = "<!-- verbs end -->\n";

    /// The verbs below `command`, each with its words.
    fn verbs(command: &clap::Command, words: &[&str]) -> Vec<(String, clap::Command)> {
        let below = command.get_subcommands().filter(|command| command.get_name() != "help");
        let of_each = below.flat_map(|command| verbs(command, &[words, &[command.get_name()]].concat()));
        let all: Vec<_> = of_each.collect();
        if all.is_empty() { vec![(words.join(" "), command.clone())] } else { all }
    }

    fn snapshots() -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "tests", "snapshots"].iter().collect()
    }

    /// What nobody can be shown twice alike: whether an operation is cancelled in time is up to the machine.
    const UP_TO_THE_MACHINE: &str = "operation cancel";

    /// One run in a transcript: its command line and whether it went well.
    fn run_of(block: &str) -> (&str, bool) {
        let mut lines = block.trim_end().lines();
        (lines.next().unwrap_or_default(), lines.next_back() == Some("exit 0"))
    }

    /// What a verb's transcript lacks.
    fn missing(verb: &str, command: &clap::Command, transcript: &str) -> Vec<&'static str> {
        let runs: Vec<_> = transcript.split("$ naven ").skip(1).map(run_of).collect();
        let own = runs.iter().filter(|(line, _)| line.starts_with(verb));
        let (well, badly): (Vec<_>, Vec<_>) =
            own.partition(|(_, is_well)| *is_well || verb == UP_TO_THE_MACHINE);
        let has_output = command.get_arguments().any(|arg| arg.get_id() == "output");
        let mut wanted = vec!["--help"];
        wanted.extend(
            has_output.then_some(["--output table", "--output json", "--output jsonl"]).into_iter().flatten(),
        );
        let mut missing: Vec<_> = wanted
            .into_iter()
            .filter(|with| !well.iter().any(|(line, _)| format!("{line} ").contains(&format!("{with} "))))
            .collect();
        missing.extend((badly.is_empty() && verb != UP_TO_THE_MACHINE).then_some("an error"));
        missing.extend((well.len() < 2).then_some("a success"));
        missing
    }

    #[test]
    fn every_verb_has_a_transcript_and_every_transcript_a_verb() {
        let mut files: BTreeSet<String> = std::fs::read_dir(snapshots())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        for (verb, command) in verbs(&Arguments::command(), &[]) {
            let name = format!("{}.txt", verb.replace(' ', "-"));
            let transcript = std::fs::read_to_string(snapshots().join(&name));
            let transcript =
                transcript.unwrap_or_else(|_| panic!("naven {verb} has no tests/snapshots/{name}"));
            assert_eq!(
                missing(&verb, &command, &transcript),
                Vec::<String>::new(),
                "in tests/snapshots/{name}"
            );
            files.remove(&name);
        }
        assert_eq!(files, BTreeSet::new(), "transcripts of no verb");
    }

    #[test]
    fn the_page_lists_every_verb() {
        let mut table = String::from("\n| verb | what it does |\n|---|---|\n");
        for (verb, command) in verbs(&Arguments::command(), &[]) {
            let about = command.get_about().unwrap().to_string();
            table.push_str(&format!("| `naven {verb}` | {} |\n", about.replace('|', "\\|")));
        }
        table.push('\n');
        let (head, rest) = PAGE.split_once(BEGIN).unwrap();
        let (listed, tail) = rest.split_once(END).unwrap();
        #[expect(clippy::disallowed_methods, reason = "whether the page is to be written anew")]
        if std::env::var_os("NAVEN_BLESS").is_some() {
            let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/cli.md"].iter().collect();
            std::fs::write(path, format!("{head}{BEGIN}{table}{END}{tail}")).unwrap();
        } else {
            assert_eq!(listed, table, "docs/cli.md: NAVEN_BLESS=1 writes it anew");
        }
    }
}
