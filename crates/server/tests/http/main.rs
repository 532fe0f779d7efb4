//! The HTTP door as bytes, over real sockets, against a server started in this process.
//!
//! Lives here: which cases run on which engine. Every case takes a [`Factory`], so an engine is one
//! more line at the end. Not here: the cases, and black-box tests of the binary.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are all tests"
)]

mod access;
mod audit;
mod bulk;
mod cancel;
mod consumers;
mod contract;
mod dead_letters;
mod dedupe;
mod errors;
mod event_list;
mod exposition;
mod faulty;
mod field_cases;
mod idempotency;
mod keys;
mod lease_batch;
mod lease_states;
mod lease_table;
mod long_poll;
mod malformed;
mod malformed_fields;
mod malformed_kinds;
mod malformed_play;
mod malformed_rows;
mod malformed_shapes;
mod malformed_targets;
mod metrics;
mod openapi;
mod pending;
mod progress;
mod proxies;
mod purge;
mod raw;
mod reach;
mod reschedule;
mod rights;
mod shape;
mod shutdown;
mod sockets;
mod stats;
mod streams;
mod tail;
mod target_queue;
mod test_server;
mod timeline;
mod trace_context;
mod trim;
mod waiting_crowd;

use std::sync::Arc;

use naven_store::conformance::Fresh;
use naven_store::embedded::disk::RealDisk;
use naven_store::embedded::{Embedded, Options};
use naven_store::model::Model;
use naven_store::{Clock, Random};

/// Makes a fresh engine.
pub(crate) type Factory = fn(Arc<dyn Clock>, Arc<dyn Random>) -> Fresh;

fn memory(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    Fresh::new(Model::new(clock, random))
}

/// The embedded engine, on a real disk.
fn embedded(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let disk = RealDisk::open(folder.path()).expect("the folder is ours");
    // Small pieces: many tests make many stores.
    let options = Options { segment_bytes: Some(1 << 20), ..Options::default() };
    let engine = Embedded::open(Arc::new(disk), options, clock, random);
    Fresh::new(engine.expect("an empty folder takes a store")).with_guard(folder)
}

/// One test of each case, on the engine that a factory makes.
macro_rules! on_engine {
    ($engine:ident, $factory:path, $($file:ident: $($case:ident),+;)+) => {
        mod $engine {
            $(mod $file {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$file::$case($factory).await;
                })+
            })+
        }
    };
}

/// Every case that does not depend on the engine.
macro_rules! every_case {
    ($engine:ident, $factory:path) => {
        on_engine! { $engine, $factory,
            access:
                only_our_host_names_are_answered,
                pages_of_named_origins_may_call,
                nothing_is_said_to_pages_where_no_origin_is_named,
                long_answers_are_compressed_for_those_who_accept_it,
                failures_are_problems_for_those_who_ask;
            audit: every_change_of_an_operator_is_noted, the_log_comes_in_pages_and_names_requests;
            bulk:
                dead_letters_are_grouped_and_filtered_by_error,
                those_that_are_named_are_redriven_or_discarded_at_once,
                a_discarded_dead_letter_is_gone_for_good,
                an_operation_does_it_in_the_background;
            cancel:
                what_nobody_holds_is_cancelled_at_once,
                a_holder_is_told_with_its_next_heartbeat,
                however_a_holder_lets_go_its_event_is_cancelled,
                a_shared_event_is_cancelled_in_the_queue_that_is_named;
            consumers:
those_who_hold_and_wait_are_listed,
                who_does_not_come_back_is_forgotten,
                a_redis_consumer_is_forgotten_with_what_it_holds,
                the_node_that_answers_is_listed;
            contract:
                a_queue_changes_under_a_condition,
                a_queue_is_made_shown_changed_paused_and_deleted,
                queues_are_listed_in_pages,
                an_event_goes_through,
                batches_go_through,
                the_server_describes_itself,
                every_answer_has_the_same_headers,
                the_body_is_judged_after_the_queue_and_before_the_event;
            dead_letters:
                a_dead_letter_is_listed_and_redriven,
                dead_letters_come_in_pages_and_cursors_belong_to_their_list,
                a_deleted_queue_leaves_its_dead_letters;
            dedupe:
                an_event_of_a_known_key_is_the_first_one_again,
                a_window_ends_and_may_be_changed,
                an_event_that_expired_is_nobodys;
            errors: every_code_is_provoked;
            event_list:
                a_queues_events_are_listed_newest_first,
                every_filter_lets_in_what_it_says,
                pages_and_cursors_belong_to_their_filter,
                a_total_is_told_where_it_is_asked_for,
                a_key_lists_what_it_reaches,
                pages_with_payloads_are_bounded;
            field_cases: fc02, fc08, fc10, fc16, fc17, fc18;
            idempotency:
                a_repeated_publish_makes_one_event,
                a_repeated_batch_makes_one_batch,
                a_publish_whose_answer_was_lost_is_repeated,
                a_repeated_claim_gives_the_same_lease_while_it_lives,
                a_repeated_claim_does_not_stand_in_line,
                a_claim_whose_connection_was_cut_is_repeated,
                a_repeated_creation_redrive_or_reset_changes_nothing,
                keys_that_are_none_and_calls_that_take_none;
            keys:
                a_key_is_made_shown_changed_and_revoked,
                a_rotated_key_has_two_secrets_for_a_while,
                a_key_makes_only_keys_that_may_do_no_more,
                keys_change_under_a_condition,
                a_keys_time_is_over_at_its_moment,
                calls_are_bounded_but_for_settling,
                the_servers_own_key_is_changed_in_its_settings;
            proxies:
                a_consumers_address_is_what_trusted_proxies_say,
                log_lines_name_the_peer_and_who_called_through_it,
                a_trusted_proxy_names_no_host;
            purge:
                what_waits_is_thrown_away_and_what_is_held_stays,
                a_purge_is_told_apart_by_age_and_key,
                what_may_not_be_named_is_refused_with_what_may;
            target_queue:
                a_dead_letter_goes_to_another_queue,
                what_a_deleted_queue_left_is_moved_by_its_id,
                many_go_to_another_queue,
                both_queues_must_be_within_the_key_s_reach;
            reschedule:
                an_event_gets_another_due_time,
                a_waiting_claim_wakes_when_an_event_is_to_run_now,
                what_cannot_be_moved_is_told_what_would_help,
                a_shared_event_waits_for_all_its_queues_alike;
            lease_batch: each_lease_of_a_batch_is_judged_by_itself, a_batch_is_taken_in_its_order;
            lease_table: every_cell_that_has_a_verb, no_cell_is_forgotten;
            long_poll:
                a_waiting_claim_is_woken_by_a_publish,
                a_waiting_claim_ends_with_null_at_its_deadline,
                a_claim_that_does_not_wait_answers_at_once,
                waiters_are_served_in_the_order_in_which_they_came,
                a_paused_queue_holds_the_poll,
                a_deleted_queue_ends_its_waiters,
                a_retry_wakes_a_waiter_when_it_is_due,
                too_many_waiters_are_refused,
                a_waiter_takes_a_batch;
            malformed: three_hundred_malformed_requests;
            malformed_play: two_thousand_malformed_requests;
            metrics:
                values_move_with_what_is_done,
                calls_are_counted_and_timed_by_their_route,
                what_callers_choose_is_no_label,
                who_may_see_them_is_a_setting,
                it_is_an_answer_like_others,
                no_secret_is_told,
                queues_and_streams_that_are_listed_are_bounded,
                names_of_streams_may_be_any_bytes,
                an_engine_that_fails_is_told_of,
                many_may_look_at_once,
                each_server_counts_its_own,
                the_table_in_the_docs_is_what_is_told;
            openapi: every_documented_route_is_one, every_example_is_taken, the_pages_are_there_offline;
            pending:
                what_somebody_has_or_nobody_any_more_is_listed,
                pending_deliveries_come_in_pages_and_by_place,
                pending_deliveries_are_told_apart_by_holder_and_idle_time,
                a_page_of_pending_deliveries_is_bounded_by_its_limit;
            progress:
                a_heartbeat_says_how_far_the_work_came,
                progress_is_a_percentage_a_note_or_both,
                an_ack_says_what_came_of_it,
                results_are_bounded;
            reach:
                what_a_key_does_not_reach_is_not_there,
                a_scope_is_asked_for_on_streams_too,
                a_key_sees_of_an_event_what_it_reaches;
            rights: every_route_asks_for_its_rights;
            shutdown: draining, a_failed_engine_ends_the_waits;
            sockets:
                a_closed_connection_is_no_waiter,
                a_lease_whose_answer_was_not_taken_goes_back,
                a_slow_head_and_an_idle_connection_are_closed,
                large_bodies_under_way_wait_for_room,
                a_large_body_that_finds_no_room_is_told_so,
                a_large_answer_that_finds_no_room_is_told_so,
                pipelined_requests_are_answered_in_order,
                http2_is_served_and_its_reset_ends_a_wait;
            stats:
                every_figure_moves,
                depth_and_age_are_seen_at_the_end_of_a_step,
                spans_and_steps_have_bounds,
                what_was_before_the_start_is_not_known;
            streams:
                an_event_reaches_every_queue_of_its_stream,
                a_stream_and_its_queues_are_shown,
                entries_come_in_pages,
                a_publish_wakes_the_waiters_of_every_queue,
                a_stream_without_queues_keeps_its_events,
                names_are_escaped_in_paths,
                a_queue_begins_where_it_is_told,
                a_queue_goes_back_and_forward,
                a_stream_is_deleted_with_its_queues,
                a_shared_event_is_redriven_in_the_queue_that_is_named;
            tail:
                a_life_is_told_as_it_happens,
                a_tail_may_be_of_some_states_or_some_events,
                a_tail_goes_on_where_it_broke_off,
                what_is_not_kept_any_more_is_a_gap,
                a_tail_ends_with_its_queue_its_key_or_the_server,
                tails_are_bounded,
                a_slow_tail_holds_nothing_up;
            timeline:
                deliveries_are_listed_newest_first,
                a_shared_event_has_a_timeline_in_each_queue;
            trace_context:
                every_publish_takes_its_trace_along,
                what_is_no_trace_is_passed_over,
                a_repetition_in_another_trace_is_the_same_request,
                a_redriven_event_keeps_its_trace,
                log_lines_name_the_trace;
            trim: a_stream_is_trimmed, a_shared_stream_may_let_consumed_entries_go;
            waiting_crowd: a_thousand_events_reach_a_thousand_of_five_thousand_claims;
        }
    };
}

every_case!(on_memory, crate::memory);
every_case!(on_embedded, crate::embedded);
