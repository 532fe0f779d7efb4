//! A reader of replies, written from the protocol's description and not from the writer.
//!
//! Lives here: bytes to values. Not here: what the values should be (`replies.rs`).

/// A reply as a client sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Integer(i64),
    Bulk(Vec<u8>),
    /// A null with the bytes that said so.
    Null(&'static str),
    /// A list with the byte that began it: `*`, `~`, `>`.
    List(char, Vec<Seen>),
    Map(Vec<(Seen, Seen)>),
    /// The text of a double.
    Double(String),
    Boolean(bool),
    BigNumber(Vec<u8>),
    Verbatim(Vec<u8>),
}

/// All replies in `bytes`, which must end where one ends.
pub(crate) fn read_all(mut bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        seen.push(read(&mut bytes));
    }
    seen
}

fn read(bytes: &mut &[u8]) -> Seen {
    let (&kind, rest) = bytes.split_first().expect("a reply begins");
    *bytes = rest;
    let line = line(bytes);
    match kind {
        b'+' => Seen::Simple(line),
        b'-' => Seen::Error(line),
        b':' => Seen::Integer(number(&line)),
        b'$' if line == b"-1" => Seen::Null("$-1"),
        b'*' if line == b"-1" => Seen::Null("*-1"),
        b'_' if line.is_empty() => Seen::Null("_"),
        b'$' => Seen::Bulk(blob(bytes, number(&line))),
        b'=' => Seen::Verbatim(blob(bytes, number(&line))),
        b'*' | b'~' | b'>' => Seen::List(char::from(kind), (0..number(&line)).map(|_| read(bytes)).collect()),
        b'%' => Seen::Map((0..number(&line)).map(|_| (read(bytes), read(bytes))).collect()),
        b',' => Seen::Double(String::from_utf8(line).expect("a double is text")),
        b'#' if line == b"t" => Seen::Boolean(true),
        b'#' if line == b"f" => Seen::Boolean(false),
        b'(' => Seen::BigNumber(line),
        other => panic!("'{}' begins no reply", char::from(other)),
    }
}

/// The bytes up to the first carriage return, which a line feed follows.
fn line(bytes: &mut &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'\r').expect("a line ends");
    let line = bytes[..end].to_vec();
    assert_eq!(bytes[end + 1], b'\n');
    assert!(!line.contains(&b'\n'), "a line feed inside a line");
    *bytes = &bytes[end + 2..];
    line
}

fn blob(bytes: &mut &[u8], length: i64) -> Vec<u8> {
    let length = usize::try_from(length).expect("a length");
    let blob = bytes[..length].to_vec();
    assert_eq!(&bytes[length..length + 2], b"\r\n");
    *bytes = &bytes[length + 2..];
    blob
}

fn number(line: &[u8]) -> i64 {
    std::str::from_utf8(line).expect("a number is text").parse().expect("a number")
}
