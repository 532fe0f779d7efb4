//! The memory engine: the suite, the model against itself, and proof that a difference is found.
//!
//! Lives here: what the model must show before others are held to it. Not here: other engines.

use std::sync::Arc;

use naven_core::View;
use naven_store::conformance::Fresh;
use naven_store::conformance::play::Scripts;
use naven_store::model::Model;
use naven_store::reply::{OpError, OpReply, TxnReply};
use naven_store::{
    BoxFuture, Budget, Caps, Changes, Clock, Durability, Engine, Health, Hints, Random, Tended, WaitSet,
    read, txn,
};
use tokio::sync::watch;

fn fresh_model(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    Fresh::new(Model::new(clock, random))
}

naven_store::conformance!(fresh_model);

#[test]
fn random_scripts_are_answered_alike_by_two_models() {
    Scripts::from_env(500).play(fresh_model, fresh_model);
}

#[test]
fn the_model_promises_no_more_than_it_keeps() {
    let clock = Arc::new(naven_store::conformance::ManualClock::default());
    let random = Arc::new(naven_store::conformance::SeededRandom::new(1));
    let model = Model::new(clock, random);
    assert_eq!((model.caps().name, model.caps().durability), ("memory", Durability::Memory));
    assert_eq!(*model.health().borrow(), Health::Well);
}

/// A model whose answers are bent on their way out.
struct Bent {
    model: Model,
    bend: Bend,
}

impl Engine for Bent {
    fn submit(&self, txns: Vec<txn::Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move {
            let mut replies = self.model.submit(txns).await;
            replies.iter_mut().flat_map(|reply| &mut reply.ops).for_each(self.bend);
            replies
        })
    }

    fn read(&self, read: read::Read) -> BoxFuture<'_, Result<read::Page, OpError>> {
        self.model.read(read)
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.model.hints(waits)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        self.model.tend(budget)
    }

    fn caps(&self) -> Caps {
        self.model.caps()
    }

    fn changes(&self) -> Changes {
        self.model.changes()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.model.health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.model.close()
    }
}

type Bend = fn(&mut Result<OpReply, OpError>);

/// Each is a fault that an engine could have, small enough to be missed.
const BENDS: [(&str, Bend); 6] = [
    ("a repeated ack is not said to be one", |answer| {
        if let Ok(OpReply::Settled(settled)) = answer {
            settled.replayed &= settled.state != View::Done;
        }
    }),
    ("an empty claim does not say when to come back", |answer| {
        if let Ok(OpReply::Claimed(claimed)) = answer {
            claimed.due_in = None;
        }
    }),
    ("a third attempt is counted as the second", |answer| {
        if let Ok(OpReply::Claimed(claimed)) = answer {
            claimed.leases.iter_mut().for_each(|grant| grant.attempts = grant.attempts.min(2));
        }
    }),
    ("a batch comes in another order", |answer| {
        if let Ok(OpReply::Claimed(claimed)) = answer {
            claimed.leases.sort_by_key(|grant| grant.event);
        }
    }),
    ("who lost its lease is told that it expired", |answer| {
        use naven_store::reply::Refused;
        if *answer == Err(Refused::Lost.into()) {
            *answer = Err(Refused::Expired.into());
        }
    }),
    ("a due time is a millisecond off", |answer| {
        if let Ok(OpReply::Settled(settled)) = answer {
            settled.next_at = settled.next_at.map(|at| at.plus_ms(1));
        }
    }),
];

#[test]
fn a_planted_fault_is_found_by_random_scripts_and_made_short() {
    for (name, bend) in BENDS {
        let bent = |clock, random| Fresh::new(Bent { model: Model::new(clock, random), bend });
        let found =
            Scripts { first_seed: 1, count: 500, both_doors: false }.first_difference(bent, fresh_model);
        let found = found.unwrap_or_else(|| panic!("not found: {name}"));
        assert!(found.lines.len() <= 12, "{name}: not short\n{found}");
        let text = found.to_string();
        assert!(text.contains(&format!("NAVEN_SCRIPT_SEED={}", found.seed)), "{text}");
    }
}

#[test]
fn every_case_of_the_suite_is_listed_in_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
    let suite = ["suite.rs", "suite_of_streams.rs"]
        .map(|part| std::fs::read_to_string(format!("{folder}/{part}")).unwrap())
        .concat();
    let mut cases = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            // Parts of one file, without cases.
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| line.ends_with("(bench: &Bench) {")) {
            let Some(name) = line.strip_prefix("pub fn ").and_then(|rest| rest.split('(').next()) else {
                continue;
            };
            assert!(suite.lines().any(|line| line.trim() == name), "{name} is run by no engine");
            cases += 1;
        }
    }
    assert!(cases > 100, "only {cases} cases were found");
}
