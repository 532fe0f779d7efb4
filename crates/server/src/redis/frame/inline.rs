//! Commands that are typed by hand: words in one line.
//!
//! Lives here: the rules of quoting, which are those of Valkey 9, and the words that give a web request away.
//! Not here: where a line ends (`decode.rs`).

use bytes::Bytes;

use super::protocol_error::ProtocolError;

/// First words of requests that a web browser can be made to send. None is a command of ours.
const HTTP_WORDS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "HOST:"];

/// The words of `line`, none for a blank one. `too_many` is the refusal of more than `words_max` of them.
///
/// Words without quotes are views of the line.
pub(super) fn words(
    line: &Bytes,
    words_max: usize,
    too_many: ProtocolError,
) -> Result<Vec<Bytes>, ProtocolError> {
    let mut reader = Reader { line, at: 0 };
    let mut words = Vec::new();
    while let Some(word) = reader.word()? {
        let is_first = words.is_empty();
        if is_first && HTTP_WORDS.iter().any(|verb| word.eq_ignore_ascii_case(verb.as_bytes())) {
            return Err(ProtocolError::HttpRequest);
        }
        if words.len() == words_max {
            return Err(too_many);
        }
        words.push(word);
    }
    Ok(words)
}

struct Reader<'a> {
    line: &'a Bytes,
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self) -> Result<Option<Bytes>, ProtocolError> {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        let start = self.at;
        // What was unquoted so far; none while the word is a view of the line.
        let mut unquoted: Option<Vec<u8>> = None;
        while let Some(byte) = self.peek().filter(|byte| !ends_word(*byte)) {
            self.at += 1;
            if matches!(byte, b'"' | b'\'') {
                let so_far = self.at - 1;
                let word = unquoted.get_or_insert_with(|| self.line.slice(start..so_far).to_vec());
                self.at = quoted(self.line, self.at, byte, word)?;
            } else if let Some(word) = &mut unquoted {
                word.push(byte);
            }
        }
        Ok(match unquoted {
            Some(word) => Some(Bytes::from(word)),
            None if self.at == start => None,
            None => Some(self.line.slice(start..self.at)),
        })
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }
}

/// Appends to `word` what stands between the quote before `at` and the next one, and answers where to go on.
fn quoted(line: &[u8], mut at: usize, quote: u8, word: &mut Vec<u8>) -> Result<usize, ProtocolError> {
    loop {
        let rest = line.get(at..).unwrap_or_default();
        let (byte, length) = match rest {
            [] => return Err(ProtocolError::UnbalancedQuotes),
            [first, ..] if *first == quote => return Ok(at + 1),
            [b'\\', b'x', high, low, ..] if quote == b'"' => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 4),
                // Not a number after all: the x stands for itself, as any escaped letter does.
                _ => (b'x', 2),
            },
            [b'\\', escaped, ..] if quote == b'"' => (unescaped(*escaped), 2),
            [b'\\', b'\'', ..] => (b'\'', 2),
            [other, ..] => (*other, 1),
        };
        word.push(byte);
        at += length;
    }
}

/// What a letter after a backslash stands for.
fn unescaped(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Whether `byte` may stand before a word: what C calls a space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Whether `byte` ends a word without quotes: vertical tab and form feed do not.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
