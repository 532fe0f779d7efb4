//! INFO.
//!
//! Lives here: its sections, with what clients and harnesses look for. Not here: the server's own figures
//! (`http/system.rs`).

use std::fmt::Write;

use naven_store::BoxFuture;
use naven_store::reply::OpError;

use super::hello::REDIS_VERSION;
use super::scan;
use crate::auth::Caller;
use crate::redis::door::RedisDoor;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{AtDoor, Plan, Setting};
use crate::redis::refusal::refusal;
use crate::system::resident_bytes;

const SECTIONS: [&str; 8] =
    ["server", "clients", "memory", "persistence", "stats", "replication", "cluster", "keyspace"];

struct Info {
    sections: Vec<&'static str>,
}

/// `INFO [section ...]`: all where none is named.
pub(super) fn info(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let asked: Vec<Vec<u8>> = call.arguments().iter().map(|word| word.to_ascii_lowercase()).collect();
    let everything = [&b"all"[..], b"default", b"everything"];
    let all = asked.is_empty() || asked.iter().any(|word| everything.contains(&word.as_slice()));
    let is_asked = |section: &&str| all || asked.iter().any(|word| word == section.as_bytes());
    let sections = SECTIONS.into_iter().filter(|section| is_asked(section)).collect();
    Ok(Plan::Door(Box::new(Info { sections })))
}

impl AtDoor for Info {
    fn run<'a>(self: Box<Self>, door: &'a RedisDoor, caller: &'a Caller, _: &'a str) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let mut text = String::new();
            for section in &self.sections {
                if !text.is_empty() {
                    text.push_str("\r\n");
                }
                match fields(door, caller, section).await {
                    Ok(fields) => write_section(&mut text, section, &fields),
                    Err(error) => return refusal(&error),
                }
            }
            Reply::Verbatim { format: *b"txt", text: text.into() }
        })
    }
}

type Fields = Vec<(&'static str, String)>;

fn write_section(text: &mut String, section: &str, fields: &Fields) {
    let (first, rest) = section.split_at(1);
    write!(text, "# {}{rest}\r\n", first.to_ascii_uppercase()).expect("a String takes every text");
    for (name, value) in fields {
        write!(text, "{name}:{value}\r\n").expect("a String takes every text");
    }
}

async fn fields(door: &RedisDoor, caller: &Caller, section: &str) -> Result<Fields, OpError> {
    let word = |word: &str| word.to_owned();
    Ok(match section {
        "server" => server(door),
        "clients" => vec![
            ("connected_clients", door.clients.count().to_string()),
            ("maxclients", door.node.limits.connections.to_string()),
            ("blocked_clients", door.clients.blocked().to_string()),
        ],
        "memory" => vec![
            ("used_memory", resident_bytes().to_string()),
            ("used_memory_rss", resident_bytes().to_string()),
            ("maxmemory", word("0")),
            ("maxmemory_policy", word("noeviction")),
        ],
        "persistence" => vec![
            ("loading", word("0")),
            ("async_loading", word("0")),
            ("rdb_bgsave_in_progress", word("0")),
            ("aof_enabled", word("1")),
            ("aof_rewrite_in_progress", word("0")),
        ],
        "stats" => vec![
            ("total_connections_received", door.clients.ever().to_string()),
            ("total_commands_processed", {
                door.clients.commands.load(std::sync::atomic::Ordering::Relaxed).to_string()
            }),
        ],
        "replication" => vec![("role", word("master")), ("connected_slaves", word("0"))],
        "cluster" => vec![("cluster_enabled", word("0"))],
        "keyspace" => match scan::count(door, caller).await? {
            0 => Vec::new(),
            keys => vec![("db0", format!("keys={keys},expires=0,avg_ttl=0"))],
        },
        _ => Vec::new(),
    })
}

fn server(door: &RedisDoor) -> Fields {
    let now = door.node.clock.wall().as_ms();
    let up_seconds = (now - door.node.started_at.as_ms()).max(0) / 1_000;
    vec![
        ("redis_version", REDIS_VERSION.to_owned()),
        ("server_name", "naven".to_owned()),
        ("naven_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("redis_mode", "standalone".to_owned()),
        ("os", std::env::consts::OS.to_owned()),
        ("arch_bits", usize::BITS.to_string()),
        ("process_id", std::process::id().to_string()),
        ("tcp_port", door.port.to_string()),
        ("server_time_usec", (now * 1_000).to_string()),
        ("uptime_in_seconds", up_seconds.to_string()),
        ("uptime_in_days", (up_seconds / 86_400).to_string()),
    ]
}
