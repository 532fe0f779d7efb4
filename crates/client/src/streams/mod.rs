//! The consumer runtime over a Redis: streams and consumer groups of Redis 6.2 or newer, of Valkey, and of Naven's own Redis
//! door.
//!
//! ```no_run
//! use naven_client::consumer::Outcome;
//! use naven_client::streams::{Consumer, Entry, Envelope, Server};
//!
//! #[derive(serde::Deserialize)]
//! struct Order {
//!     order: u64,
//! }
//!
//! # async fn send(order: u64) -> Result<(), std::io::Error> { Ok(()) }
//! async fn handle(entry: Entry<Envelope<Order>>) -> Result<Outcome, std::io::Error> {
//!     if entry.payload().event == "order.paid" {
//!         send(entry.payload().payload.order).await?;
//!     }
//!     Ok(Outcome::Done)
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new("redis://127.0.0.1:6379")?;
//! let stop = async { drop(tokio::signal::ctrl_c().await) };
//! Consumer::new(server, "factory:events", "worker-mail", "w1").concurrency(16).run(stop, handle).await?;
//! # Ok(())
//! # }
//! ```
//!
//! It is [the same runtime](crate::consumer) as over HTTP: leases, settling, flow and draining are said there. What is of Redis:
//!
//! - **A lease** is that an entry was idle for less than its length. A heartbeat sets the idle time back where the entry is
//!   still ours, under the count of deliveries that it was handed to us with: so each word at the end of an attempt, too. Looking
//!   and acting are one step, by a script.
//! - **Order.** What the last process of the same name left comes first. Then, in turns, what is due for a retry or was idle with
//!   others for longer than a lease, and what is new.
//! - **Retries** wait in a sorted set beside the stream; the entry stays pending meanwhile, under the name `naven:waiting`. Any
//!   consumer of the group takes it up once it is due.
//! - **Dead letters** are written to a stream of their own, in the same step that acks the entry.
//! - **A group that is not there** is made ([`MissingGroup`]).
//! - **Sentinels** say where the primary is ([`Server::by_sentinels`]), and nodes of a Cluster
//!   who has the stream ([`Server::by_cluster`]).
//!
//! What a real Redis can lose is in `docs/redis-consumers.md`: whatever it had not written to disk, or not to the replica that
//! took over.

mod builder;
mod claims;
mod cluster;
mod commands;
mod door;
mod entry;
mod error;
mod fields;
mod group;
mod link;
mod reply;
mod scripted;
mod scripts;
mod sentinel;
mod server;
mod step;
mod upkeep;

pub use builder::{Consumer, MissingGroup};
pub use entry::{Entry, LostEntry};
pub use error::{ConsumerError, Error};
pub use fields::{Envelope, Fields, FromFields, Json};
pub use server::Server;
