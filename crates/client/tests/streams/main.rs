//! The consumer runtime over streams, against real servers and by the real clock.
//!
//! Lives here: one suite, run over redis-server 7, Valkey 9 and our own Redis door. Not here: the rules of the runtime, which are
//! tested by a clock that tests move (`src/consumer/tests`).

mod bench;
mod cluster;
mod deaths;
mod delivery;
mod failover;
mod frozen;
mod groups;
mod retries;
mod servers;
mod sharing;
mod upkeep;
mod wire;
mod worker;

#[path = "../consumer/proxy.rs"]
mod proxy;

/// One test of each case, on one kind of server.
macro_rules! on_server {
    ($server:ident, $kind:ident, $($file:ident: $($case:ident),+;)+) => {
        mod $server {
            $(mod $file {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$file::$case(crate::servers::Server::start(crate::servers::Kind::$kind)).await;
                })+
            })+
        }
    };
}

/// Every case.
macro_rules! every_case {
    ($server:ident, $kind:ident) => {
        on_server! { $server, $kind,
            delivery:
                each_entry_is_worked_on_once_and_acked,
                what_was_there_before_the_group_is_read_too,
                an_ack_does_not_wait_behind_a_read_that_blocks,
                a_slow_handler_holds_nobody_up,
                a_consumer_that_is_told_to_stop_does_not_wait_for_its_read,
                what_has_not_ended_at_the_end_of_a_drain_is_given_back_without_an_attempt,
                an_entry_of_another_shape_is_a_dead_letter_and_the_raw_form_takes_it;
            retries:
                an_error_is_retried_and_its_attempts_and_fences_rise,
                a_delayed_retry_waits_through_a_restart_of_server_and_consumer,
                a_poison_entry_is_a_dead_letter_after_its_last_attempt,
                an_entry_that_ends_each_of_its_consumers_is_a_dead_letter,
                a_rejected_entry_is_a_dead_letter_at_once,
                an_entry_of_very_many_fields_is_a_dead_letter_too;
            sharing:
                a_handler_longer_than_its_lease_is_not_run_twice,
                what_is_taken_by_force_is_told_and_not_acked,
                two_consumers_of_one_name_never_both_believe_in_an_entry,
                entries_are_shared_and_each_is_done_once,
                entries_that_fail_for_ever_do_not_hide_those_behind;
            deaths:
                what_a_killed_consumer_had_is_taken_over_and_acked,
                what_a_killed_consumer_had_comes_first_under_its_own_name,
                a_server_that_is_killed_in_the_midst_of_work_loses_nothing,
                a_server_that_is_not_there_yet_is_waited_for,
                acks_survive_a_network_that_cuts_connections,
                a_connection_that_died_without_a_word_is_given_up;
            groups:
                a_group_that_is_gone_is_made_again,
                a_group_that_is_gone_ends_it_where_that_is_wanted,
                a_group_may_begin_with_what_is_new;
            upkeep:
                an_entry_that_was_deleted_while_it_was_pending_is_told_and_acked,
                an_entry_that_is_deleted_in_work_is_worked_on_to_its_end,
                a_consumer_leaves_only_where_it_has_nothing,
                only_what_all_groups_acked_is_trimmed;
        }
    };
}

/// What our own door has no part in: it has streams and no other keys, keeps dead letters itself, and its keys are tested by the
/// server.
macro_rules! every_case_of_others {
    ($server:ident, $kind:ident) => {
        on_server! { $server, $kind,
            groups:
                a_key_of_another_type_ends_it_with_an_error,
                a_password_that_is_refused_ends_it_with_an_error;
            retries:
                an_entry_that_cannot_be_made_a_dead_letter_stays_and_holds_nobody_up;
        }
    };
}

every_case_of_others!(redis_7_alone, Redis7);
every_case_of_others!(valkey_9_alone, Valkey9);
every_case!(redis_7, Redis7);
every_case!(valkey_9, Valkey9);
every_case!(naven, Naven);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_of_redis_7_is_followed() {
    failover::a_failover_is_followed(servers::Kind::Redis7).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_of_valkey_9_is_followed() {
    failover::a_failover_is_followed(servers::Kind::Valkey9).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_a_cluster_of_redis_7_is_found_and_followed() {
    cluster::a_stream_of_a_cluster_is_found_and_followed(servers::Kind::Redis7).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_a_cluster_of_valkey_9_is_found_and_followed() {
    cluster::a_stream_of_a_cluster_is_found_and_followed(servers::Kind::Valkey9).await;
}
