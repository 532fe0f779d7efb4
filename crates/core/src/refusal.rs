//! Why a step was not taken.
//!
//! Lives here: the reasons. Not here: codes and texts for callers (the doors).

/// Why [`Delivery::apply`](crate::Delivery::apply) left a delivery as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Nobody may take it now: it is held, settled, or due later.
    NotDue,
    /// The caller was the last holder and its time is over.
    Expired,
    /// Somebody else has or had it since, or the proof is not for this delivery.
    Lost,
    /// The caller itself already settled it the other way.
    Settled,
    /// The delivery is not in a state that allows the step.
    WrongState,
}
