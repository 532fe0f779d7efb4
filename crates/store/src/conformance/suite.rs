//! The list of all cases, as tests of one engine.
//!
//! Lives here: [`conformance!`](crate::conformance!). Not here: the cases (one file per theme).

/// Makes a test of each case of the suite for the engine that `$factory` makes: a function from a
/// clock and randomness to a [`Fresh`](crate::conformance::Fresh) engine.
#[macro_export]
macro_rules! conformance {
    ($factory:expr) => {
        fn fresh_for_conformance(
            clock: ::std::sync::Arc<dyn $crate::Clock>,
            random: ::std::sync::Arc<dyn $crate::Random>,
        ) -> $crate::conformance::Fresh {
            ($factory)(clock, random)
        }
        $crate::conformance_of_streams! { fresh_for_conformance }
        $crate::conformance_cases! { fresh_for_conformance;
            all_or_nothing {
                all_or_nothing_takes_all
                all_or_nothing_undoes_all_where_one_is_refused
                what_is_undone_moves_no_due_time
                a_queue_s_creation_and_deletion_are_undone_too
                an_undone_redrive_leaves_the_dead_letter_where_it_was
                refusals_stand_alone_where_not_asked_otherwise
                each_op_sees_what_those_before_it_left
                a_batch_of_settles_is_judged_one_by_one_in_order
                a_transaction_without_ops_is_answered
                a_transaction_is_refused_where_a_watched_stream_changed
                an_unknown_event_is_refused_by_every_op_on_it
            }
            clock_steps {
                a_step_of_the_wall_clock_ends_no_lease_and_prolongs_none
                a_step_forwards_makes_due_what_was_to_come
                a_step_back_delays_what_was_to_come_and_hides_nothing_that_was_due
                places_rise_whatever_the_wall_clock_does
                events_that_nobody_held_yet_come_by_place_even_after_a_step_back
            }
            consumers {
                what_a_consumer_takes_it_holds_without_a_token_and_without_an_end
                a_reader_of_the_queue_finishes_what_a_consumer_holds_or_nobody
                a_reader_without_proof_does_nothing_but_finish
                what_a_deleted_consumer_held_is_dead_and_a_redrive_brings_it_back
                a_consumer_that_is_not_there_holds_nothing
                a_consumer_made_again_under_the_name_holds_nothing_of_the_old_one
                consumers_of_other_queues_and_other_names_keep_what_they_hold
                a_deletion_that_is_undone_leaves_the_holds
                many_holds_of_a_deleted_consumer_end_in_bounded_steps
                a_deleted_queue_takes_its_consumers_along
                a_group_stands_where_its_last_answered_read_left_it
                who_holds_what_is_summed_by_name
            }
            counts {
                every_event_is_counted_once_wherever_it_stands
                a_redrive_takes_one_from_the_dead
                a_release_and_a_give_back_make_ready_again
                the_oldest_ready_event_is_the_one_that_a_claim_would_take
            }
            crowding {
                what_is_published_behind_a_crowd_of_due_events_does_not_overtake_it
            }
            event_lists {
                events_are_listed_whatever_became_of_them
                few_in_a_state_are_found_among_many_others
                each_filter_of_events_lets_in_what_it_says
                a_page_of_events_is_stable_while_others_come
                a_page_of_events_ends_where_it_has_looked_far_enough
                an_event_of_another_s_lane_is_none_of_a_queue_s
                a_dead_letter_that_was_given_up_is_not_listed
                a_closed_queue_s_events_are_not_listed
            }
            expiring {
                an_event_past_its_time_is_handed_out_to_nobody
                an_event_in_time_is_handed_out
                tending_ends_what_nobody_claims
                a_delayed_event_may_be_past_its_time_when_it_is_due
                what_comes_back_past_its_time_is_dead
                a_retry_past_its_time_is_dead
            }
            fan_out {
                each_queue_of_a_stream_gets_every_event_at_its_own_pace
                what_one_queue_does_with_an_event_no_other_sees
                a_token_of_one_queue_is_worth_nothing_in_another_of_its_stream
                an_operator_names_the_queue_where_there_are_several
                a_publish_to_several_queues_lists_none_and_one_to_one_lists_that
                an_event_for_one_queue_is_seen_by_no_other
                a_lane_and_the_stream_are_read_in_the_order_of_places
                events_of_a_lane_wait_for_their_time_too
                a_queue_alone_on_its_stream_publishes_to_the_stream
                names_of_queues_and_of_streams_do_not_meet
                a_stream_is_made_where_it_is_missing_and_its_entries_stay
                a_transaction_wakes_each_queue_of_a_stream_once
                groups_show_how_far_each_queue_is
                streams_are_listed_newest_first_by_prefix
            }
            keeping {
                a_done_event_is_remembered_for_a_day_and_then_forgotten
                a_longer_memory_may_be_asked_for
                an_event_is_forgotten_when_its_last_queue_forgets_it
                dead_letters_are_given_up_after_their_time
                retention_goes_on_in_bounded_steps
                what_a_deleted_queue_left_goes_after_the_dead_retention
                a_purge_goes_on_in_bounded_steps
                a_scheduled_event_of_a_deleted_queue_stays_its_dead_letter
                a_deleted_stream_takes_its_queues_along
                a_stream_without_unfinished_events_is_deleted_without_force
                a_stream_of_consumed_events_closes_with_its_last_queue
            }
            repeating {
                a_second_event_of_a_key_is_the_first_one_again
                a_key_is_free_again_after_its_window
                keys_are_a_stream_s_and_a_space_s_own
                a_key_outlives_its_event
                a_redrive_and_a_reset_ask_no_key
                a_repeated_publish_gets_the_first_answer
                a_key_of_another_request_is_refused
                a_repeated_claim_gets_the_leases_that_live
                a_claim_is_remembered_no_longer_than_its_leases_hold
                a_claim_that_took_nothing_is_asked_again
                whatever_succeeds_is_repeated_and_no_refusal_is
                an_undone_answer_is_not_remembered
            }
            starting {
                a_queue_begins_where_it_is_told_to
                a_new_queue_sees_what_is_still_to_come
                what_is_due_has_its_place_before_a_queue_begins
                a_reset_begins_a_new_round_whatever_became_of_an_event
                a_reset_leaves_alone_what_lies_before_it
                a_reset_forwards_passes_by_what_was_not_read
                a_reset_of_consumed_events_brings_back_what_is_there
                a_reset_loses_nothing_of_a_lane
            }
            trimming {
                a_consumed_entry_leaves_once_every_queue_has_settled_it
                a_dead_delivery_keeps_a_consumed_entry
                a_queue_may_keep_the_payload_of_what_is_done
                entries_of_a_shared_stream_stay_until_they_are_trimmed
                a_trim_goes_by_place_or_number_and_keeps_to_its_limit
                a_trim_in_steps_takes_whole_groups_from_the_oldest_on
                what_is_trimmed_unread_is_kept_for_queues_that_ask_for_it
                what_is_held_or_dead_outlives_a_trim
                what_nobody_needs_and_nobody_remembers_goes_with_its_entry
                an_entry_may_be_deleted_by_its_place
                events_of_a_lane_are_not_trimmed
                a_deleted_queue_s_dead_letters_outlive_a_trim
                a_stream_s_retention_may_be_changed
            }
            dead_letters {
                the_newest_death_comes_first_and_pages_lose_nothing
                a_page_is_stable_while_others_die
                a_cursor_of_nobody_s_is_refused
                dead_letters_of_no_queue_are_missing
                a_redrive_opens_a_round_due_now_and_the_fence_goes_on
                a_redriven_event_is_lost_to_whoever_held_it_before
                a_redrive_may_keep_the_attempts
                only_the_dead_are_redriven
                a_redriven_event_goes_behind_what_was_due_before
                who_dies_again_is_listed_once
                a_burial_ends_what_is_held
            }
            deletion {
                a_name_belongs_to_one_queue
                a_queue_with_unfinished_events_is_deleted_by_force_only
                a_queue_of_done_events_is_deleted_without_force
                a_deleted_queue_is_found_no_more
                what_a_deleted_queue_had_not_finished_is_its_dead_letters
                nothing_becomes_due_in_a_deleted_queue
                even_who_acked_is_told_that_the_queue_is_gone
                a_queue_made_again_under_the_name_shares_nothing_with_the_old
            }
            feed {
                a_life_is_told_step_by_step
                what_time_does_is_told_when_it_is_done
                what_operators_do_is_told
                what_is_refused_or_undone_is_not_told
                a_heartbeat_is_no_change_and_a_late_one_brings_the_lease_back
                an_event_for_many_queues_is_told_once_for_all_of_them
                only_what_happens_from_now_on_is_told
                a_slow_listener_learns_that_it_missed_some
                the_feed_ends_when_the_engine_is_closed
            }
            give_back {
                a_give_back_counts_no_attempt_and_keeps_the_due_time
                what_was_given_back_is_lost_to_the_token
                a_claim_dropped_before_it_ran_takes_nothing
                a_claim_dropped_on_its_way_holds_nothing_and_counts_nothing
                other_work_dropped_on_its_way_is_done_wholly_or_not_at_all
            }
            hints {
                a_publish_wakes_those_who_wait_for_its_queue
                whatever_frees_an_event_wakes_too
                what_operators_do_to_a_queue_wakes_its_waiters
                a_waiter_for_all_queues_hears_of_new_ones
                hints_end_when_the_engine_is_closed
                an_entry_wakes_those_who_read_its_stream_without_a_queue
            }
            leases {
                a_heartbeat_moves_the_end_and_keeps_the_token
                a_heartbeat_may_shorten_a_lease
                a_lease_s_end_is_exclusive
                an_expired_lease_is_redelivered_at_once_and_counted
                tending_expires_leases_before_anybody_claims
                tending_keeps_to_its_budget_and_says_that_more_waits
                a_claim_expires_no_more_leases_than_its_bound
                an_expiry_goes_behind_what_became_due_before_it
                a_lease_that_expires_on_the_last_attempt_is_a_dead_letter
                the_queue_bounds_the_whole_hold
                a_late_holder_is_served_within_the_grace_while_nobody_else_has_it
                the_grace_ends_with_its_time_or_with_the_next_hold
                a_leased_event_shows_who_has_it_until_when
            }
            operations {
                errors_that_differ_in_numbers_are_one_group
                filters_let_in_what_they_say
                a_discarded_dead_letter_is_gone_and_its_token_lost
                an_operation_means_what_is_dead_when_it_begins
                an_operation_goes_on_in_bounded_steps
                one_of_a_kind_runs_in_a_queue_and_the_oldest_first
                operations_are_listed_newest_first_whatever_the_clock_does
                a_cancelled_operation_stays_where_it_is
                an_operation_ends_with_its_queue
                an_operation_that_is_over_is_shown_for_its_time
                an_operation_that_is_undone_never_began
            }
            moving {
                a_dead_letter_s_content_is_a_new_event_of_the_target
                what_is_not_dead_or_has_nowhere_to_go_stays
                what_a_deleted_queue_left_goes_on_elsewhere
                what_waits_for_other_queues_too_stays_where_it_is
                many_are_moved_by_an_operation
                an_operation_whose_target_is_deleted_has_failed
            }
            order {
                a_published_event_comes_back_as_it_was_sent
                events_come_in_the_order_in_which_they_were_published
                what_somebody_holds_nobody_else_gets
                queues_share_nothing
                an_earlier_due_time_goes_first_and_equal_ones_by_publish_order
                an_empty_claim_says_how_long_until_something_may_be_due
                a_queue_that_is_not_there_is_said_to_be_missing
                a_claim_that_names_no_lease_gets_the_queue_s
                many_transactions_at_once_are_answered_in_their_order
            }
            auditing {
                what_was_done_is_noted_and_what_was_refused_is_not
                a_repetition_is_not_noted_again
                the_log_comes_in_pages
                a_change_names_the_revision_that_it_saw
            }
            pausing {
                a_paused_queue_takes_events_and_hands_out_none
                a_claim_of_a_paused_queue_changes_nothing
                holders_of_a_paused_queue_go_on
                pause_and_resume_may_be_repeated
                a_patch_changes_what_it_names_and_nothing_else
                a_patch_holds_for_what_is_there_already
                what_is_not_there_cannot_be_changed
            }
            purging {
                a_purge_throws_away_what_stands_as_it_says
                a_purge_leaves_what_somebody_holds_and_old_tokens_are_lost
                a_purge_means_what_was_there_when_it_began
                what_is_let_go_of_or_brought_back_since_a_purge_began_stays
                what_falls_due_meanwhile_is_met_further_on
                a_purge_may_mean_only_what_is_older
                a_purge_of_one_queue_is_nothing_to_another_of_its_stream
                one_purge_runs_in_a_queue_paused_or_not
            }
            reading {
                a_queue_is_found_by_name_and_by_id
                a_queue_s_id_says_when_it_was_made
                queues_are_listed_newest_first_in_pages_by_prefix
                a_key_is_stored_under_its_name_and_replaced_by_the_next
                the_system_counts_queues_and_streams_that_are_not_deleted
                a_read_sees_all_that_was_answered_before_it
                a_payload_is_shown_where_it_is_asked_for
                a_closed_engine_takes_no_work
            }
            rescheduling {
                a_scheduled_event_moves_to_its_new_time
                what_is_ready_is_put_off_and_keeps_its_place
                a_retry_is_moved_either_way
                an_event_s_bound_on_attempts_may_change
                what_is_held_or_over_is_not_moved
                an_event_of_several_queues_waits_for_all_alike
                what_waits_runs_now_and_what_is_ready_stays
                running_now_wakes_those_who_wait
                what_is_put_off_past_its_own_end_is_dead
            }
            retries {
                retries_are_spaced_by_the_queue_s_backoff
                the_jitter_is_drawn_anew_for_each_failure
                a_nack_s_own_delay_wins_and_none_is_ready_at_once
                a_retry_re_enters_at_its_new_time_behind_what_was_due_before
                a_retry_whose_time_has_come_is_shown_ready_before_it_is_recorded
                a_repeated_nack_is_still_answered_when_the_retry_is_due_again
                the_last_attempt_s_failure_is_a_dead_letter
                a_fatal_failure_is_a_dead_letter_at_once
                an_event_s_own_attempts_go_over_the_queue_s
                attempts_without_a_bound_never_end
            }
            scheduling {
                a_delayed_event_comes_at_its_time_and_not_before
                an_instant_ahead_is_waited_for_and_one_past_is_kept_as_given
                scheduled_events_come_in_due_order_and_equal_ones_as_published
                places_rise_and_are_given_when_an_event_becomes_due
                a_claim_and_tending_give_places_too
                a_retry_keeps_its_place
                a_far_future_is_a_long_wait_and_no_trouble
            }
            settling {
                an_ack_is_done_and_drops_the_payload
                a_repeated_ack_is_answered_as_the_first_and_says_so
                a_nack_after_an_ack_never_brings_the_event_back
                a_failure_retries_later_and_a_repeated_one_answers_the_first
                a_release_is_due_at_once_and_counts_no_attempt
                who_lost_the_event_is_told_so_whatever_became_of_it
                a_settle_of_one_event_touches_no_other
            }
            sizes {
                a_claim_takes_no_more_events_than_asked_for
                a_claim_stops_before_it_exceeds_its_bytes
                the_first_event_is_taken_whatever_its_size
                a_small_event_does_not_overtake_a_large_one
                large_payloads_come_back_whole
            }
            telling {
                a_trace_travels_with_its_event
                a_trace_is_the_first_publish_s
                a_redriven_event_keeps_its_trace
                what_a_holder_says_of_its_way_is_shown
                the_next_holder_begins_at_nothing
                a_result_is_remembered_as_long_as_the_outcome
                a_reset_begins_without_a_result
                a_reader_without_proof_leaves_no_result
                a_batch_of_results_fits_in_one_transaction
            }
            tokens {
                a_token_is_worth_nothing_for_another_event
                a_token_is_worth_nothing_in_another_queue
                a_token_of_a_queue_that_is_not_the_caller_s_is_worth_nothing
                a_string_that_is_no_token_is_lost_and_not_an_error_of_its_own
                what_was_never_held_has_no_holder
                an_event_is_known_by_all_128_bits_of_its_id
                the_engine_s_own_fence_proves_the_present_hold_only
                an_operator_may_settle_what_anybody_holds
                tokens_differ_from_hold_to_hold_and_are_never_shown
            }
        }
    };
}

/// One module of tests per theme. Only for [`conformance!`].
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($factory:ident; $($theme:ident { $($case:ident)+ })+) => {
        $(mod $theme {
            $(#[test]
            fn $case() {
                $crate::conformance::bench::run(super::$factory, $crate::conformance::$theme::$case);
            })+
        })+
    };
}
