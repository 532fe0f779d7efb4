//! One connection that stays open and can be broken off.
//!
//! Lives here: requests of any bytes, their answers, and two ways to hang up. Not here: calls of one
//! connection each (`support/http.rs`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use socket2::SockRef;

use crate::support::Answer;

/// Longest wait for bytes of an answer; a claim may take 60 s by itself.
const PATIENCE: Duration = Duration::from_secs(90);

/// How a connection is broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HangUp {
    /// As a client that ends: FIN.
    Fin,
    /// As a client whose machine has forgotten the connection: RST.
    Reset,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    address: String,
    key: String,
    unread: Vec<u8>,
}

impl Wire {
    pub(crate) fn open(address: &str, key: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a fresh socket takes options");
        stream.set_nodelay(true).expect("a fresh socket takes options");
        Self { stream, address: address.to_owned(), key: key.to_owned(), unread: Vec::new() }
    }

    /// Sends a request and does not wait for its answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &[u8]) {
        let mut bytes = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.key,
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes).expect("the server takes the request");
    }

    /// The next answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let end = loop {
            if let Some(end) = end_of_answer(&self.unread) {
                break end;
            }
            let mut piece = [0u8; 16 * 1024];
            let count = self.stream.read(&mut piece).expect("an answer in time");
            assert!(count > 0, "the server hung up on {:?}", String::from_utf8_lossy(&self.unread));
            self.unread.extend_from_slice(&piece[..count]);
        };
        let rest = self.unread.split_off(end);
        let whole = std::mem::replace(&mut self.unread, rest);
        Answer::of(&whole).expect("a whole answer was read")
    }

    /// A request of any bytes, and its answer.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.send(method, path, body);
        self.answer()
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, body.to_string().as_bytes())
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.call("GET", path, b"")
    }

    /// Breaks the connection off.
    pub(crate) fn hang_up(self, how: HangUp) {
        if how == HangUp::Reset {
            // Closing a socket that may not linger throws away what is under way, and says so.
            SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).expect("sockets take this option");
        }
    }
}

/// Where the first answer in `bytes` ends; none where it is not all there.
fn end_of_answer(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..head]).expect("heads are ASCII").to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.expect("answers say their length").parse().expect("a length is a number");
    let end = head + 4 + length;
    (bytes.len() >= end).then_some(end)
}
