//! TLS as clients of other makes meet it: openssl, and our own client.
//!
//! Lives here: what is spoken and refused, certificates that cannot be used, and reading them again. Not
//! here: what is said inside.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{Ended, Naven, Start, key, run};
use tempfile::TempDir;

/// A folder with certificates in it.
struct Certificates {
    folder: TempDir,
}

fn openssl(args: &[&str]) -> Output {
    let output = Command::new("openssl").args(args).stdin(Stdio::null()).output();
    output.expect("openssl is installed")
}

impl Certificates {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a temporary path is UTF-8").to_owned()
    }

    /// A certificate for this machine that vouches for itself: `NAME.pem` and `NAME.key`.
    fn make(&self, name: &str, subject: &str) {
        let (certificate, key) = (self.text(&format!("{name}.pem")), self.text(&format!("{name}.key")));
        let made = openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            &format!("/CN={subject}"),
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn serve(&self, certificate: &str, key: &str) -> Start {
        Start::serve().args(&["--tls-cert", &self.text(certificate), "--tls-key", &self.text(key)])
    }
}

/// What openssl's client says of a connection with these further arguments.
fn s_client(naven: &Naven, args: &[&str]) -> (bool, String) {
    let output = openssl(&[&["s_client", "-connect", &naven.http], args].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// What the server answers to a request that openssl carries.
fn said(naven: &Naven, request: &str) -> String {
    let mut child = Command::new("openssl")
        .args(["s_client", "-quiet", "-ign_eof", "-connect", &naven.http])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is installed");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    stdin.write_all(request.as_bytes()).expect("openssl reads");
    let said = child.wait_with_output().expect("openssl ends with the connection").stdout;
    String::from_utf8_lossy(&said).into_owned()
}

/// A client command over TLS.
fn client(naven: &Naven, args: &[&str], variables: &[(&str, &str)]) -> Ended {
    let url = format!("https://{}", naven.http);
    run(args, &[&[("NAVEN_API_URL", url.as_str()), ("NAVEN_API_KEY", key())], variables].concat())
}

/// The last part of the served certificate's subject.
fn subject(naven: &Naven) -> String {
    let (_, text) = s_client(naven, &[]);
    let line = text.lines().find(|line| line.starts_with("subject=")).expect("a certificate is shown");
    line.rsplit(['=', ' ']).next().unwrap_or_default().to_owned()
}

#[test]
fn an_event_goes_through_tls() {
    let files = Certificates::new();
    files.make("server", "one");
    let naven = files.serve("server.pem", "server.key").ready();
    let roots = files.text("server.pem");
    let trusting = [("NAVEN_CA_FILE", roots.as_str())];
    let body = r#"{"name":"mail"}"#;
    let request = format!(
        "POST /v1/event-queues HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        key(),
        body.len()
    );
    assert!(said(&naven, &request).starts_with("HTTP/1.1 201 "));
    for args in [&["publish", "--queue", "mail", r#"{"n":1}"#][..], &["claim", "--queue", "mail"]] {
        let ended = client(&naven, args, &trusting);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("evt_"), "{ended:?}");
    }
    let named = client(&naven, &["stream", "list", "--ca-file", &roots], &[]);
    assert_eq!(named.code, Some(0), "{named:?}");

    let strange = client(&naven, &["stream", "list"], &[]);
    assert_ne!(strange.code, Some(0), "nobody vouches for it: {strange:?}");
    files.make("other", "two");
    let other = client(&naven, &["stream", "list", "--ca-file", &files.text("other.pem")], &[]);
    assert_ne!(other.code, Some(0), "another one vouches for it: {other:?}");
    std::fs::write(files.path("empty.pem"), "").expect("a file can be written");
    let none = client(&naven, &["stream", "list", "--ca-file", &files.text("empty.pem")], &[]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("ca-file") && none.stderr.contains("no trusted certificate"), "{none:?}");
}

#[test]
fn what_is_spoken_is_tls_1_2_and_1_3_with_forward_secrecy() {
    let files = Certificates::new();
    files.make("server", "one");
    let naven = files.serve("server.pem", "server.key").ready();
    for (args, version) in [(&["-tls1_3"][..], "TLSv1.3"), (&["-tls1_2"], "TLSv1.2")] {
        let (is_served, text) = s_client(&naven, args);
        assert!(is_served && text.contains(version), "{args:?}: {text}");
        assert!(text.contains("Compression: NONE") || version == "TLSv1.3", "{text}");
    }
    let weak = "ALL:@SECLEVEL=0";
    for args in [
        &["-tls1_1", "-cipher", weak][..],
        &["-tls1", "-cipher", weak],
        &["-tls1_2", "-cipher", "AES128-SHA:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"],
    ] {
        let (is_served, text) = s_client(&naven, args);
        assert!(!is_served, "{args:?}: {text}");
        let is_refused = text.contains("alert") && text.contains("no peer certificate available");
        assert!(is_refused, "it is the server that refuses {args:?}: {text}");
    }
    for (offered, chosen) in [("h2", "h2"), ("http/1.1", "http/1.1"), ("http/1.1,h2", "h2")] {
        let (_, text) = s_client(&naven, &["-alpn", offered]);
        assert!(text.contains(&format!("ALPN protocol: {chosen}\n")), "{offered}: {text}");
    }
    let (is_served, text) = s_client(&naven, &["-alpn", "spdy/3"]);
    assert!(!is_served, "nothing is in common: {text}");
}

#[test]
fn http_is_said_inside_only() {
    let files = Certificates::new();
    files.make("server", "one");
    let naven = files.serve("server.pem", "server.key").ready();
    let said = said(&naven, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n") && said.contains("\"code\":0"), "{said}");

    let plain = run(&["stream", "list"], &[("NAVEN_API_URL", &naven.url()), ("NAVEN_API_KEY", key())]);
    assert_ne!(plain.code, Some(0), "a client that speaks plainly gets nothing: {plain:?}");
    let (is_served, _) = s_client(&naven, &[]);
    assert!(is_served, "and the next one is served");
}

#[test]
fn both_doors_speak_it() {
    let certificates = Certificates::new();
    certificates.make("server", "both");
    let naven = certificates.serve("server.pem", "server.key").args(&["--redis", "127.0.0.1:0"]).ready();
    let redis = naven.ready.split_whitespace().find_map(|word| word.strip_prefix("redis="));
    let redis = redis.expect("the ready line names the Redis door");
    let root = certificates.text("server.pem");
    let calls = format!("PING\r\nAUTH {}\r\nPING\r\nQUIT\r\n", key());
    for version in ["-tls1_2", "-tls1_3"] {
        let mut client = std::process::Command::new("openssl")
            .args(["s_client", "-connect", redis, "-CAfile", &root, version, "-quiet", "-ign_eof"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("openssl starts");
        client.stdin.take().expect("it reads").write_all(calls.as_bytes()).expect("it is there");
        let said = client.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(
            text.starts_with("-NOAUTH ") && text.ends_with("\r\n+OK\r\n+PONG\r\n+OK\r\n"),
            "{version}: {said:?}"
        );
        let seen = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(seen.contains("CN") && seen.contains("both"), "{version}: {seen}");
    }
    let old = openssl(&["s_client", "-connect", redis, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]);
    assert!(!old.status.success(), "{old:?}");
    let mut plain = std::net::TcpStream::connect(redis).expect("a connection is taken");
    plain.write_all(b"PING\r\n").expect("bytes are taken");
    let mut answer = Vec::new();
    drop(std::io::Read::read_to_end(&mut plain, &mut answer));
    assert!(!answer.starts_with(b"-ERR"), "nothing is said plainly: {answer:?}");
}

#[test]
fn a_certificate_is_read_again_at_sighup() {
    let files = Certificates::new();
    files.make("server", "one");
    files.make("next", "two");
    let naven = files.serve("server.pem", "server.key").ready();
    assert_eq!(subject(&naven), "one");
    let replace = |certificate: &str, key: &str| {
        std::fs::copy(files.path(certificate), files.path("server.pem")).expect("a file can be copied");
        std::fs::copy(files.path(key), files.path("server.key")).expect("a file can be copied");
        naven.signal("HUP");
    };
    replace("next.pem", "next.key");
    naven.wait_until("the new certificate is served", |naven| subject(naven) == "two");
    files.make("third", "three");
    replace("third.pem", "next.key");
    naven.wait_until("the refusal is logged", |naven| {
        naven.stderr().contains("not the key of this certificate")
    });
    assert_eq!(subject(&naven), "two", "the one of before stays");
    naven.signal("TERM");
    assert_eq!(naven.ended().code, Some(0));
}

#[test]
fn a_server_without_tls_takes_sighup_too() {
    let naven = Start::serve().ready();
    naven.signal("HUP");
    naven.wait_until("it says so", |naven| naven.stderr().contains("SIGHUP"));
    assert_eq!(naven.client().get("/v1/me").success()["name"], "admin");
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file can be written");
}

#[test]
fn certificates_that_cannot_be_used_are_refused_at_the_start() {
    let files = Certificates::new();
    files.make("server", "one");
    files.make("other", "two");
    write(&files.path("empty"), "");
    write(&files.path("text"), "this is no certificate\n");
    write(&files.path("broken"), "-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----\n");
    write(&files.path("odd"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let encrypted = files.text("encrypted.key");
    let made = openssl(&[
        "pkey",
        "-in",
        &files.text("server.key"),
        "-aes256",
        "-passout",
        "pass:x",
        "-out",
        &encrypted,
    ]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (certificate, key, blamed, says) in [
        ("none.pem", "server.key", "certificate", "No such file"),
        ("server.pem", "none.key", "private key", "No such file"),
        ("empty", "server.key", "certificate", "no certificate in it"),
        ("text", "server.key", "certificate", "no certificate in it"),
        ("server.key", "server.key", "certificate", "no certificate in it"),
        ("broken", "server.key", "certificate", "no PEM"),
        ("odd", "server.key", "certificate", "cannot be read"),
        ("server.pem", "server.pem", "private key", "no private key in it"),
        ("server.pem", "encrypted.key", "private key", "not encrypted"),
        ("server.pem", "other.key", "private key", "not the key of this certificate"),
    ] {
        let Err(ended) = files.serve(certificate, key).try_ready() else {
            panic!("{certificate} with {key} is served");
        };
        assert_eq!(ended.code, Some(2), "{certificate} with {key}: {ended:?}");
        let last = ended.stderr.lines().last().unwrap_or_default();
        let file = if blamed == "certificate" { certificate } else { key };
        assert!(last.contains(blamed) && last.contains(file) && last.contains(says), "{last}");
    }
    for (args, says) in
        [(["--tls-cert", "server.pem"], "tls-key too"), (["--tls-key", "server.key"], "tls-cert too")]
    {
        let Err(ended) = Start::serve().args(&args).try_ready() else { panic!("{args:?} is enough") };
        assert!(ended.code == Some(2) && ended.stderr.contains(says), "{ended:?}");
    }
    let dev =
        Start::dev().args(&["--tls-cert", &files.text("server.pem"), "--tls-key", &files.text("server.key")]);
    assert!(dev.try_ready().is_err(), "dev speaks plainly");
}
