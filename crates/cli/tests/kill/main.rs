//! `kill -9` under load, again and again, on one data folder: nothing that was answered is undone.
//!
//! Ten clients on connections of their own publish, claim, heartbeat, ack and nack; at a random
//! moment the process is killed. After each start every event that is not over is held against what
//! clients saw of it in all cycles, answered or not, and every promise is called in. At the end all
//! queues are emptied, and each event has to have come out.
//!
//! The same for the Redis door, with consumer groups: every entry that was added is there, no group goes
//! back, what was delivered and not acked is pending with its owner, and what is pending beyond that went
//! to reads that were under way at a kill.
//!
//! What this does not prove: that answered work is on the disk. The pages that a killed process has
//! written stay with the system, so a missing `fdatasync` goes unnoticed here; the crash images of
//! `naven-store` are there for that.
//!
//! `NAVEN_KILL_CYCLES` changes the 150 cycles. `NAVEN_KILL_SEED` repeats the choices of a run: who
//! asks what and when the process is killed; threads and disks still race as they like.

mod audit;
mod chance;
mod client;
mod clock;
mod connection;
mod cut_short;
mod drain;
mod facts;
mod history;
mod judge;
mod load;
mod operations;
mod plan;
mod possible;
mod redis_audit;
mod redis_books;
mod redis_load;
mod redis_run;
mod redis_wire;
mod run;
#[path = "../support/mod.rs"]
mod support;

use plan::Plan;
use redis_run::RedisRun;
use run::Run;

#[test]
fn nothing_answered_is_undone_when_the_process_is_killed_under_load() {
    let plan = Plan::read();
    println!("NAVEN_KILL_SEED={} NAVEN_KILL_CYCLES={}", plan.seed, plan.cycles);
    let mut run = Run::start(plan);
    for cycle in 0..plan.cycles {
        run.cycle(cycle);
    }
    run.end();
    println!("{run}");
    let least = plan.cycles * 2 / 3;
    assert!(run.cycles_cut_off() >= least, "{run}\nat least {least} cycles need calls in flight at the kill");
}

#[test]
fn nothing_answered_over_redis_is_undone_when_the_process_is_killed() {
    let plan = Plan::read();
    println!("NAVEN_KILL_SEED={} NAVEN_KILL_CYCLES={}", plan.seed, plan.cycles);
    let mut run = RedisRun::start(plan);
    for cycle in 0..plan.cycles {
        run.cycle(cycle);
    }
    run.end();
    println!("{run}");
    let least = plan.cycles * 2 / 3;
    assert!(run.cycles_cut_off() >= least, "{run}\nat least {least} cycles need calls under way at the kill");
}
