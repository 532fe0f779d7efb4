//! `naven import`.
//!
//! Lives here: what this verb is shown. Not here: its transcript (`tests/snapshots`), and what it copies
//! (`tests/import`).

use crate::scene::Scene;
use crate::support::{Ended, Redis};
use crate::verb::Verb;

/// A source with two streams, one with a group that has read.
fn source() -> Redis {
    let source = Redis::start(&[]);
    for command in [
        "XADD orders 1-0 order 7",
        "XADD orders 2-0 order 8",
        "XADD parcels 1-0 order 7",
        "XGROUP CREATE orders billing 0",
        "XREADGROUP GROUP billing worker-1 COUNT 1 STREAMS orders >",
    ] {
        source.done(command);
    }
    source
}

#[test]
fn streams_of_a_redis_are_copied() {
    let scene = Scene::start();
    let (source, target) = (source(), Redis::start(&[]));
    let mut import = Verb::new(&scene, "import");
    let mut run = |args: &[&str], variables: &[(&str, &str)]| {
        let (from, to) = (source.url(), target.url());
        let all = [&["import", &from, "--to", &to], args].concat();
        let ended = crate::support::run(&all, variables);
        let placed =
            |text: &str| text.replace(&source.place(), "<source>").replace(&target.place(), "<target>");
        let said = Ended { code: ended.code, stdout: placed(&ended.stdout), stderr: placed(&ended.stderr) };
        import.note(&placed(&format!("naven {}", all.join(" "))), &said);
    };
    run(&["--stream", "orders", "--dry-run", "--output", "table"], &[]);
    run(&["--stream", "orders", "--stream", "none*", "--output", "json"], &[]);
    source.done("XDEL orders 1-0");
    source.done("XREADGROUP GROUP billing worker-1 STREAMS orders >");
    target.done("XADD parcels 2-0 order 9");
    run(&["--output", "table"], &[]);
    target.done("DEL orders parcels");
    run(&["--output", "table"], &[]);
    run(&["--output", "jsonl"], &[]);
    target.done("XREADGROUP GROUP billing worker-2 STREAMS orders >");
    run(&["--stream", "letters"], &[]);
    run(&["--key", "wrong"], &[]);
    import.run(&["redis://127.0.0.1:9", "--to", "redis://127.0.0.1:8"]);
    import.run(&["http://127.0.0.1:9"]);
    import.check();
}
