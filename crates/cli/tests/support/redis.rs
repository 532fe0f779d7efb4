//! A Redis of a test's own, and a plain client for it.
//!
//! Lives here: `redis-server` on a free port, one command at a time, and a go-between that sees what is sent. Not
//! here: what is said.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

/// Longest wait for an answer: far above what it takes, for crowded machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. Dropped, it is killed.
pub(crate) struct Redis {
    child: Child,
    port: u16,
    _folder: TempDir,
}

/// What a command is answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reply {
    Nil,
    Number(i64),
    Text(Vec<u8>),
    Error(String),
    List(Vec<Reply>),
}

impl Redis {
    /// Starts it with these further arguments and waits until it answers.
    pub(crate) fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Another process may take the port before the server does.
        for _ in 0..10 {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = listener.local_addr().expect("it is bound").port();
            drop(listener);
            let mut command = Command::new("redis-server");
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]).args(args);
            command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
            let child = command.spawn().expect("redis-server is installed");
            let mut redis = Self { child, port, _folder: tempfile::tempdir().expect("a folder") };
            if redis.answers() {
                redis._folder = folder;
                return redis;
            }
        }
        panic!("redis-server did not start");
    }

    fn answers(&mut self) -> bool {
        for _ in 0..6_000 {
            if self.child.try_wait().expect("it can be waited for").is_some() {
                return false;
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// HOST:PORT.
    pub(crate) fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address as clients take it.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.place())
    }

    /// Runs a command whose words have no spaces.
    pub(crate) fn run(&self, command: &str) -> Reply {
        self.words(&command.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    /// Runs it and panics where it is refused.
    pub(crate) fn done(&self, command: &str) -> Reply {
        let reply = self.run(command);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply:?}");
        reply
    }

    /// Runs a command of any bytes.
    pub(crate) fn words(&self, words: &[&[u8]]) -> Reply {
        self.all(&[words.iter().map(|word| word.to_vec()).collect()]).remove(0)
    }

    /// Runs many commands at once.
    pub(crate) fn all(&self, commands: &[Vec<Vec<u8>>]) -> Vec<Reply> {
        exchange(&self.place(), commands)
    }
}

/// What the server at `place` answers to these commands, which are sent at once.
pub(crate) fn exchange(place: &str, commands: &[Vec<Vec<u8>>]) -> Vec<Reply> {
    let mut stream = TcpStream::connect(place).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let mut answers = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut replies = Vec::new();
    // In pieces, so that neither side waits for the other to read.
    for commands in commands.chunks(100) {
        let mut sent = Vec::new();
        for words in commands {
            sent.extend(format!("*{}\r\n", words.len()).into_bytes());
            for word in words {
                sent.extend(format!("${}\r\n", word.len()).into_bytes());
                sent.extend_from_slice(word);
                sent.extend(b"\r\n");
            }
        }
        stream.write_all(&sent).expect("it takes commands");
        replies.extend(commands.iter().map(|_| Reply::read(&mut answers).expect("an answer in time")));
    }
    replies
}

impl Drop for Redis {
    fn drop(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    /// The next answer of a connection.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Self> {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        let (kind, rest) = text.split_at_checked(1).expect("an answer is not empty");
        let number = || rest.parse::<i64>().expect("a number");
        Ok(match (kind, rest) {
            ("+", _) => Self::Text(rest.as_bytes().to_vec()),
            ("-", _) => Self::Error(rest.to_owned()),
            (":", _) => Self::Number(number()),
            (_, "-1") => Self::Nil,
            ("$", _) => {
                let mut text = vec![0; usize::try_from(number()).expect("a length") + 2];
                from.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                Self::Text(text)
            }
            _ => Self::List((0..number()).map(|_| Self::read(from)).collect::<io::Result<_>>()?),
        })
    }

    /// A number.
    pub(crate) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            other => panic!("not a number: {other:?}"),
        }
    }

    /// What stands in a list.
    pub(crate) fn list(&self) -> &[Reply] {
        match self {
            Self::List(items) => items,
            other => panic!("not a list: {other:?}"),
        }
    }

    /// A text, or a number as text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Self::Number(number) => number.to_string(),
            Self::Nil => "nil".to_owned(),
            other => panic!("not a text: {other:?}"),
        }
    }

    /// What stands behind a name, where names and values take turns.
    pub(crate) fn field(&self, name: &str) -> &Reply {
        let is_it = |pair: &&[Reply]| matches!(&pair[0], Reply::Text(text) if text == name.as_bytes());
        let pair = self.list().chunks(2).find(is_it);
        &pair.unwrap_or_else(|| panic!("no {name} in {self:?}"))[1]
    }
}

/// What a go-between does with bytes from the client: whether they go on, and what the client gets from it.
pub(crate) enum Pass {
    /// They go on to the server.
    On,
    /// The client gets this, and the server nothing.
    Instead(Vec<u8>),
    /// The connection is cut; the first so many bytes go on before that.
    Cut(usize),
}

/// Where a go-between of `to` listens. `sent` sees what clients send, `answered` changes what servers answer.
pub(crate) fn between(
    to: &str,
    sent: impl FnMut(&[u8]) -> Pass + Send + 'static,
    answered: fn(&mut [u8]),
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = listener.local_addr().expect("it is bound").to_string();
    let to = to.to_owned();
    let sent = Arc::new(Mutex::new(sent));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&to).expect("the server listens");
            let (client_too, server_too) = (client.try_clone(), server.try_clone());
            let (client_too, server_too) = (client_too.expect("a handle"), server_too.expect("a handle"));
            std::thread::spawn(move || answers(server_too, client_too, answered));
            let sent = Arc::clone(&sent);
            std::thread::spawn(move || {
                commands(client, server, &mut *sent.lock().expect("no other connection panics"));
            });
        }
    });
    place
}

fn commands(mut client: TcpStream, mut server: TcpStream, sent: &mut dyn FnMut(&[u8]) -> Pass) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        match sent(&bytes[..count]) {
            Pass::On => server.write_all(&bytes[..count]).unwrap_or_default(),
            Pass::Instead(answer) => client.write_all(&answer).unwrap_or_default(),
            Pass::Cut(rest) => {
                server.write_all(&bytes[..rest]).unwrap_or_default();
                break;
            }
        }
    }
    // Either may have closed it already.
    let _ = server.shutdown(Shutdown::Write);
    let _ = client.shutdown(Shutdown::Both);
}

fn answers(mut server: TcpStream, mut client: TcpStream, answered: fn(&mut [u8])) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        answered(&mut bytes[..count]);
        if client.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}
