//! What clients do wrong, and what breaks between them and the server.
//!
//! Lives here: requests that are cut, answers that nobody reads or that are read slowly, and bytes that are no requests.
//! Not here: when that happens (`worker.rs`, `publisher.rs`, `reader.rs`).

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::http::{Heard, Http, Open, bytes_of};
use super::scene::{Scene, pause};
use crate::simulation::Dice;

/// How long a slow reader takes for a piece, in ms, how large that is, and after how many it goes away.
const SLOW_MS: i64 = 25;
const SLOW_BYTES: usize = 512;
const SLOW_PIECES: usize = 160;

/// Sends a part of a request and goes away: the server may do nothing with it.
pub(super) async fn cut(scene: &Arc<Scene>, bytes: &[u8], dice: &Dice) {
    scene.ledger.note_fault("request cut");
    let Some(mut open) = Open::new(scene).await else { return };
    let upto = dice.count(1..=bytes.len() - 1);
    // A server that is gone meanwhile is as good.
    drop(open.stream.get_mut().write_all(&bytes[..upto]).await);
    pause(dice.between(0..=50)).await;
}

/// Sends a request and goes away before its answer. False where it was surely not sent.
pub(super) async fn unread(scene: &Arc<Scene>, bytes: &[u8], dice: &Dice) -> bool {
    scene.ledger.note_fault("answer lost");
    let Some(mut open) = Open::new(scene).await else { return false };
    drop(open.stream.get_mut().write_all(bytes).await);
    pause(dice.one_of(&[0, 0, 1, 3, 20])).await;
    true
}

/// Asks for a large answer and reads it a piece at a time.
pub(super) async fn slowly(scene: &Arc<Scene>, queue: &str) {
    scene.ledger.note_fault("slow reader");
    let Some(mut open) = Open::new(scene).await else { return };
    let path = format!("/v1/event-queues/{queue}/events?limit=500&includePayload=true");
    drop(open.stream.get_mut().write_all(&bytes_of(&scene.key, "GET", &path, "", None)).await);
    let mut piece = [0; SLOW_BYTES];
    for _ in 0..SLOW_PIECES {
        let read = tokio::time::timeout(Duration::from_secs(5), open.stream.get_mut().read(&mut piece)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return;
        }
        pause(SLOW_MS).await;
    }
}

/// Calls that have to be refused so, whatever else the server does: method, path, body, status.
const REFUSED: [(&str, &str, &str, u16); 12] = [
    ("POST", "/claim", "{", 400),
    ("POST", "/claim", "{\"leaseSecond\":5}", 400),
    ("POST", "/claim", "{\"leaseSeconds\":0}", 400),
    ("POST", "/claim", "[]", 400),
    ("POST", "/claim-batch", "{\"maxEvents\":101}", 400),
    ("POST", "/events", "{\"payload\":[]}", 400),
    ("POST", "/events", "{}", 400),
    ("POST", "/events", "{\"payload\":{},\"payload\":{}}", 400),
    ("POST", "/events/batch", "{\"events\":[]}", 400),
    ("POST", "/nowhere", "{}", 404),
    ("PUT", "/claim", "{}", 405),
    ("GET", "/events?cursor=none", "", 400),
];

/// Makes a call that is no call, and sees it refused.
pub(super) async fn crooked(http: &mut Http, queue: &str, dice: &Dice) {
    let scene = Arc::clone(&http.scene);
    scene.ledger.note_fault("malformed request");
    if dice.percent(25) {
        return garbage(&scene, dice).await;
    }
    let (method, rest, body, status) = dice.one_of(&REFUSED);
    let path = format!("/v1/event-queues/{queue}{rest}");
    let heard = http.send(&bytes_of(&scene.key, method, &path, body, None)).await;
    if let Heard::Reply(reply) = heard
        && reply.status != status
        && reply.status != 503
    {
        scene.is_wrong(format!("{method} {path} {body} was answered {}, not {status}", reply.status));
    }
}

/// Bytes that are no request, over either door.
async fn garbage(scene: &Arc<Scene>, dice: &Dice) {
    const HTTP: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST /v1/me HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999999\r\n\r\n",
        b"POST /v1/me HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/me HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ];
    const REDIS: [&[u8]; 4] = [
        b"*1\r\n$-5\r\nPING\r\n",
        b"*99999999\r\n",
        b"*2\r\n$4\r\nAUTH\r\n$999999999999\r\n",
        b"\r\n\0\0\0\r\n",
    ];
    let (is_http, bytes) =
        if dice.percent(50) { (true, dice.one_of(&HTTP)) } else { (false, dice.one_of(&REDIS)) };
    let open = if is_http { Open::new(scene).await } else { Open::redis(scene).await };
    let Some(mut open) = open else { return };
    drop(open.stream.get_mut().write_all(bytes).await);
    let mut rest = [0; 1_024];
    drop(tokio::time::timeout(Duration::from_millis(500), open.stream.get_mut().read(&mut rest)).await);
}
