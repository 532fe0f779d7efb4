//! Commands that are typed by hand: the words of a line, as Valkey 9.1.2 splits it.
//!
//! Lives here: a table of lines. Not here: lines that are no commands (`malformed.rs`).

use super::pieces::decode;
use crate::redis::frame::Bounds;

/// A line without its end, and its words.
const LINES: [(&str, &[&str]); 24] = [
    ("PING", &["PING"]),
    ("  PING  ", &["PING"]),
    ("XADD s * f v", &["XADD", "s", "*", "f", "v"]),
    ("ECHO\ta", &["ECHO", "a"]),
    ("ECHO \"a b\"", &["ECHO", "a b"]),
    ("ECHO 'a b'", &["ECHO", "a b"]),
    ("ECHO \"\"", &["ECHO", ""]),
    ("ECHO ''", &["ECHO", ""]),
    ("\"\"", &[""]),
    ("ECHO \"a'b\" 'a\"b'", &["ECHO", "a'b", "a\"b"]),
    ("ECHO 'a\\'b'", &["ECHO", "a'b"]),
    // Only a quote is escaped between single quotes.
    ("ECHO 'a\\nb\\x41\\\\b'", &["ECHO", "a\\nb\\x41\\\\b"]),
    ("ECHO \"\\n\\r\\t\\b\\a\\\\\\\"\"", &["ECHO", "\n\r\t\u{8}\u{7}\\\""]),
    ("ECHO \"\\q\\'\"", &["ECHO", "q'"]),
    ("ECHO \"\\x41\\x6a\\x6A\\x00\"", &["ECHO", "Ajj\0"]),
    ("ECHO \"\\xZZ\\x4\"", &["ECHO", "xZZx4"]),
    // Quotes inside a word belong to it.
    ("ECHO a\"b c\"d", &["ECHO", "ab cd"]),
    ("ECHO \"a\"b", &["ECHO", "ab"]),
    ("ECHO 'a'b\"c\"", &["ECHO", "abc"]),
    // A backslash outside of quotes is a character.
    ("ECHO a\\nb \\x41", &["ECHO", "a\\nb", "\\x41"]),
    ("ECHO a\rb", &["ECHO", "a", "b"]),
    ("PING\r", &["PING"]),
    // Vertical tab and form feed part words but do not end one.
    ("ECHO \u{b}a\u{c} \u{c}b\u{b}c", &["ECHO", "a\u{c}", "b\u{b}c"]),
    ("+PING :1 (2", &["+PING", ":1", "(2"]),
];

#[test]
fn a_line_is_split_into_words_as_valkey_splits_it() {
    for (line, wanted) in LINES {
        let wanted: Vec<Vec<u8>> = wanted.iter().map(|word| word.as_bytes().to_vec()).collect();
        for line_end in ["\n", "\r\n"] {
            let bytes = format!("{line}{line_end}");
            let decoded = decode(Bounds::BEFORE_AUTH, [bytes.as_bytes()]);
            assert_eq!(decoded.error, None, "{line:?}");
            assert_eq!(decoded.commands, std::slice::from_ref(&wanted), "{line:?}");
        }
    }
}

#[test]
fn a_blank_line_is_no_command() {
    for line in ["\n", "\r\n", "  \r\n", "\t\u{b}\u{c}\n", "\r\r\r\n"] {
        let bytes = format!("{line}PING\r\n");
        let decoded = decode(Bounds::BEFORE_AUTH, [bytes.as_bytes()]);
        assert_eq!(decoded.commands, [[b"PING".to_vec()]], "{line:?}");
    }
}

#[test]
fn the_words_of_web_requests_are_arguments_where_they_are_not_first() {
    let decoded = decode(Bounds::BEFORE_AUTH, [&b"ECHO GET\r\n*1\r\n$3\r\nGET\r\n"[..]]);
    assert_eq!(decoded.error, None);
    assert_eq!(decoded.commands.len(), 2, "from an array it is a name that no command has");
}
