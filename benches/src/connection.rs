//! One HTTP/1.1 connection that is kept.
//!
//! Lives here: a request, and its answer as bytes. Not here: what is asked (`calls.rs`). A client library
//! would cost about as much CPU as the server that is measured beside it.

use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where to, and under which key.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) host: Arc<str>,
    pub(crate) key: Arc<str>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    address: Address,
    request: Vec<u8>,
    unread: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &Address) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&*address.host).await.context("a connection to the server")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address: address.clone(), request: Vec::new(), unread: Vec::new() })
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// Where the connection breaks.
    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Answer> {
        self.request.clear();
        let Address { host, key } = &self.address;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        self.request.extend_from_slice(head.as_bytes());
        self.request.extend_from_slice(body);
        self.stream.write_all(&self.request).await?;
        loop {
            if let Some((answer, end)) = Answer::parse(&self.unread)? {
                self.unread.drain(..end);
                return Ok(answer);
            }
            self.unread.reserve(16 << 10);
            let count = self.stream.read_buf(&mut self.unread).await?;
            ensure!(count > 0, "{method} {path}: the server hung up");
        }
    }

    /// A POST that has to succeed; what it answered is not looked at.
    ///
    /// # Errors
    /// Where it was refused, or the connection breaks.
    pub(crate) async fn done(&mut self, path: &str, body: &[u8]) -> anyhow::Result<()> {
        let answer = self.call("POST", path, body).await?;
        match answer.status {
            200 | 201 => Ok(()),
            status => bail!("{path}: {status} {}", String::from_utf8_lossy(&answer.body)),
        }
    }
}

impl Answer {
    /// The first answer in `bytes`, and where it ends; none where it is not all there.
    fn parse(bytes: &[u8]) -> anyhow::Result<Option<(Self, usize)>> {
        let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&bytes[..head]).context("a head is ASCII")?;
        let status = text.split(' ').nth(1).and_then(|digits| digits.parse().ok()).context("a status")?;
        let lengths = text.lines().filter_map(|line| line.split_once(':'));
        let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length = lengths.next().and_then(|(_, digits)| digits.trim().parse().ok());
        let length: usize = length.context("an answer says its length")?;
        let (start, end) = (head + 4, head + 4 + length);
        let body = bytes.get(start..end);
        Ok(body.map(|body| (Self { status, body: body.to_vec() }, end)))
    }

    /// The data of a success.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn data(&self) -> anyhow::Result<Value> {
        let mut envelope: Value = serde_json::from_slice(&self.body)?;
        ensure!(envelope["code"] == 0, "{} {envelope}", self.status);
        Ok(envelope["data"].take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_it_is_all_there() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"code\":0,\"data\":[7]}HTTP";
        for end in 0..bytes.len() - 4 {
            assert_eq!(Answer::parse(&bytes[..end]).expect("it is none yet"), None, "{end}");
        }
        let (answer, end) = Answer::parse(bytes).expect("it is one").expect("it is whole");
        assert_eq!((answer.status, end), (200, bytes.len() - 4));
        assert_eq!(answer.data().expect("a success"), serde_json::json!([7]));
    }

    #[test]
    fn what_is_no_answer_and_no_success_is_said() {
        assert!(Answer::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err(), "no length");
        let refused = Answer { status: 507, body: br#"{"code":50700,"data":{}}"#.to_vec() };
        assert!(refused.data().is_err());
    }
}
