//! One connection to the Redis door that is kept, and may break at any byte.
//!
//! Lives here: a command and its reply, or that there was none. Not here: what they mean.

use std::io::{BufReader, Error, ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Reply, key};

/// Longest wait for the next bytes of a reply: nothing here asks for more than a second.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    /// A connection that has shown the shared key.
    ///
    /// # Errors
    /// Where the server went away meanwhile.
    pub(crate) fn open(place: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(place)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut wire = Self(BufReader::new(stream));
        let told = wire.call(&["AUTH", key()])?;
        assert_eq!(told, Reply::Text(b"OK".to_vec()), "the key is known");
        Ok(wire)
    }

    /// One command. An error of the server's is a failure of the test: none of them is to be expected here.
    ///
    /// # Errors
    /// Where the connection broke before a whole reply.
    pub(crate) fn call(&mut self, words: &[&str]) -> Result<Reply, Error> {
        let mut sent = format!("*{}\r\n", words.len());
        for word in words {
            sent.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(sent.as_bytes())?;
        let reply = Reply::read(&mut self.0).inspect_err(|error| {
            let silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            assert!(!silent, "no reply within {PATIENCE:?}: {words:?}");
        })?;
        assert!(!matches!(reply, Reply::Error(_)), "{words:?}: {reply:?}");
        Ok(reply)
    }
}
