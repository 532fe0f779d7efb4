//! Random scripts, played to a store and to the one in memory.
//!
//! Lives here: that both answer alike, step by step. Not here: what the answers should be (`cases`).

use naven_client::ledger::{Effect, Holder, Memory, OnDoubt, Store};

/// The same numbers at each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        // Steele and Vigna's SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % most
    }
}

/// Plays `scripts` of 40 steps: bearers of few fences, at two effects of one event each.
pub(crate) async fn play<S: Store>(store: &S, scripts: u64) {
    let model = Memory::new();
    let mut kinds = std::collections::BTreeSet::new();
    for script in 0..scripts {
        let mut dice = Dice(script);
        let event = format!("script-{script}");
        // Two calls of each lease, for two effects; two fences have two leases.
        let mut calls: Vec<Vec<[Effect; 2]>> = Vec::new();
        for fence in [7, 8, 8, 9, 10, 10] {
            let holder = Holder::new("q", &event, fence);
            let call = || ["x", "y"].map(|name| holder.effect(name).expect("a good name"));
            calls.push(vec![call(), call()]);
        }
        let mut told = Vec::new();
        for at in 0..40 {
            // Low fences early, high ones late, for the most part.
            let lease = (dice.below(4) + at / 13) as usize % calls.len();
            let (call, which) = (dice.below(2) as usize, dice.below(2) as usize);
            let effect = &calls[lease][call][which];
            let kind = dice.below(6);
            let expected = step(&model, effect, kind, at).await;
            let found = step(store, effect, kind, at).await;
            kinds.insert(found.split(['{', '(']).next().unwrap_or_default().trim().to_owned());
            told.push(format!(
                "lease {lease}.{call}, fence {}, {} {kind}: {found}",
                effect.fence(),
                effect.name()
            ));
            assert_eq!(found, expected, "script {script}:\n{}", told.join("\n"));
        }
    }
    // A script that never met one of them would prove nothing of it.
    let met: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let all = [
        "Abandoned Kept",
        "Abandoned Undone",
        "Begun Done",
        "Begun InDoubt",
        "Begun Now",
        "Begun Running",
        "Begun Stale",
        "Finished Recorded",
        "Finished Stale",
        "Finished Taken",
    ];
    assert_eq!(met, all);
}

async fn step<S: Store>(store: &S, effect: &Effect, kind: u64, at: u64) -> String {
    let begin = async |doubt| format!("Begun {:?}", store.begin(effect, doubt).await.expect("an answer"));
    match kind {
        0 | 1 => begin(OnDoubt::Leave).await,
        2 => begin(OnDoubt::RunAgain).await,
        3 => begin(OnDoubt::Denied).await,
        4 if at.is_multiple_of(3) => {
            let result = if at.is_multiple_of(2) { String::new() } else { format!("{at}") };
            format!("Finished {:?}", store.finish(effect, result.as_bytes()).await.expect("an answer"))
        }
        _ => format!("Abandoned {:?}", store.abandon(effect).await.expect("an answer")),
    }
}
