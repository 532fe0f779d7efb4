//! One connection to the Redis door that stays open.
//!
//! Lives here: AUTH, commands and their answers, byte for byte where that is asked. Not here: what is said, and how an
//! answer is read (`redis.rs`).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::redis::Reply;

/// Longest wait for bytes of an answer.
const PATIENCE: Duration = Duration::from_secs(90);

/// One connection, blocking.
#[derive(Debug)]
pub(crate) struct Resp {
    stream: TcpStream,
    answers: Heard,
}

/// What comes, and what of it was taken since it was last asked for.
#[derive(Debug)]
struct Heard {
    stream: BufReader<TcpStream>,
    bytes: Vec<u8>,
}

impl Resp {
    /// A connection that has shown this key.
    pub(crate) fn open(address: &str, key: &str) -> Self {
        let mut resp = Self::stranger(address);
        assert_eq!(resp.words(&["AUTH", key]), Reply::Text(b"OK".to_vec()), "the door lets the key in");
        resp
    }

    /// A connection that has shown none.
    pub(crate) fn stranger(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the Redis door listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a fresh socket takes options");
        stream.set_nodelay(true).expect("a fresh socket takes options");
        let reader = BufReader::new(stream.try_clone().expect("a second handle"));
        Self { stream, answers: Heard { stream: reader, bytes: Vec::new() } }
    }

    /// The answer to a command whose words have no spaces.
    pub(crate) fn run(&mut self, command: &str) -> Reply {
        self.words(&command.split(' ').collect::<Vec<_>>())
    }

    /// The same where a refusal is a failure.
    pub(crate) fn done(&mut self, command: &str) -> Reply {
        let reply = self.run(command);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply:?}");
        reply
    }

    /// The answer's bytes as they came.
    pub(crate) fn bytes(&mut self, command: &str) -> String {
        self.run(command);
        String::from_utf8(std::mem::take(&mut self.answers.bytes)).expect("the answer is text")
    }

    /// The answer to a command of any words.
    pub(crate) fn words(&mut self, words: &[&str]) -> Reply {
        self.try_words(words).unwrap_or_else(|error| panic!("{}: {error}", words[0]))
    }

    /// The same while the server may go away.
    pub(crate) fn try_run(&mut self, command: &str) -> io::Result<Reply> {
        self.try_words(&command.split(' ').collect::<Vec<_>>())
    }

    /// Runs many commands, sent in pieces; refusals are failures.
    pub(crate) fn all(&mut self, commands: &[String]) -> Vec<Reply> {
        let mut replies = Vec::with_capacity(commands.len());
        for commands in commands.chunks(100) {
            let sent: String =
                commands.iter().map(|command| framed(&command.split(' ').collect::<Vec<_>>())).collect();
            self.stream.write_all(sent.as_bytes()).expect("it takes commands");
            for command in commands {
                let reply = Reply::read(&mut self.answers).expect("an answer in time");
                assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply:?}");
                replies.push(reply);
            }
        }
        replies
    }

    fn try_words(&mut self, words: &[&str]) -> io::Result<Reply> {
        self.stream.write_all(framed(words).as_bytes())?;
        // Only what is asked for byte for byte is kept.
        self.answers.bytes.clear();
        Reply::read(&mut self.answers)
    }
}

/// A command as clients send it.
fn framed(words: &[&str]) -> String {
    let words_framed: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{}\r\n{words_framed}", words.len())
}

impl Read for Heard {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(into)?;
        self.bytes.extend_from_slice(&into[..read]);
        Ok(read)
    }
}

impl BufRead for Heard {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.stream.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.bytes.extend_from_slice(&self.stream.buffer()[..count]);
        self.stream.consume(count);
    }
}
