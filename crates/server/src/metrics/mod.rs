//! What this node tells Prometheus of itself, in a registry of its own: several nodes may run in one
//! process, and no counter of one may be another's.
//!
//! [`calls`] and [`doors`] count as things happen; [`figures`], [`process`] and [`mod@node`] are looked up when
//! somebody asks; [`page`] is the text, [`scrape`] makes it, and [`sharing`] lets one be made at a time.

mod calls;
mod doors;
mod figures;
mod node;
mod page;
mod process;
mod scrape;
mod sharing;

pub(crate) use calls::note_route;
pub(crate) use page::CONTENT_TYPE;
pub(crate) use scrape::Metrics;
