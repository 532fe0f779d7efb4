//! MULTI, EXEC, DISCARD, WATCH and UNWATCH.
//!
//! Lives here: reading them. Not here: doing them (`redis/transaction.rs`).

use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Plan, Setting, Step};

/// `MULTI`.
pub(super) fn multi(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Transaction(Step::Multi))
}

/// `EXEC`.
pub(super) fn exec(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Transaction(Step::Exec))
}

/// `DISCARD`.
pub(super) fn discard(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Transaction(Step::Discard))
}

/// `WATCH key [key ...]`.
pub(super) fn watch(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Transaction(Step::Watch(call.arguments().to_vec())))
}

/// `UNWATCH`.
pub(super) fn unwatch(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Transaction(Step::Unwatch))
}
