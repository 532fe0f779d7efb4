//! A client of the HTTP door that can also break off anywhere.
//!
//! Lives here: a request and its answer on a connection that is kept. Not here: what they mean (`told.rs`), when it
//! breaks off (`fault.rs`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::scene::{Counted, Scene};

/// Longest wait for an answer, beside what a claim waits.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came of a request.
#[derive(Debug)]
pub(super) enum Heard {
    /// It was answered.
    Reply(Reply),
    /// There was no connection: the server never saw it.
    Unsent,
    /// It was sent, in whole or in part, and no answer came.
    Silent,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// That of the envelope.
    pub(super) code: u32,
    pub(super) data: Value,
}

/// A request as bytes.
pub(super) fn bytes_of(key: &str, method: &str, path: &str, body: &str, once: Option<&str>) -> Vec<u8> {
    let once = once.map_or_else(String::new, |once| format!("idempotency-key: {once}\r\n"));
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n{once}\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// One connection, made anew where it broke.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) scene: Arc<Scene>,
    open: Option<Open>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) stream: BufReader<TcpStream>,
    pub(super) counted: Counted,
}

impl Open {
    pub(super) async fn new(scene: &Arc<Scene>) -> Option<Self> {
        let doors = scene.reach().await?;
        Self::at(scene, &doors.http).await
    }

    /// One to the Redis door.
    pub(super) async fn redis(scene: &Arc<Scene>) -> Option<Self> {
        let doors = scene.reach().await?;
        Self::at(scene, &doors.redis).await
    }

    async fn at(scene: &Arc<Scene>, address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self { stream: BufReader::new(stream), counted: Counted::new(scene) })
    }
}

impl Http {
    pub(super) fn new(scene: &Arc<Scene>) -> Self {
        Self { scene: Arc::clone(scene), open: None }
    }

    pub(super) async fn get(&mut self, path: &str) -> Heard {
        let bytes = bytes_of(&self.scene.key, "GET", path, "", None);
        self.send(&bytes).await
    }

    pub(super) async fn delete(&mut self, path: &str) -> Heard {
        let bytes = bytes_of(&self.scene.key, "DELETE", path, "", None);
        self.send(&bytes).await
    }

    pub(super) async fn post(&mut self, path: &str, body: &Value, once: Option<&str>) -> Heard {
        let bytes = bytes_of(&self.scene.key, "POST", path, &body.to_string(), once);
        self.send(&bytes).await
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Heard {
        if self.open.is_none() {
            self.open = Open::new(&self.scene).await;
        }
        let Some(mut open) = self.open.take() else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            return Heard::Unsent;
        };
        self.scene.ledger.calls.fetch_add(1, Ordering::Relaxed);
        let asked = async {
            open.stream.get_mut().write_all(bytes).await?;
            answer(&mut open.stream).await
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok((reply, is_kept))) => {
                self.open = is_kept.then_some(open);
                Heard::Reply(reply)
            }
            Ok(Err(_)) => self.silent(),
            Err(_) => {
                let head = String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().to_owned();
                self.scene.is_wrong(format!("no answer within {PATIENCE:?} to {head}"));
                self.silent()
            }
        }
    }

    fn silent(&self) -> Heard {
        self.scene.ledger.silent.fetch_add(1, Ordering::Relaxed);
        Heard::Silent
    }
}

/// Reads one answer. True with it where the connection is kept.
async fn answer(stream: &mut BufReader<TcpStream>) -> io::Result<(Reply, bool)> {
    let (mut status, mut length, mut is_kept) = (0, None, true);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        } else if let Some(rest) = text.strip_prefix("http/1.1 ") {
            status =
                rest.get(..3).and_then(|digits| digits.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        } else if let Some(rest) = text.strip_prefix("content-length: ") {
            length = rest.parse().ok();
        } else if text == "connection: close" {
            is_kept = false;
        }
    }
    let mut body = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    stream.read_exact(&mut body).await?;
    let mut envelope: Value = serde_json::from_slice(&body)?;
    let code = envelope["code"].as_u64().and_then(|code| u32::try_from(code).ok());
    let code = code.ok_or(io::ErrorKind::InvalidData)?;
    Ok((Reply { status, code, data: envelope["data"].take() }, is_kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_how_long_its_body_is() {
        let bytes = bytes_of("nvk_x", "POST", "/v1/me", "{\"a\":1}", Some("k1"));
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /v1/me HTTP/1.1\r\n") && text.ends_with("\r\n\r\n{\"a\":1}"));
        assert!(text.contains("content-length: 7\r\n") && text.contains("idempotency-key: k1\r\n"));
    }
}
