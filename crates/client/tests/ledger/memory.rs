//! The suite over the store in this process.
//!
//! Lives here: nothing but that. Not here: the cases (`cases`).

use std::sync::Arc;

use naven_client::ledger::Memory;

#[tokio::test]
async fn every_case_holds_in_memory() {
    crate::cases::all(&Arc::new(Memory::new())).await;
}
