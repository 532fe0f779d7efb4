//! One connection that is kept, and may break at any byte.
//!
//! Lives here: a request and its answer, or that there was none. Not here: what they mean.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Answer, key};

/// Longest wait for the next bytes of an answer: nothing here asks for more than a second.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Connection {
    stream: TcpStream,
    host: String,
}

impl Connection {
    pub(crate) fn open(host: &str) -> Self {
        let stream = TcpStream::connect(host).expect("a server that is ready takes connections");
        stream.set_nodelay(true).expect("a setting of the socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a setting of the socket");
        Self { stream, host: host.to_owned() }
    }

    /// One call.
    ///
    /// # Errors
    /// Where the connection broke before a whole answer. A server that stays silent is a failure of
    /// the test.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &str) -> Result<Answer, Error> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            key(),
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        self.answer().inspect_err(|error| {
            let silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            assert!(!silent, "{method} {path}: no answer within {PATIENCE:?}: {body}");
        })
    }

    fn answer(&mut self) -> Result<Answer, Error> {
        let mut bytes = Vec::with_capacity(4 * 1024);
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.more(&mut bytes)?;
        };
        let text = std::str::from_utf8(&bytes[..head]).expect("heads are ASCII").to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|digits| digits.parse().ok()).expect("answers say their length");
        while bytes.len() < head + length {
            self.more(&mut bytes)?;
        }
        assert_eq!(bytes.len(), head + length, "more than one answer to one call");
        let status = text.split(' ').nth(1).and_then(|digits| digits.parse().ok()).expect("a status");
        let body = String::from_utf8(bytes.split_off(head)).expect("answers are UTF-8");
        let envelope: serde_json::Value =
            serde_json::from_str(&body).unwrap_or_else(|_| panic!("not an envelope: {body}"));
        let code = envelope["code"].as_u64().unwrap_or_else(|| panic!("no code: {body}"));
        Ok(Answer { status, code, data: envelope["data"].clone(), body })
    }

    fn more(&mut self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                bytes.extend_from_slice(&piece[..count]);
                Ok(())
            }
        }
    }
}
