//! redis-rs as its users have it, with its own typed stream API, against the Redis door and a real Redis.
//!
//! Lives here: one short run, the same on both servers and in both protocols. Not here: other clients
//! (`ci/redis.sh`), and answers byte for byte (`naven-server`).

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "these are all tests"
)]

mod support;

use std::time::{Duration, Instant};

use redis::streams::{
    StreamAutoClaimOptions, StreamAutoClaimReply, StreamClaimOptions, StreamClaimReply, StreamId,
    StreamInfoConsumersReply, StreamInfoGroupsReply, StreamInfoStreamReply, StreamMaxlen,
    StreamPendingCountReply, StreamPendingReply, StreamRangeReply, StreamReadOptions, StreamReadReply,
};
use redis::{AsyncTypedCommands, Client, Commands, Connection, ErrorKind, RedisResult, ServerErrorKind};

use self::support::{Naven, Redis, Start, key};

const STREAM: &str = "factory:orders";
const GROUP: &str = "workers";

/// A client of ours, and one of a real Redis, for each protocol. The servers end with what is held here.
fn clients() -> (Naven, Redis, Vec<(String, Client)>) {
    let (naven, redis) = (Start::serve().ready(), Redis::start(&[]));
    let mut clients = Vec::new();
    for protocol in ["resp2", "resp3"] {
        for (name, url) in [("ours", format!("redis://:{}@{}", key(), naven.redis())), ("redis", redis.url())]
        {
            let client = Client::open(format!("{url}/?protocol={protocol}")).expect("it is an address");
            clients.push((format!("{name} over {protocol}"), client));
        }
    }
    (naven, redis, clients)
}

fn ids(entries: &[StreamId]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn a_consumer_of_redis_rs_works_alike_on_both_servers() {
    let (_naven, _redis, clients) = clients();
    for (name, client) in clients {
        println!("{name}");
        let mut connection = client.get_connection().expect("it lets the client in");
        publish(&mut connection).expect(&name);
        read(&mut connection).expect(&name);
        take_over(&mut connection).expect(&name);
        look(&mut connection).expect(&name);
        tidy_up(&mut connection).expect(&name);
        refuse(&mut connection);
    }
}

/// Five entries, two of them in one transaction, and a group that is there but once.
fn publish(connection: &mut Connection) -> RedisResult<()> {
    let first: String = connection.xadd(STREAM, "1-1", &[("kind", "paid"), ("order", "1")])?;
    assert_eq!(first, "1-1");
    let second: String = connection.xadd(STREAM, "2-*", &[("order", "2")])?;
    assert_eq!(second, "2-0");
    let mut atomic = redis::pipe();
    atomic.atomic();
    atomic.xadd(STREAM, "3-1", &[("order", "3")]).xadd(STREAM, "4-1", &[("order", "4")]).xlen(STREAM);
    let done: (String, String, u64) = atomic.query(connection)?;
    assert_eq!(done, ("3-1".to_owned(), "4-1".to_owned(), 4));
    let fifth: String = connection.xadd_maxlen(STREAM, StreamMaxlen::Equals(10), "5-1", &[("order", "5")])?;
    assert_eq!(fifth, "5-1");
    connection.xgroup_create_mkstream::<_, _, _, ()>(STREAM, GROUP, "0")?;
    let again: RedisResult<()> = connection.xgroup_create(STREAM, GROUP, "0");
    assert_eq!(again.unwrap_err().code(), Some("BUSYGROUP"));
    connection.xgroup_create_mkstream::<_, _, _, ()>("made", GROUP, "$")?;
    assert_eq!(connection.xlen::<_, u64>("made")?, 0);
    connection.del::<_, u64>("made").map(|deleted| assert_eq!(deleted, 1))
}

/// One consumer reads three entries and finishes one, and then there is nothing new for it within a while.
fn read(connection: &mut Connection) -> RedisResult<()> {
    let options = StreamReadOptions::default().group(GROUP, "alice").count(3).block(2_000);
    let reply: StreamReadReply = connection.xread_options(&[STREAM], &[">"], &options)?;
    assert_eq!((reply.keys.len(), reply.keys[0].key.as_str()), (1, STREAM));
    let entries = &reply.keys[0].ids;
    assert_eq!(ids(entries), ["1-1", "2-0", "3-1"]);
    assert_eq!(entries[0].get::<String>("kind").as_deref(), Some("paid"));
    assert_eq!((entries[0].get::<u64>("order"), entries[0].len()), (Some(1), 2));
    assert_eq!(connection.xack::<_, _, _, u64>(STREAM, GROUP, &["1-1", "9-9"])?, 1);
    let own: StreamReadReply = connection.xread_options(&[STREAM], &["0"], &options)?;
    assert_eq!(ids(&own.keys[0].ids), ["2-0", "3-1"]);
    let rest = StreamReadOptions::default().group(GROUP, "bob").noack();
    let reply: StreamReadReply = connection.xread_options(&[STREAM], &[">"], &rest)?;
    assert_eq!(ids(&reply.keys[0].ids), ["4-1", "5-1"]);
    let began = Instant::now();
    let waits = StreamReadOptions::default().group(GROUP, "alice").count(1).block(80);
    let nothing: Option<StreamReadReply> = connection.xread_options(&[STREAM], &[">"], &waits)?;
    assert!(nothing.is_none_or(|reply| reply.keys.is_empty()));
    assert!(began.elapsed() >= Duration::from_millis(80), "it waited for so long");
    let anybody = StreamReadOptions::default().count(2);
    let reply: StreamReadReply = connection.xread_options(&[STREAM], &["3-1"], &anybody)?;
    assert_eq!(ids(&reply.keys[0].ids), ["4-1", "5-1"]);
    Ok(())
}

/// Another consumer takes over what the first one still has.
fn take_over(connection: &mut Connection) -> RedisResult<()> {
    let StreamPendingReply::Data(pending) = connection.xpending(STREAM, GROUP)? else { panic!("some are") };
    assert_eq!((pending.count, pending.start_id.as_str(), pending.end_id.as_str()), (2, "2-0", "3-1"));
    assert_eq!((pending.consumers[0].name.as_str(), pending.consumers[0].pending), ("alice", 2));
    let just_ids = StreamAutoClaimOptions::default().count(1).with_justid();
    let claimed: StreamAutoClaimReply =
        connection.xautoclaim_options(STREAM, GROUP, "carol", 0, "0-0", just_ids)?;
    assert_eq!((claimed.next_stream_id.as_str(), ids(&claimed.claimed)), ("3-1", vec!["2-0"]));
    let whole = StreamAutoClaimOptions::default().count(10);
    let claimed: StreamAutoClaimReply =
        connection.xautoclaim_options(STREAM, GROUP, "carol", 0, &claimed.next_stream_id, whole)?;
    assert_eq!((claimed.next_stream_id.as_str(), claimed.claimed[0].get::<u64>("order")), ("0-0", Some(3)));
    assert!(claimed.deleted_ids.is_empty());
    let claimed: StreamClaimReply = connection.xclaim(STREAM, GROUP, "dave", 0, &["2-0"])?;
    assert_eq!((ids(&claimed.ids), claimed.ids[0].get::<u64>("order")), (vec!["2-0"], Some(2)));
    let options = StreamClaimOptions::default().idle(60_000).retry(7).with_force().with_justid();
    let forced: Vec<String> = connection.xclaim_options(STREAM, GROUP, "dave", 0, &["4-1"], options)?;
    assert_eq!(forced, ["4-1"]);
    let rows: StreamPendingCountReply = connection.xpending_count(STREAM, GROUP, "-", "+", 10)?;
    let told: Vec<_> =
        rows.ids.iter().map(|row| (row.id.as_str(), row.consumer.as_str(), row.times_delivered)).collect();
    assert_eq!(told, [("2-0", "dave", 3), ("3-1", "carol", 3), ("4-1", "dave", 7)]);
    assert!(rows.ids[2].last_delivered_ms >= 60_000);
    let of_dave: StreamPendingCountReply =
        connection.xpending_consumer_count(STREAM, GROUP, "-", "+", 10, "dave")?;
    assert_eq!(of_dave.ids.len(), 2);
    Ok(())
}

/// What XINFO and ranges say.
fn look(connection: &mut Connection) -> RedisResult<()> {
    let stream: StreamInfoStreamReply = connection.xinfo_stream(STREAM)?;
    assert_eq!((stream.length, stream.groups, stream.last_generated_id.as_str()), (5, 1, "5-1"));
    assert_eq!((stream.first_entry.id.as_str(), stream.last_entry.get::<u64>("order")), ("1-1", Some(5)));
    let groups: StreamInfoGroupsReply = connection.xinfo_groups(STREAM)?;
    let group = &groups.groups[0];
    assert_eq!((group.name.as_str(), group.consumers, group.pending), (GROUP, 4, 3));
    assert_eq!((group.last_delivered_id.as_str(), group.entries_read, group.lag), ("5-1", Some(5), Some(0)));
    let consumers: StreamInfoConsumersReply = connection.xinfo_consumers(STREAM, GROUP)?;
    let told: Vec<_> = consumers.consumers.iter().map(|one| (one.name.as_str(), one.pending)).collect();
    assert_eq!(told, [("alice", 0), ("bob", 0), ("carol", 1), ("dave", 2)]);
    let range: StreamRangeReply = connection.xrange_count(STREAM, "(1-1", "+", 2)?;
    assert_eq!(ids(&range.ids), ["2-0", "3-1"]);
    let back: StreamRangeReply = connection.xrevrange(STREAM, "4", "2")?;
    assert_eq!(ids(&back.ids), ["4-1", "3-1", "2-0"]);
    Ok(())
}

/// Consumers, entries, groups and the stream go, and each answer counts what went.
fn tidy_up(connection: &mut Connection) -> RedisResult<()> {
    assert_eq!(connection.xgroup_delconsumer::<_, _, _, u64>(STREAM, GROUP, "carol")?, 1);
    connection.xgroup_setid::<_, _, _, ()>(STREAM, GROUP, "4-1")?;
    let options = StreamReadOptions::default().group(GROUP, "alice");
    let reply: StreamReadReply = connection.xread_options(&[STREAM], &[">"], &options)?;
    assert_eq!(ids(&reply.keys[0].ids), ["5-1"]);
    assert_eq!(connection.xdel::<_, _, u64>(STREAM, &["2-0", "9-9"])?, 1);
    assert_eq!(connection.xtrim::<_, u64>(STREAM, StreamMaxlen::Equals(2))?, 2);
    let left: StreamRangeReply = connection.xrange_all(STREAM)?;
    assert_eq!(ids(&left.ids), ["4-1", "5-1"]);
    // An entry that is gone comes to nobody any more.
    let all = StreamAutoClaimOptions::default().count(10);
    let claimed: StreamAutoClaimReply =
        connection.xautoclaim_options(STREAM, GROUP, "erin", 0, "0-0", all)?;
    assert_eq!((ids(&claimed.claimed), claimed.deleted_ids), (vec!["4-1", "5-1"], vec!["2-0".to_owned()]));
    assert!(connection.xgroup_destroy::<_, _, bool>(STREAM, GROUP)?);
    assert!(!connection.xgroup_destroy::<_, _, bool>(STREAM, GROUP)?);
    connection.del::<_, u64>(STREAM).map(|deleted| assert_eq!(deleted, 1))
}

/// What is refused has the code that callers look for.
fn refuse(connection: &mut Connection) {
    let options = StreamReadOptions::default().group(GROUP, "alice").count(1);
    let missing: RedisResult<StreamReadReply> = connection.xread_options(&[STREAM], &[">"], &options);
    assert_eq!(missing.unwrap_err().code(), Some("NOGROUP"));
    let gone: RedisResult<StreamInfoStreamReply> = connection.xinfo_stream(STREAM);
    let gone = gone.unwrap_err();
    assert_eq!(
        (gone.kind(), gone.detail()),
        (ErrorKind::Server(ServerErrorKind::ResponseError), Some("no such key"))
    );
}

#[test]
fn a_blocked_read_of_its_async_client_gets_what_another_adds() {
    let (_naven, _redis, clients) = clients();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for (name, client) in clients {
        println!("{name}");
        let read = runtime.block_on(async {
            let mut waits = client.get_multiplexed_async_connection().await?;
            let mut adds = client.get_multiplexed_async_connection().await?;
            AsyncTypedCommands::xgroup_create_mkstream(&mut waits, "s", "g", "$").await?;
            let reading = tokio::spawn(async move {
                let options = StreamReadOptions::default().group("g", "c").count(1).block(30_000);
                AsyncTypedCommands::xread_options(&mut waits, &["s"], &[">"], &options).await
            });
            AsyncTypedCommands::xadd(&mut adds, "s", "7-7", &[("f", "v")]).await?;
            let reply = reading.await.expect("the reader does not panic")?;
            AsyncTypedCommands::del(&mut adds, "s").await?;
            RedisResult::Ok(reply)
        });
        let reply = read.expect(&name).expect("it came");
        assert_eq!(ids(&reply.keys[0].ids), ["7-7"], "{name}");
    }
}
