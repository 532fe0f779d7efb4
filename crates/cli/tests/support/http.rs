//! A JSON client over bare sockets: one connection for each call.
//!
//! Lives here: one request and its answer. Not here: pools, retries, anything clever.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Longest wait for bytes of an answer; a claim may take 60 s by itself.
const PATIENCE: Duration = Duration::from_secs(90);

/// Where to, and under which key.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    address: String,
    key: String,
    /// Further headers, each with its line end.
    headers: String,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// `code` of the envelope.
    pub(crate) code: u64,
    /// `data` of the envelope.
    pub(crate) data: Value,
    /// The body, byte for byte.
    pub(crate) body: String,
}

impl Http {
    pub(crate) fn new(address: &str, key: &str) -> Self {
        Self { address: address.to_owned(), key: key.to_owned(), headers: String::new() }
    }

    /// The same with this header.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// The key that it sends.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.call("POST", path, body)
    }

    /// One call that has to be answered.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        self.try_call(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// One call, during which the server may go away.
    pub(crate) fn try_call(&self, method: &str, path: &str, body: &str) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{}\r\n{body}",
            self.address, self.key, self.headers
        )?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Answer::of(&bytes).ok_or_else(|| {
            std::io::Error::new(
                std::io::ErrorKind::UnexpectedEof,
                "the connection broke before a whole answer",
            )
        })
    }
}

impl Answer {
    /// The answer in `bytes`; none where it is cut short. A body that is no envelope is a broken promise.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).expect("answers are UTF-8");
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let header = |name: &str| {
            let mut pairs = head.lines().filter_map(|line| line.split_once(": "));
            pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let length: usize = header("content-length").expect("answers say their length").parse().ok()?;
        if body.len() < length {
            return None;
        }
        let envelope: Value =
            serde_json::from_str(body).unwrap_or_else(|_| panic!("not an envelope: {text}"));
        let code = envelope["code"].as_u64().unwrap_or_else(|| panic!("no code: {text}"));
        Some(Self { status, code, data: envelope["data"].clone(), body: body.to_owned() })
    }

    /// The data of a success; panics with the answer otherwise.
    pub(crate) fn success(self) -> Value {
        assert_eq!(self.code, 0, "{} {}", self.status, self.body);
        self.data
    }
}
