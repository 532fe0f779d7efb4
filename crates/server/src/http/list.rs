//! Pages of lists.
//!
//! Lives here: a page's envelope. Not here: reading cursors and limits (`query.rs`).

use naven_api::envelope::List;
use naven_store::read::Cursor;
use serde::Serialize;

use super::answer::{Reply, ok};
use super::query::write_cursor;

/// 200 with one page of a list whose cursors are bound to `filter`.
pub(super) fn page<T: Serialize>(items: Vec<T>, next: Option<&Cursor>, filter: &[u8]) -> Reply {
    ok(&List { items, next_cursor: next.map(|cursor| write_cursor(cursor, filter)) })
}
