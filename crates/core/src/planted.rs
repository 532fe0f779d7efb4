//! Bugs that are built in on purpose, to see whether the tests find them.
//!
//! Lives here: their names, and which one is on. Not here: what each does, which is said at its place,
//! and which test finds it (`torture/planted.md`).
//!
//! They exist under `--cfg planted` alone, which `ci/planted.sh` sets and no feature does. Without it
//! [`has`] is a constant, so that nothing of them is left in a build that is optimised, and none can be
//! turned on in any other.

macro_rules! bugs {
    ($($bug:ident $name:literal $what:literal,)*) => {
        /// A bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        impl Bug {
            /// Every bug.
            pub const ALL: [Self; 30] = [$(Self::$bug),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$bug => $name,)*
                }
            }
        }
    };
}

bugs! {
    NoSync "no_sync" "A batch counts as synced once it is written.",
    SyncErrorIgnored "sync_error_ignored" "A sync that failed counts as done.",
    TornTailAccepted "torn_tail_accepted" "A last batch whose checksum is wrong is applied.",
    TailCutEarly "tail_cut_early" "The last whole batch before a torn one is cut too.",
    SegmentFreedEarly "segment_freed_early" "A segment goes back before its checkpoint is on disk.",
    CheckpointBeforeLog "checkpoint_before_log" "A window is written before the log has all of it.",
    WindowRowDropped "window_row_dropped" "What was removed while its window was written comes back.",
    FloorNotLowered "floor_not_lowered" "A row at the empty front of a table is not seen.",
    ReplayReadsClock "replay_reads_clock" "A replayed failure reads the clock.",
    UndurableRead "undurable_read" "A read waits for no sync.",
    UndoForgetsIndex "undo_forgets_index" "What is undone leaves a row of an index.",
    TokenWithoutQueue "token_without_queue" "A token is not bound to its queue.",
    TokenUnchecked "token_unchecked" "The last byte of a token's seal is not compared.",
    RoundNotCompared "round_not_compared" "A settle call compares the fence alone.",
    ExpiryOffByOne "expiry_off_by_one" "A lease is live in the millisecond of its end.",
    ExpiredAckTaken "expired_ack_taken" "An ack after the end counts while nobody claimed again.",
    HeartbeatShortens "heartbeat_shortens" "A heartbeat counts from the claim.",
    ReplayedAckCounts "replayed_ack_counts" "A repeated ack counts again.",
    NackAfterAck "nack_after_ack" "A nack by the token that acked is taken.",
    GiveBackCounts "give_back_counts" "An undone claim keeps its attempt.",
    AttemptsOneMore "attempts_one_more" "One attempt more than the most.",
    FenceNotKept "fence_not_kept" "Replayed claims raise no queue's highest fence.",
    DuePlacedLate "due_placed_late" "What is due is placed behind what is appended.",
    RetryLosesPlace "retry_loses_place" "A retry waits behind all that nobody had yet.",
    LostWakeUp "lost_wake_up" "A hint that comes while a waiter looks is dropped.",
    GoneWaiterServed "gone_waiter_served" "A waiter that is gone still takes an event.",
    TombstoneEarly "tombstone_early" "Outcomes are forgotten at once.",
    TrimTakesLeased "trim_takes_leased" "A trim drops the content of what is leased.",
    CursorGoesBack "cursor_goes_back" "Replayed claims do not move `last-delivered-id`.",
    RepliesSwapped "replies_swapped" "A reply that is ready overtakes one that is waited for.",
}

/// The variable that names the one bug that is on.
#[cfg(planted)]
const CHOSEN: &str = "NAVEN_PLANTED";

/// True where this bug is on: never, without `--cfg planted`.
#[cfg(not(planted))]
#[inline]
pub const fn has(_: Bug) -> bool {
    false
}

/// True where this bug is on.
///
/// # Panics
/// Where the variable names none.
#[cfg(planted)]
pub fn has(bug: Bug) -> bool {
    static ON: std::sync::OnceLock<Option<Bug>> = std::sync::OnceLock::new();
    *ON.get_or_init(chosen) == Some(bug)
}

#[cfg(planted)]
#[allow(clippy::disallowed_methods, reason = "no build for users has this")]
fn chosen() -> Option<Bug> {
    let name = std::env::var(CHOSEN).ok().filter(|name| !name.is_empty())?;
    let bug = Bug::ALL.into_iter().find(|bug| bug.name() == name);
    Some(bug.unwrap_or_else(|| panic!("{CHOSEN}: there is no planted bug '{name}'")))
}

/// What the clock says, in ms: for the bug that reads it where nothing may.
#[cfg(not(planted))]
#[inline]
pub const fn wall_ms() -> i64 {
    0
}

/// What the clock says, in ms: for the bug that reads it where nothing may.
#[cfg(planted)]
#[allow(clippy::disallowed_methods, reason = "no build for users has this")]
pub fn wall_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
