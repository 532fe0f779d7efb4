//! What clients asked, what they were answered, and what befell the world meanwhile.
//!
//! All times are ms of one clock, on which leases pass too: the monotonic clock of a real run, the
//! virtual one of a simulation.

mod answer;
mod ask;
mod call;
mod file;
mod world;

pub use answer::{Answer, Grant, Reason, Seen};
pub use ask::{Ask, Publish};
pub use call::{Call, History};
pub use file::{Line, ReadError};
pub use world::{QueueSettings, WorldEvent};
