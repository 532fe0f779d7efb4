//! Groups that are not there.
//!
//! Lives here: what is done then. Not here: entries that are not there (`upkeep.rs`).

use naven_client::streams::{ConsumerError, MissingGroup};
use redis::Value;

use crate::bench::{Seen, consumer, run};
use crate::servers::Server;
use crate::wire::{GROUP, STREAM};

pub(crate) async fn a_group_that_is_gone_is_made_again(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    let running = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    wire.ask::<Value>(&["FLUSHALL"]);
    wire.add(2);
    seen.until_runs(2).await;
    wire.until_pending(0).await;
    wire.ask::<Value>(&["XGROUP", "DESTROY", STREAM, GROUP]);
    wire.add(3);
    // From the start: what the stream still holds comes again.
    seen.until_runs(4).await;
    wire.until_pending(0).await;
    running.stop().await;
    assert_eq!(seen.numbers(), [1, 2, 2, 3]);
}

pub(crate) async fn a_group_that_is_gone_ends_it_where_that_is_wanted(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.make_group();
    let strict = consumer(server.at(), "w1", &seen).missing_group(MissingGroup::End);
    let running = run(strict, &seen, |_, _| async {});
    wire.add(1);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    wire.ask::<Value>(&["XGROUP", "DESTROY", STREAM, GROUP]);
    let ended = running.ends().await;
    let Err(ConsumerError::Refused { stream, group, source }) = ended else { panic!("{ended:?}") };
    assert_eq!((stream.as_str(), group.as_str()), (STREAM, GROUP));
    assert!(source.to_string().contains("group"), "{source}");
}

pub(crate) async fn a_group_may_begin_with_what_is_new(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.add(1);
    let late = consumer(server.at(), "w1", &seen).missing_group(MissingGroup::FromNew);
    let running = run(late, &seen, |_, _| async {});
    wire.until(|wire| wire.try_ask::<Value>(&["XPENDING", STREAM, GROUP]).is_ok()).await;
    wire.add(2);
    seen.until_runs(1).await;
    wire.until_pending(0).await;
    running.stop().await;
    assert_eq!(seen.numbers(), [2]);
}

pub(crate) async fn a_key_of_another_type_ends_it_with_an_error(server: Server) {
    let (seen, mut wire) = (Seen::default(), server.wire());
    wire.ask::<Value>(&["SET", STREAM, "a text"]);
    let ended = run(consumer(server.at(), "w1", &seen), &seen, |_, _| async {}).ends().await;
    let Err(ConsumerError::Refused { source, .. }) = ended else { panic!("{ended:?}") };
    assert!(source.to_string().contains("WRONGTYPE"), "{source}");
}

pub(crate) async fn a_password_that_is_refused_ends_it_with_an_error(server: Server) {
    let seen = Seen::default();
    server.wire().ask::<Value>(&["CONFIG", "SET", "requirepass", "a secret"]);
    let url = server.url().replace("//", "//:not-it@");
    let wrong = naven_client::streams::Server::new(&url).expect("a URL");
    for at in [server.at(), wrong] {
        let ended = run(consumer(at, "w1", &seen), &seen, |_, _| async {}).ends().await;
        let Err(ConsumerError::Refused { source, .. }) = ended else { panic!("{ended:?}") };
        let shown = format!("{source:?}");
        assert!(!shown.contains("not-it"), "{shown}");
    }
}
