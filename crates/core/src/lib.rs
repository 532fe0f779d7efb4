//! The rules of Naven Events: who may do what to a delivery, and when.
//!
//! Pure: no I/O, no clock, no randomness; all of that comes in as arguments. Engines find, lock and
//! save deliveries, and ask [`Delivery::apply`] for everything else.

mod backoff;
mod delivery;
mod fingerprint;
mod now;
mod outcome;
mod past;
pub mod planted;
mod policy;
mod refusal;
mod settle;
mod step;
mod take;
mod unfenced;

pub use backoff::delay_ms;
pub use delivery::{Delivery, Lease, Reported, State, View};
pub use fingerprint::Fingerprint;
pub use now::{LeaseTime, Now};
pub use outcome::{DeadReason, Ending, Outcome};
pub use past::Past;
pub use policy::Policy;
pub use refusal::Refusal;
pub use step::{Bearer, ConsumerNo, Failure, GivenUp, GivingUp, Hold, Step};
