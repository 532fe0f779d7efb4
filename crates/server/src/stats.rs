//! Figures of queues over time, as this node has seen them since its start.
//!
//! Lives here: what others use of it. Not here: who feeds it (`watch.rs`), how it is asked for
//! (`http/stats.rs`).

mod bucket;
mod figure;
mod recorder;
mod series;
mod times;

pub(crate) use bucket::Sample;
pub(crate) use figure::{Figure, Totals};
pub(crate) use recorder::Recorder;
pub(crate) use series::Span;
