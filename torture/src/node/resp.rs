//! A client of the Redis door, as small as one can be.
//!
//! Lives here: one call at a time, as RESP2 has it. Not here: what is called (`reader.rs`, `crate::soak`).

use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use turmoil::net::TcpStream;

/// A value within a value.
type Boxed<'a> = Pin<Box<dyn Future<Output = io::Result<Value>> + Send + 'a>>;

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Nothing,
    Many(Vec<Value>),
    Error(String),
}

impl Value {
    pub(crate) fn many(&self) -> &[Self] {
        if let Self::Many(values) = self { values } else { &[] }
    }

    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) | Self::Error(text) = self { text } else { "" }
    }
}

/// A connection.
pub(crate) struct Client<S = TcpStream> {
    stream: BufReader<S>,
    patience: Duration,
}

fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

impl Client {
    pub(crate) async fn connect(address: &str, key: &str, patience: Duration) -> io::Result<Self> {
        let stream = tokio::time::timeout(patience, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| timed_out())??;
        Self::over(BufReader::new(stream), key, patience).await
    }
}

/// A call as bytes.
pub(crate) fn bytes_of(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Client<S> {
    /// Over a connection that is there.
    pub(crate) async fn over(stream: BufReader<S>, key: &str, patience: Duration) -> io::Result<Self> {
        let mut client = Self { stream, patience };
        match client.call(&["AUTH", key]).await? {
            Value::Text(_) => Ok(client),
            other => Err(io::Error::other(format!("{other:?}"))),
        }
    }

    /// Sends bytes without waiting for what comes of them.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes).await
    }

    /// After an error the connection is of no use any more.
    pub(crate) async fn call(&mut self, words: &[&str]) -> io::Result<Value> {
        let bytes = bytes_of(words);
        let (stream, patience) = (&mut self.stream, self.patience);
        let asked = async {
            stream.get_mut().write_all(&bytes).await?;
            value(stream).await
        };
        tokio::time::timeout(patience, asked).await.map_err(|_| timed_out())?
    }
}

fn inner<S: AsyncRead + Unpin + Send>(stream: &mut BufReader<S>) -> Boxed<'_> {
    Box::pin(value(stream))
}

async fn value<S: AsyncRead + Unpin + Send>(stream: &mut BufReader<S>) -> io::Result<Value> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).ok_or(io::ErrorKind::InvalidData)?;
    let number = || rest.parse::<i64>().map_err(io::Error::other);
    Ok(match kind {
        "+" => Value::Text(rest.to_owned()),
        "-" => Value::Error(rest.to_owned()),
        ":" => Value::Number(number()?),
        "$" => match usize::try_from(number()?) {
            Err(_) => Value::Nothing,
            Ok(len) => {
                let mut bytes = vec![0; len + 2];
                stream.read_exact(&mut bytes).await?;
                bytes.truncate(len);
                Value::Text(String::from_utf8(bytes).map_err(io::Error::other)?)
            }
        },
        "*" => match usize::try_from(number()?) {
            Err(_) => Value::Nothing,
            Ok(len) => {
                let mut values = Vec::new();
                for _ in 0..len {
                    values.push(inner(stream).await?);
                }
                Value::Many(values)
            }
        },
        other => return Err(io::Error::other(format!("a reply of kind {other}"))),
    })
}
