//! Which dead letters a call means.
//!
//! Lives here: the filter that a query or a body says. Not here: whether one is meant (`naven-store`).

use naven_api::Timestamp;
use naven_api::bulk::{DeadFilterRequest, error_filter, error_filter_rule, reason_rule};
use naven_api::field::Rule;
use naven_core::DeadReason;
use naven_store::read::DeadFilter;

use super::query::Query;

/// The reason of this name.
fn reason(text: &str) -> Option<DeadReason> {
    DeadReason::ALL.into_iter().find(|reason| reason.as_str() == text)
}

/// The filter that a body says; its reason is one of those that there are.
pub(super) fn of_body(filter: DeadFilterRequest) -> DeadFilter {
    DeadFilter {
        reason: filter.reason.as_deref().and_then(reason),
        error: filter.error,
        died_after: filter.died_after,
        died_before: filter.died_before,
    }
}

/// The filter that a query says.
pub(super) fn of_query(query: &mut Query) -> DeadFilter {
    let time = Rule::new(Timestamp::RULE);
    let instant = |text: String| Timestamp::parse(&text).ok();
    DeadFilter {
        reason: query.parsed("reason", &reason_rule(), |text| reason(&text)),
        error: query.parsed("error", &error_filter_rule(), error_filter),
        died_after: query.parsed("diedAfter", &time, instant),
        died_before: query.parsed("diedBefore", &time, instant),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_can_be_asked_for() {
        assert_eq!(DeadReason::ALL.map(DeadReason::as_str), naven_api::bulk::REASONS);
    }
}
