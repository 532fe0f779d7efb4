//! Why a consumer ended that was not told to.
//!
//! Lives here: the error. Not here: errors of single calls (`crate::Error`), of which most are repeated.

/// Why a consumer ended that was not told to. A program that ends with it, and is started again by whoever watches over
/// it, is right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// What was asked for cannot be.
    #[error("{why}")]
    Setup {
        /// Which setting breaks which rule.
        why: String,
    },
    /// Claims are refused, and will be for as long as nobody changes something.
    #[error("events of the queue '{queue}' cannot be claimed")]
    Refused {
        /// The queue, as it was named.
        queue: String,
        /// The server's answer.
        source: crate::Error,
    },
    /// The thread that keeps the leases panicked, which is a fault of this library.
    #[error("the thread that keeps the leases panicked: {why}")]
    Panicked {
        /// What it said.
        why: String,
    },
}
