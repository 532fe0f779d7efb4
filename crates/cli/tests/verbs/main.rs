//! What every verb prints, held to files.
//!
//! Each verb of the command line has a transcript in `tests/snapshots`: its help, a success in each form of
//! output, and what it says where it fails. What differs from run to run has a placeholder there. After a wanted
//! change: `NAVEN_BLESS=1 cargo nextest run -p naven --test verbs`, and read the difference. That no verb
//! is left out, there and in `docs/cli.md`, is checked where clap's tree is (`src/arguments.rs`).

#[path = "../support/mod.rs"]
mod support;

mod dead_letters;
mod event_lists;
mod events;
mod folders;
mod imports;
mod keys;
mod placeholders;
mod queues;
mod running;
mod scene;
mod servers;
mod streams;
mod verb;
mod watching;
