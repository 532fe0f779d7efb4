//! The consumer runtime: claims, keeps leases alive, settles, and drains, so that a handler is all there is to write.
//!
//! ```no_run
//! use naven_client::Client;
//! use naven_client::consumer::{Consumer, Delivery, Outcome};
//!
//! #[derive(serde::Deserialize)]
//! struct Mail {
//!     to: String,
//! }
//!
//! # async fn send(to: &str) -> Result<(), std::io::Error> { Ok(()) }
//! async fn handle(delivery: Delivery<Mail>) -> Result<Outcome, std::io::Error> {
//!     send(&delivery.payload().to).await?;
//!     Ok(Outcome::Done)
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:7480", "nvk_...")?;
//! let stop = async { drop(tokio::signal::ctrl_c().await) };
//! Consumer::new(client, "mail").concurrency(16).run(stop, handle).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//! - **Leases.** Each is kept from its receipt on, by a heartbeat at about a third of its length, one at a time. How long
//!   it holds is counted on the local monotonic clock, from the instant at which a request left; a step of the wall
//!   clock changes nothing. No handler begins on a lease that may be over.
//! - **A lost lease** (the server says so, or its time is over here) stops the handler: [`Delivery::cancelled`] comes
//!   true, and what has not ended [`Consumer::grace`] later is dropped. Nothing is settled then; [`Consumer::on_lost`]
//!   is told what is known.
//! - **Settling.** What the handler answered is said until the server has answered, under the same token, for as long
//!   as the lease is held. An ack whose answer was lost is never turned into a nack.
//! - **Flow.** Events are claimed for free slots only. Failed claims are repeated after a random pause that grows, and
//!   not before the server's `Retry-After`. What cannot get better (a key that is refused, a queue that is not there)
//!   ends [`Consumer::run`] with an error.
//! - **Draining.** When told to stop, nothing more is claimed; leases are kept until their handlers have settled. What has
//!   not ended within [`Consumer::drain_limit`] is told to stop, and given back without counting an attempt.
//!
//! All of it but the handlers runs on a thread of its own, over connections of its own: a handler that blocks its
//! executor, or eats its CPU, costs no lease.

pub(crate) mod attempt;
pub(crate) mod backoff;
mod batch;
mod builder;
mod delivery;
pub(crate) mod door;
mod error;
pub(crate) mod handler;
mod health;
pub(crate) mod hold;
mod http;
mod lease;
mod lost;
mod outcome;
mod pump;
pub(crate) mod running;
mod settling;
#[cfg(test)]
mod tests;

pub use builder::{Consumer, Undecodable};
pub use delivery::{Delivery, StopReason};
pub use error::ConsumerError;
pub use handler::IntoOutcome;
pub use health::{Drained, Health};
pub use lost::{Lost, LostPhase, LostReason};
pub use outcome::Outcome;
