//! A Cluster of three nodes.
//!
//! Lives here: making one, and moving a stream within it. Not here: processes of servers (`failover.rs`).

use naven_client::consumer::Outcome;
use naven_client::streams::{ConsumerError, Server};
use redis::Value;

use crate::bench::{Seen, consumer, lease, run};
use crate::failover::Process;
use crate::servers::{Kind, free_port};
use crate::wire::{STREAM, Wire};

/// Where each third of the slots begins.
const SLOTS: [u32; 4] = [0, 5_461, 10_923, 16_384];

struct Node {
    process: Process,
    port: u16,
    id: String,
}

impl Node {
    fn wire(&self) -> Wire {
        Wire::to(&self.process.url)
    }
}

async fn cluster(kind: Kind) -> Vec<Node> {
    let mut nodes = Vec::new();
    for from in 0..3 {
        // Nodes speak to each other on a port that is 10,000 higher.
        let port =
            std::iter::repeat_with(free_port).find(|port| *port < 55_000).expect("it goes on for ever");
        let config = "save \"\"\ncluster-enabled yes\ncluster-node-timeout 2000\n";
        let process = Process::start(&kind.binary(), &[], config, port);
        let mut wire = Wire::to(&process.url);
        let (first, last) = (SLOTS[from].to_string(), (SLOTS[from + 1] - 1).to_string());
        wire.ask::<Value>(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
        let id = wire.ask(&["CLUSTER", "MYID"]);
        nodes.push(Node { process, port, id });
    }
    for (at, node) in nodes.iter().enumerate() {
        // Each has its number in the history of the Cluster before they meet.
        node.wire().ask::<Value>(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]);
    }
    for other in &nodes[1..] {
        nodes[0].wire().ask::<Value>(&["CLUSTER", "MEET", "127.0.0.1", &other.port.to_string()]);
    }
    for node in &nodes {
        let is_whole = |wire: &mut Wire| {
            let told: String = wire.ask(&["CLUSTER", "INFO"]);
            told.contains("cluster_state:ok") && told.contains("cluster_known_nodes:3")
        };
        node.wire().until(is_whole).await;
    }
    nodes
}

/// Gives the slot of the stream, with all that is in it, to another node.
fn give(nodes: &[Node], from: &Node, to: &Node, slot: &str) {
    let (mut giving, mut taking) = (from.wire(), to.wire());
    taking.ask::<Value>(&["CLUSTER", "SETSLOT", slot, "IMPORTING", &from.id]);
    giving.ask::<Value>(&["CLUSTER", "SETSLOT", slot, "MIGRATING", &to.id]);
    let keys: Vec<String> = giving.ask(&["CLUSTER", "GETKEYSINSLOT", slot, "100"]);
    let port = to.port.to_string();
    for key in keys {
        giving.ask::<Value>(&["MIGRATE", "127.0.0.1", &port, &key, "0", "5000"]);
    }
    taking.ask::<Value>(&["CLUSTER", "SETSLOT", slot, "NODE", &to.id]);
    for node in nodes {
        node.wire().ask::<Value>(&["CLUSTER", "SETSLOT", slot, "NODE", &to.id]);
    }
}

pub(crate) async fn a_stream_of_a_cluster_is_found_and_followed(kind: Kind) {
    let nodes = cluster(kind).await;
    let slot: u32 = nodes[0].wire().ask(&["CLUSTER", "KEYSLOT", STREAM]);
    let at = (0..3).find(|at| slot < SLOTS[at + 1]).expect("every slot is somewhere");
    let (from, to) = (&nodes[at], &nodes[(at + 1) % 3]);
    let mut wire = from.wire();

    // One that is gone, and one that has other slots.
    let gone = format!("redis://127.0.0.1:{}/", free_port());
    let known = [gone.as_str(), nodes[(at + 2) % 3].process.url.as_str()];
    let server = Server::by_cluster(known).expect("URLs");
    let (seen, never) = (Seen::default(), server.clone());
    let running = run(consumer(server, "w1", &seen).lease(lease(3)), &seen, |_, run| async move {
        match (run.n, run.attempt) {
            (7, _) => Outcome::dead_letter("no such address"),
            (8, 1) => Outcome::retry("not yet"),
            _ => Outcome::Done,
        }
    });
    wire.add_many(20);
    seen.until_runs(21).await;
    wire.until_pending(0).await;
    assert_eq!(wire.ask::<u32>(&["XLEN", &format!("{{{STREAM}}}:dead")]), 1);

    give(&nodes, from, to, &slot.to_string());
    let mut wire = to.wire();
    wire.add(21);
    seen.until_runs(22).await;
    wire.until_pending(0).await;
    let drained = running.stop().await;
    assert_eq!((drained.done, drained.not_done, drained.lost), (20, 2, 0));

    let apart = consumer(never, "w1", &seen).dead_stream("elsewhere");
    let ended = run(apart, &seen, |_, _| async {}).ends().await;
    assert!(matches!(ended, Err(ConsumerError::Setup { .. })), "{ended:?}");
}
