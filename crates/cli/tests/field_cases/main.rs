//! Field cases: faults that other queues had in the field, each played against the real binary.
//!
//! Lives here: which cases there are, one file each. They sleep where a case names times: a lower
//! bound is exact, an upper bound is held at three times the figure (`clock.rs`), and what was measured
//! is printed. Not here: the rules themselves, which are tested beside the code that holds them.

// What was measured is printed outside of test functions too.
#![allow(clippy::print_stdout)]

mod books;
mod clock;
mod fc01_caller_gone;
mod fc02_ack_reply_lost;
mod fc03_acks_at_the_lease_end;
mod fc04_delay_longer_than_lease;
mod fc08_attempts_used_up;
mod fc09_deleted_entries_still_pending;
mod fc10_wait_timer_starts_again;
mod fc11_position_after_a_restart;
mod fc12_removed_consumer;
mod fc13_two_reclaimers;
mod fc16_seconds_that_overflow;
mod fc17_text_that_a_store_cannot_hold;
mod fc18_payload_changed_on_the_way;
mod fc19_instant_retry_loop;
mod fc20_emptied_disk;
mod fc20_full_disk;
mod fc21_damaged_files;
mod fc22_length_header_trusted;
mod fc24_weak_key_makes_a_strong_one;
mod random;
mod read_only;
mod scene;
mod small_disk;
#[path = "../support/mod.rs"]
mod support;
mod waiting_crowd;
mod wire;
