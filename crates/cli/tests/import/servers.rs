//! Servers that cannot be spoken to, passwords, and TLS.
//!
//! Lives here: what is said of each. Not here: what is copied (`whole.rs`).

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::scene::{Scene, Side, report};
use crate::support::{Redis, Start, key, run};

#[test]
fn passwords_come_from_the_address_or_the_key_and_are_never_told() {
    let source = Redis::start(&["--requirepass", "s3cret-a"]);
    let scene = Scene { source, target: Start::serve().ready() };
    let (source, target) = (scene.source.place(), scene.target.place());
    let import = |source: &str, to: &str, variables: &[(&str, &str)]| {
        let ended = run(&["import", source, "--to", to], variables);
        let said = format!("{ended:?}");
        assert!(!said.contains("s3cret") && !said.contains(key()), "{said}");
        (ended.code, ended.stderr)
    };
    let (plain, good) = (format!("redis://{source}"), format!("redis://:s3cret-a@{source}"));
    let (to, to_good) = (format!("redis://{target}"), scene.target.address(&target));
    let bad = format!("redis://:s3cret-x@{source}");
    let with_key = [("NAVEN_API_KEY", key())];
    assert_eq!(import(&good, &to_good, &[]).0, Some(0));
    assert_eq!(import(&good, &to, &with_key).0, Some(0));
    let both = [with_key[0], ("NAVEN_REDIS_URL", &to), ("NAVEN_IMPORT_SOURCE", &good)];
    assert_eq!(run(&["import"], &both).code, Some(0));
    for (source, to, variables, why) in [
        (&bad, &to_good, &[][..], format!("source {source}: AUTH: it does not know this user and password")),
        (&plain, &to_good, &with_key, format!("source {source}: NOAUTH")),
        (&good, &to, &[], format!("target {target}: NOAUTH")),
        (&good, &to, &[("NAVEN_API_KEY", "s3cret-x")], format!("target {target}: AUTH: it does not know")),
    ] {
        let (code, stderr) = import(source, to, variables);
        assert_eq!(code, Some(1));
        assert!(stderr.starts_with(&format!("error: {why}")), "{stderr}");
    }
}

#[test]
fn what_is_no_redis_is_named() {
    let scene = Scene::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let http = listener.local_addr().expect("it is bound").to_string();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let _ = client.read(&mut [0; 64]);
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    for (source, to, why) in [
        (http.as_str(), scene.target.place(), format!("source {http}: PING: ")),
        (&scene.source.place(), http.clone(), format!("target {http}: AUTH: not an answer of Redis (is")),
        (
            "127.0.0.1:9",
            scene.target.place(),
            "source 127.0.0.1:9: no connection: Connection refused".to_owned(),
        ),
    ] {
        let ended = scene.import_by(source, &to, &[]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.starts_with(&format!("error: {why}")), "{ended:?}");
    }
}

#[test]
fn what_cannot_be_is_a_usage_error() {
    let (good, to) = ("redis://127.0.0.1:9", "redis://127.0.0.1:8");
    for (args, why) in [
        (&["http://127.0.0.1:9"][..], "SOURCE: not an address"),
        (&["redis://127.0.0.1:9/x"], "SOURCE: "),
        (&[good, "--to", "127.0.0.1:8"], "--to: not an address"),
        (&[good, "--to", "redis://127.0.0.1:8/1"], "--to: there is no database but 0"),
        (&[good, "--to", good], "SOURCE and --to are one place"),
        (&[good, "--to", to, "--ca-file", "nowhere.pem"], "ca-file nowhere.pem: "),
        (&[], ""),
    ] {
        let ended = run(&[&["import"], args].concat(), &[]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.starts_with(&format!("error: {why}")), "{ended:?}");
    }
}

#[test]
fn both_sides_may_be_spoken_to_over_tls() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("it is UTF-8").to_owned();
    let (certificate, tls_key) = (path("tls.pem"), path("tls.key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "2", "-subj", "/CN=redis", "-addext", "subjectAltName=IP:127.0.0.1"]);
    openssl.args([
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        &tls_key,
        "-out",
        &certificate,
    ]);
    let made = openssl.stdin(Stdio::null()).stderr(Stdio::null()).status();
    assert!(made.expect("openssl is installed").success());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port().to_string();
    drop(listener);
    let tls = ["--tls-port", &port, "--tls-cert-file", &certificate, "--tls-key-file", &tls_key];
    let more = ["--tls-auth-clients", "no", "--tls-ca-cert-file", &certificate];
    let source = Redis::start(&[&tls[..], &more].concat());
    let target = Start::serve().args(&["--tls-cert", &certificate, "--tls-key", &tls_key]).ready();
    let from = format!("rediss://127.0.0.1:{port}");
    let to = format!("rediss://:{}@{}", key(), target.redis());
    source.done("XADD s 1-0 f v");
    let import =
        |more: &[&str]| run(&[&["import", &from, "--to", &to, "--output", "json"], more].concat(), &[]);
    let distrusted = import(&[]);
    assert_eq!(distrusted.code, Some(1), "{distrusted:?}");
    let trusted = ["--ca-file", &certificate];
    assert_eq!(report(&import(&trusted), 0, "s")["copied"], 1);
    // What a second import finds has arrived.
    assert_eq!(report(&import(&trusted), 0, "s")["found"], 1);
}
