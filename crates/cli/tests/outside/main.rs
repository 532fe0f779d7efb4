//! Faults from outside, on the binary as it is shipped: real processes, real sockets.
//!
//! Lives here: which faults there are, one file each. What each must leave standing is told in `docs/reliability.md`.
//! Not here: full and read-only disks, damaged files and clients that hang up (`field_cases`), `kill -9` (`kill`), and
//! the same faults within a process, where every place is tried (`naven-store`, worlds).

// What was measured is printed outside of test functions too.
#![allow(clippy::print_stdout)]
// Parts of the field cases serve here as well, and not all of what they offer is needed.
#![allow(dead_code)]

#[path = "../field_cases/books.rs"]
mod books;
#[path = "../field_cases/clock.rs"]
mod clock;
mod failed_sync;
mod few_descriptors;
mod little_memory;
#[path = "../field_cases/scene.rs"]
mod scene;
mod stopped;
#[path = "../support/mod.rs"]
mod support;
mod wall_clock;
#[path = "../field_cases/wire.rs"]
mod wire;
