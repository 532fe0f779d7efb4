//! Engines of Naven Events: where deliveries rest between steps.
//!
//! [`Engine`] is the trait; [`txn`], [`reply`] and [`read`] are what goes in and comes out.

pub mod audit;
pub mod backup;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embedded;
pub mod engine;
pub mod feed;
pub mod key;
mod lag;
pub mod model;
pub mod queue;
pub mod read;
pub mod reply;
mod sync;
pub mod token;
pub mod txn;

pub use clock::{Clock, Random};
pub use engine::{BoxFuture, Budget, Caps, Durability, Engine, Health, Hint, Hints, Tended, WaitSet};
pub use feed::{Change, ChangeKind, Changes, InQueues, Told};
