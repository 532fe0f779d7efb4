//! What kind of world a seed makes.
//!
//! Lives here: how many take part, how bad the network is, and what befalls the server when. Not here: living it
//! (`world.rs`).

use naven_store::embedded::Pace;

use super::dice::Dice;

/// Everything that is decided before the first call.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) queues: usize,
    pub(super) workers: usize,
    pub(super) publishers: usize,
    pub(super) operators: usize,
    /// How many events each publisher publishes.
    pub(super) events: usize,
    pub(super) lease_seconds: u32,
    pub(super) grace_seconds: u32,
    pub(super) max_lease_seconds: u32,
    pub(super) max_attempts: Option<u32>,
    /// True where a published event is for all queues, false where each is for one alone.
    pub(super) is_shared: bool,
    pub(super) network: Network,
    /// Until then everything may go wrong.
    pub(super) trouble_ms: i64,
    /// What befalls the server, and when.
    pub(super) blows: Vec<(i64, Blow)>,
    pub(super) pace: Pace,
    /// A sync takes at most so long, but for a slow one now and then.
    pub(super) sync_ms: i64,
}

/// How bad the network is, each in percent of what is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    pub(super) lost: u32,
    pub(super) doubled: u32,
    /// Of the lost ones, those of which the server learns that the caller is gone.
    pub(super) noticed: u32,
    /// Longest way of a request or an answer, in ms.
    pub(super) way_ms: i64,
    /// After so long without an answer a caller gives up.
    pub(super) patience_ms: i64,
}

impl Network {
    /// Nothing is lost, nothing waits.
    pub(super) const PERFECT: Self = Self { lost: 0, doubled: 0, noticed: 0, way_ms: 2, patience_ms: 10_000 };
}

/// What befalls the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blow {
    /// The process is killed: what it wrote stays.
    Kill,
    /// The power fails: what was not synced may stay, or not, piece by piece.
    PowerCut,
    /// It is stopped as an operator stops it.
    Stop,
    /// The wall clock is so far ahead of the true time from now on.
    Clock { offset_ms: i64 },
    /// One of the next calls to the disk fails.
    DiskError,
    /// The disk is full.
    DiskFull,
    /// There is room again.
    DiskRoom,
    /// The next syncs take this long.
    SlowSync { ms: i64 },
}

impl Plan {
    pub(super) fn of(dice: &Dice) -> Self {
        let trouble_ms = dice.between(5_000..=40_000);
        Self {
            queues: dice.count(1..=3),
            workers: dice.count(2..=6),
            publishers: dice.count(1..=3),
            operators: dice.count(0..=1),
            events: dice.count(2..=10),
            lease_seconds: dice.one_of(&[1, 1, 2, 5]),
            grace_seconds: dice.one_of(&[0, 0, 0, 2]),
            max_lease_seconds: dice.one_of(&[0, 0, 0, 8]),
            max_attempts: dice.one_of(&[None, Some(1), Some(2), Some(3), Some(5)]),
            is_shared: dice.percent(50),
            network: Network {
                lost: dice.one_of(&[0, 2, 10, 25]),
                doubled: dice.one_of(&[0, 0, 3, 10]),
                noticed: dice.one_of(&[0, 50, 100]),
                way_ms: dice.one_of(&[2, 20, 200, 1_500]),
                patience_ms: dice.one_of(&[200, 1_000, 4_000]),
            },
            trouble_ms,
            blows: blows(dice, trouble_ms),
            pace: match dice.count(0..=3) {
                0 => Pace::NEVER,
                1 => Pace { rows: 1, bytes: 1 << 20, age_ms: 1 },
                2 => Pace { rows: 20, bytes: 4 << 10, age_ms: 400 },
                _ => Pace::of_segments(64 << 10),
            },
            sync_ms: dice.one_of(&[1, 5, 30]),
        }
    }
}

fn blows(dice: &Dice, trouble_ms: i64) -> Vec<(i64, Blow)> {
    let mut blows = Vec::new();
    for _ in 0..dice.count(0..=5) {
        let at_ms = dice.between(0..=trouble_ms);
        match dice.count(0..=9) {
            0..=1 => blows.push((at_ms, Blow::Kill)),
            2..=3 => blows.push((at_ms, Blow::PowerCut)),
            4 => blows.push((at_ms, Blow::Stop)),
            5 => {
                let offset_ms = dice.one_of(&[-7_200_000, -5_000, -400, 300, 4_000, 3_600_000]);
                blows.push((at_ms, Blow::Clock { offset_ms }));
            }
            6..=7 => blows.push((at_ms, Blow::DiskError)),
            8 => {
                blows.push((at_ms, Blow::DiskFull));
                blows.push((at_ms + dice.between(100..=8_000), Blow::DiskRoom));
            }
            _ => blows.push((at_ms, Blow::SlowSync { ms: dice.between(200..=3_000) })),
        }
    }
    blows.sort_by_key(|(at_ms, _)| *at_ms);
    blows
}
