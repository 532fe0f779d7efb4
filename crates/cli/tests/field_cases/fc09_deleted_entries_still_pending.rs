//! FC-09: entries that were deleted while they were pending.
//!
//! Lives here: what XAUTOCLAIM answers then, byte for byte as redis-server 7 does. Not here: every other command about
//! such entries (`naven-server`).

use serde_json::json;

use crate::scene::Scene;
use crate::support::Resp;

/// What redis-server 7.0 answered to the same commands.
const CLAIMED: &str = "*3\r\n$3\r\n0-0\r\n*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nn\r\n$1\r\n1\r\n\
    *2\r\n$3\r\n3-0\r\n*2\r\n$1\r\nn\r\n$1\r\n3\r\n*1\r\n$3\r\n2-0\r\n";
const CLAIMED_IDS: &str = "*3\r\n$3\r\n0-0\r\n*2\r\n$3\r\n1-0\r\n$3\r\n3-0\r\n*1\r\n$3\r\n2-0\r\n";
const PENDING: &str = "*4\r\n:2\r\n$3\r\n1-0\r\n$3\r\n3-0\r\n*1\r\n*2\r\n$2\r\nc2\r\n$1\r\n2\r\n";

#[test]
fn fc09_an_entry_deleted_while_pending_is_named_and_never_a_null() {
    let scene = Scene::with_queue(json!({}));
    let mut redis = scene.redis();
    for (stream, more, expected) in [("full", "", CLAIMED), ("ids", " JUSTID", CLAIMED_IDS)] {
        with_a_deleted_one_pending(&mut redis, stream);
        let claimed = redis.bytes(&format!("XAUTOCLAIM {stream} g c2 0 0 COUNT 10{more}"));
        assert_eq!(claimed, expected, "{stream}");
        assert_eq!(redis.bytes(&format!("XPENDING {stream} g")), PENDING, "{stream}");
    }
    scene.assert_same_process();
}

/// Three entries, which `c1` has; the second is deleted.
fn with_a_deleted_one_pending(redis: &mut Resp, stream: &str) {
    for n in 1..=3 {
        redis.done(&format!("XADD {stream} {n}-0 n {n}"));
    }
    redis.done(&format!("XGROUP CREATE {stream} g 0"));
    redis.done(&format!("XREADGROUP GROUP g c1 COUNT 3 STREAMS {stream} >"));
    assert_eq!(redis.done(&format!("XDEL {stream} 2-0")).number(), 1);
}
