//! The list of the cases of streams and their readers, as the Redis door has them.
//!
//! Lives here: a part of [`conformance!`](crate::conformance!). Not here: all others (`suite.rs`), the cases (one
//! file per theme).

/// Makes a test of each of these cases. Only for [`conformance!`](crate::conformance!).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_of_streams {
    ($factory:ident) => {
        $crate::conformance_cases! { $factory;
            entries {
                an_entry_gets_the_place_that_it_is_wished
                a_last_place_is_moved_on_and_a_stream_shown_in_detail
                a_place_that_is_taken_is_refused_and_makes_nothing
                there_is_no_place_behind_the_last_one
                places_go_on_behind_an_explicit_one_ahead_of_the_clock
                a_stream_is_made_only_where_its_publisher_wants_that
                a_producer_s_second_entry_is_the_first_one_again
                an_entry_may_be_trimmed_by_its_own_publish
            }
            facts {
                a_stream_s_last_place_may_be_set
                a_queue_is_ahead_of_a_stream_that_was_set_back
                a_renamed_stream_takes_its_groups_along
                a_stream_that_is_written_over_is_deleted
                a_transaction_is_refused_where_a_stream_that_it_watches_changed
                a_page_of_entries_is_bounded_in_bytes
            }
            references {
                a_deletion_keeps_what_is_held_and_takes_its_content
                a_deletion_may_drop_what_is_held_everywhere
                a_deletion_may_leave_what_is_not_finished_everywhere
                an_ack_may_take_the_entry_out_of_its_stream
                what_is_held_of_a_deleted_entry_is_handed_out_to_nobody
                a_reset_hands_out_no_entry_that_is_deleted
                what_http_has_of_an_entry_outlives_its_deletion
                an_entry_that_is_published_alone_is_held_with_its_content
            }
            readers {
                new_entries_come_once_in_the_order_of_places
                one_queue_that_is_missing_leaves_all_unread
                a_read_without_ack_leaves_nothing_pending
                a_read_keeps_to_its_bytes_and_a_pause_holds_it_up
                a_consumer_reads_again_what_it_holds
                acks_are_answered_one_by_one
                what_is_given_up_waits_fails_or_dies
                named_entries_go_over_when_they_were_idle
                a_live_lease_is_passed_over_and_an_unowned_entry_taken
                force_makes_pending_what_nobody_has
                what_force_made_pending_comes_to_readers_again
                what_force_made_pending_once_more_is_done_by_its_ack
                a_read_without_ack_leaves_what_is_pending_where_it_is
                a_transfer_may_send_the_queue_forwards_only
                a_scan_goes_on_where_it_ended
                a_scan_looks_at_ten_times_what_it_takes
                idle_entries_come_before_new_ones
                a_held_entry_that_left_the_stream_has_no_content_whoever_else_keeps_it
                what_is_pending_is_listed_by_whose_it_is
            }
            hold_ends {
                past_its_end_a_claim_takes_what_a_consumer_held
                until_a_claim_comes_a_consumer_has_it_past_its_end
                whatever_hands_it_to_a_consumer_renews_the_end
                a_hold_keeps_its_end_until_it_is_renewed
                what_cannot_be_claimed_past_its_end_is_given_up
                past_its_end_it_is_due_since_then
                what_a_claim_has_no_room_for_stays_with_its_consumer
                a_hold_without_content_ends_with_nothing
                a_hold_that_ends_wakes_who_waits_to_claim
            }
            groups {
                a_group_begins_behind_any_place
                a_group_s_name_is_taken_by_whatever_its_readers_would_find
                a_group_needs_its_stream_or_makes_it
                sent_back_a_group_hands_out_again_what_is_over_and_keeps_what_is_pending
                sent_forward_a_group_passes_what_it_has_not_read
                what_readers_made_of_a_deleted_stream_is_not_a_later_one_s
                a_consumer_is_made_once
                what_a_deleted_consumer_held_ahead_is_handed_out_again
                consumers_are_listed_with_who_else_has_something_pending
                readers_are_told_how_many_entries_were_read
            }
        }
    };
}
