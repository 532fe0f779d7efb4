//! The ledger in a real PostgreSQL.
//!
//! Lives here: the list of its parts. Not here: the cases of the suite (`cases`).

mod bench;
mod commit;
mod racing;
mod store;
mod transaction;
