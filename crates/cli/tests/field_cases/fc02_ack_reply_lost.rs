//! FC-02: the outcome of an ack is not known to its sender.
//!
//! Lives here: acks whose reply is cut off by a proxy or by a killed server, and those of a holder that
//! came too late. Not here: claims whose reply is cut off (`fc01_caller_gone.rs`).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::clock::{assert_between, now, seconds, sleep};
use crate::scene::{Claim, Scene};
use crate::support::{Answer, Http, key};

#[test]
fn fc02_an_ack_whose_reply_was_lost_counts_once() {
    let scene = Scene::with_queue(json!({}));
    let id = scene.publish("q");
    let claim = scene.claimed("q", 30, 5);
    lose_the_reply_of(&claim, &scene);
    assert_acked_once(&scene, &id, &claim);
}

#[test]
fn fc02_an_ack_whose_server_was_killed_after_it_counts_once() {
    let scene = Scene::with_queue(json!({}));
    let id = scene.publish("q");
    let claim = scene.claimed("q", 30, 5);
    lose_the_reply_of(&claim, &scene);
    let scene = scene.killed_and_restarted();
    assert_acked_once(&scene, &id, &claim);
}

#[test]
fn fc02_a_holder_whose_lease_ran_out_disturbs_nobody() {
    let scene = Scene::with_queue(json!({}));
    scene.publish("q");
    let first = scene.claimed("q", 2, 5);
    sleep(seconds(3));
    let second = scene.claimed("q", 30, 5);
    assert_eq!((second.id(), second.attempt()), (first.id(), 2));
    for verb in ["ack", "heartbeat", "nack"] {
        let late = scene.settle(verb, &first, json!({}));
        assert_eq!((late.status, late.code), (409, 40_901), "{verb}: {}", late.body);
    }
    let beat = scene.settle("heartbeat", &second, json!({})).success();
    assert_eq!(beat["state"], "leased");
    let acked = scene.settle("ack", &second, json!({})).success();
    assert_eq!((&acked["state"], &acked["replayed"]), (&json!("done"), &json!(false)));
    scene.assert_same_process();
}

/// What a consumer does that does not know: it repeats the ack, and its catch block sends a nack.
fn assert_acked_once(scene: &Scene, id: &str, claim: &Claim) {
    let settled_at = scene.event(id)["settledAt"].clone();
    for _ in 0..2 {
        let again = scene.settle("ack", claim, json!({}));
        assert_eq!((again.status, again.code), (200, 0), "{}", again.body);
        assert_eq!(again.data, json!({ "state": "done", "settledAt": settled_at, "replayed": true }));
    }
    let nack = scene.settle("nack", claim, json!({ "error": "no reply" }));
    assert_eq!((nack.status, nack.code), (409, 40_902), "{}", nack.body);
    for _ in 0..2 {
        let began = now();
        assert!(scene.claim("q", 30, 3).is_none(), "an acked event came back");
        assert_between("fc02: a claim of 3 s", began.elapsed(), seconds(3), seconds(3) + seconds(1) / 2);
    }
    let event = scene.event(id);
    assert_eq!((&event["state"], &event["settledAt"]), (&json!("done"), &settled_at));
    assert_eq!((&event["deliveryCount"], &event["attemptCount"]), (&json!(1), &json!(1)));
    assert_eq!(scene.counts("q"), json!({ "done": 1 }));
}

/// Sends the ack through a proxy that passes the request and drops the reply.
fn lose_the_reply_of(claim: &Claim, scene: &Scene) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    let server = scene.naven.http.clone();
    let proxy = std::thread::spawn(move || cut_the_reply(&listener, &server));
    let path = claim.path("ack");
    let lost = Http::new(&address, key()).try_call("POST", &path, &claim.proof(json!({})).to_string());
    assert!(lost.is_err(), "the proxy let a reply pass: {lost:?}");
    let reply = proxy.join().expect("the proxy does not fail");
    assert_eq!((reply.status, &reply.data["replayed"]), (200, &json!(false)), "the server took the ack");
}

/// Passes one request, and keeps the reply to itself.
fn cut_the_reply(listener: &TcpListener, server: &str) -> Answer {
    let (mut client, _) = listener.accept().expect("the client comes");
    let mut there = TcpStream::connect(server).expect("the server listens");
    let mut back = client.try_clone().expect("a socket can be shared");
    let mut forth = there.try_clone().expect("a socket can be shared");
    // Ends when the client's socket is shut below.
    let passing = std::thread::spawn(move || {
        let mut piece = [0u8; 4_096];
        while let Ok(count @ 1..) = client.read(&mut piece) {
            forth.write_all(&piece[..count]).expect("the server takes the request");
        }
    });
    let mut reply = Vec::new();
    // The request says that the connection ends with its reply.
    there.read_to_end(&mut reply).expect("the server replies");
    back.shutdown(std::net::Shutdown::Both).expect("the client is still there");
    back.flush().ok();
    passing.join().expect("passing a request does not fail");
    Answer::of(&reply).expect("a whole reply")
}
