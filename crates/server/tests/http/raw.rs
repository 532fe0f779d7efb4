//! A small HTTP/1.1 client that sends exactly the bytes it is given.
//!
//! Lives here: one connection, requests as bytes, answers taken apart. Not here: the server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest that any answer may take: a test that needs this is broken, not slow.
const PATIENCE: Duration = Duration::from_secs(90);

/// One connection.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    unread: Vec<u8>,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a fresh socket takes options");
        Self { stream, unread: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // A server may close before it has read everything; its answer is what counts.
        drop(self.stream.write_all(bytes).await);
    }

    /// The next answer; none where the connection ended without one.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        tokio::time::timeout(PATIENCE, self.read_answer()).await.expect("an answer or an end within 90 s")
    }

    async fn read_answer(&mut self) -> Option<Answer> {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at;
            }
            self.more().await?;
        };
        let head = String::from_utf8(self.unread[..end].to_vec()).expect("heads are ASCII");
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().expect("a status is a number");
        let header = |line: &str| {
            let (name, value) = line.split_once(':').expect("a header has a colon");
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        let headers: Vec<(String, String)> = lines.map(header).collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| value.parse().expect("a length is a number"));
        self.unread.drain(..end + 4);
        if status == 100 {
            return Box::pin(self.read_answer()).await;
        }
        while self.unread.len() < length {
            self.more().await?;
        }
        let body = self.unread.drain(..length).collect();
        Some(Answer { status, headers, body })
    }

    /// Like [`Connection::answer`] for a body that comes in chunks: status, headers by name, and the body.
    pub(crate) async fn chunked_answer(&mut self) -> (StatusCode, BTreeMap<String, String>, Vec<u8>) {
        let read = async {
            let answer = self.read_answer().await.expect("an answer");
            let headers: BTreeMap<String, String> = answer.headers.into_iter().collect();
            assert_eq!(headers.get("transfer-encoding").map(String::as_str), Some("chunked"));
            let mut body = Vec::new();
            loop {
                let line = self.line().await;
                let length = usize::from_str_radix(&line, 16).expect("a chunk's length");
                while self.unread.len() < length + 2 {
                    self.more().await.expect("the rest of a chunk");
                }
                body.extend(self.unread.drain(..length + 2).take(length));
                if length == 0 {
                    break;
                }
            }
            (StatusCode::from_u16(answer.status).expect("a status"), headers, body)
        };
        tokio::time::timeout(PATIENCE, read).await.expect("an answer within 90 s")
    }

    /// The next chunk of a body that comes in chunks; none at its end, or at that of the connection.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let read = async {
            while !self.unread.windows(2).any(|bytes| bytes == b"\r\n") {
                self.more().await?;
            }
            let length = usize::from_str_radix(&self.line().await, 16).expect("a chunk's length");
            while self.unread.len() < length + 2 {
                self.more().await?;
            }
            let chunk: Vec<u8> = self.unread.drain(..length + 2).take(length).collect();
            (length > 0).then_some(chunk)
        };
        tokio::time::timeout(PATIENCE, read).await.expect("a chunk or an end within 90 s")
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(at) = self.unread.windows(2).position(|bytes| bytes == b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..at + 2).take(at).collect();
                return String::from_utf8(line).expect("ASCII");
            }
            self.more().await.expect("a line");
        }
    }

    /// Like [`Connection::answer`] for a HEAD, whose length names a body that does not come.
    pub(crate) async fn head_answer(&mut self) -> String {
        let read = async {
            while !self.unread.ends_with(b"\r\n\r\n") {
                self.more().await.expect("a head comes");
            }
        };
        tokio::time::timeout(PATIENCE, read).await.expect("an answer within 90 s");
        String::from_utf8(std::mem::take(&mut self.unread)).expect("heads are ASCII").to_ascii_lowercase()
    }

    async fn more(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.unread).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(()),
        }
    }

    /// True once the server has ended the connection.
    pub(crate) async fn is_closed_within(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, async { while self.more().await.is_some() {} }).await.is_ok()
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body, after what every answer of the door must be was checked.
    pub(crate) fn envelope(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        let value: Value = serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("not JSON: {} {text:?}", self.status));
        let object = value.as_object().expect("an envelope is an object");
        let is_whole = ["code", "message", "data"].into_iter().all(|name| object.contains_key(name));
        assert!(is_whole && object.len() == 3, "{text}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        assert!(self.header("naven-request-id").is_some_and(|id| !id.is_empty()));
        let code = value["code"].as_u64().expect("a code is a number");
        let expected = if code == 0 { 200..=202 } else { (code / 100) as u16..=(code / 100) as u16 };
        assert!(expected.contains(&self.status), "status {} with {text}", self.status);
        if self.status >= 400 {
            assert_eq!(value["data"]["requestId"].as_str(), self.header("naven-request-id"));
            let waits = matches!(self.status, 429 | 503 | 507);
            assert_eq!(self.header("retry-after").is_some(), waits, "{text}");
            assert_eq!(value["data"].get("retryAfterSeconds").is_some(), waits, "{text}");
        }
        value
    }

    pub(crate) fn code(&self) -> u64 {
        self.envelope()["code"].as_u64().expect("a code is a number")
    }

    /// The data of a success.
    pub(crate) fn data(&self) -> Value {
        let envelope = self.envelope();
        assert_eq!(envelope["code"], 0, "{envelope}");
        assert_eq!(envelope["message"], "ok");
        envelope["data"].clone()
    }

    /// Paths of refused fields.
    pub(crate) fn fields(&self) -> Vec<String> {
        let envelope = self.envelope();
        let fields = envelope["data"]["fields"].as_array().cloned().unwrap_or_default();
        fields.iter().map(|field| field["path"].as_str().expect("a path is a text").to_owned()).collect()
    }
}

/// A request with a key and, where there is one, a JSON body.
pub(crate) fn request(method: &str, path: &str, key: &str, body: Option<&str>) -> Vec<u8> {
    request_with(method, path, key, &[], body)
}

/// The same with further headers.
pub(crate) fn request_with(
    method: &str,
    path: &str,
    key: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if let Some(body) = body {
        text += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    } else {
        text += "\r\n";
    }
    text.into_bytes()
}
