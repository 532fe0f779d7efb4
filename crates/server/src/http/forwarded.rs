//! What proxies say of the address that a request came to them from.
//!
//! Lives here: reading `Forwarded` (RFC 7239) and `X-Forwarded-For`, from the right. Not here: whose word is
//! taken (`caller_address.rs`).

use std::net::IpAddr;

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};

/// Most entries that are looked at, empty ones too.
const ENTRIES_MAX: usize = 32;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The addresses that the headers name, the one that was added last first. They end at the first entry that
/// names none: garbage, `unknown`, or a name that stands for an address (RFC 7239, section 6).
///
/// Where there is a `Forwarded`, whatever is in it, `X-Forwarded-For` is not looked at.
pub(super) fn addresses(headers: &HeaderMap) -> impl Iterator<Item = IpAddr> {
    let is_standard = headers.contains_key(FORWARDED);
    let name = if is_standard { FORWARDED } else { X_FORWARDED_FOR };
    let read =
        move |entry| if is_standard { element_address(entry) } else { node_address(&unquoted(entry)?) };
    let lines = headers.get_all(name).into_iter().rev();
    let entries = lines.flat_map(|line| from_right(line.as_bytes(), b',')).take(ENTRIES_MAX);
    // Empty entries of a list say nothing (RFC 9110, section 5.6.1.2).
    entries.filter(|entry| !entry.is_empty()).map_while(read)
}

/// The address in an element's one `for`; the other pairs need a name and a value, whatever it is.
fn element_address(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    for pair in from_right(element, b';').filter(|pair| !pair.is_empty()) {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&pair[..equals], &pair[equals + 1..]);
        if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
    }
    node_address(&unquoted(found?)?)
}

/// The parts of `text` between separators, the last one first, without the blanks around them. A separator
/// within quotes is none.
///
/// What stands further left cannot change what is read: a quote that a caller left open would otherwise
/// swallow what the proxy added behind it.
fn from_right(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let at = last_outside_quotes(text, separator);
        rest = at.map(|at| &text[..at]);
        Some(text[at.map_or(0, |at| at + 1)..].trim_ascii())
    })
}

fn last_outside_quotes(text: &[u8], separator: u8) -> Option<usize> {
    let mut is_quoted = false;
    for (at, byte) in text.iter().enumerate().rev() {
        if *byte == b'"' {
            let backslashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            is_quoted ^= backslashes % 2 == 0;
        } else if *byte == separator && !is_quoted {
            return Some(at);
        }
    }
    None
}

/// The text of a token or of a quoted string.
fn unquoted(value: &[u8]) -> Option<String> {
    let value = std::str::from_utf8(value).ok()?;
    let Some(rest) = value.strip_prefix('"') else {
        return Some(value.to_owned());
    };
    let mut text = String::new();
    let mut rest = rest.strip_suffix('"')?.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return None,
            '\\' => text.push(rest.next()?),
            other => text.push(other),
        }
    }
    Some(text)
}

/// The address of a node: an IPv4 address or an IPv6 one in brackets, with or without a port. An IPv6
/// address without brackets, as `X-Forwarded-For` has them, has no port.
fn node_address(node: &str) -> Option<IpAddr> {
    if let Ok(address) = node.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (address, port) = if let Some(rest) = node.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        (IpAddr::V6(address.parse().ok()?), port)
    } else {
        let (address, port) = node.split_at(node.find(':')?);
        (IpAddr::V4(address.parse().ok()?), port)
    };
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then(|| address.to_canonical())
}

/// Digits, or a name that stands for a port.
fn is_port(port: &str) -> bool {
    let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match port.strip_prefix('_') {
        Some(name) => !name.is_empty() && name.bytes().all(is_of_a_name),
        None => (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&'static str, &str)]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(*name, line.parse().unwrap());
        }
        addresses(&headers).map(|address| address.to_string()).collect()
    }

    /// Whole headers, and the addresses that they name from the right, with blanks between.
    const FORWARDED_LINES: [(&str, &str); 38] = [
        // The examples of RFC 7239.
        ("for=\"_gazonk\"", ""),
        ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
        ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17 192.0.2.43"),
        ("for=_hidden, for=_SEVKISEK", ""),
        (
            "for=192.0.2.43, for=198.51.100.17;by=203.0.113.60;proto=http;host=example.com",
            "198.51.100.17 192.0.2.43",
        ),
        ("for=192.0.2.43,for=\"[2001:db8:cafe::17]\",for=unknown", ""),
        ("for=192.0.2.43, for=\"[2001:db8:cafe::17]\"", "2001:db8:cafe::17 192.0.2.43"),
        ("for=_mdn, for=192.0.2.43", "192.0.2.43"),
        ("for=192.0.2.43, for=\"[2001:db8:cafe::17]\", for=unknown, for=198.51.100.17", "198.51.100.17"),
        ("for=\"192.0.2.43:47011\"", "192.0.2.43"),
        ("for=\"192.0.2.43:_port\"", "192.0.2.43"),
        ("proto=https;for=\"[2001:db8::1]:_a.b-c_d\"", "2001:db8::1"),
        // Spellings.
        ("FOR=192.0.2.1", "192.0.2.1"),
        ("for=192.0.2.1:80", "192.0.2.1"),
        ("for=[2001:db8::1]", "2001:db8::1"),
        ("for=2001:db8::1", "2001:db8::1"),
        ("for=\"[::ffff:192.0.2.1]\"", "192.0.2.1"),
        ("for=\"192.0.\\2.1\"", "192.0.2.1"),
        (" \tfor=192.0.2.1 ; proto=http\t,, ", "192.0.2.1"),
        ("host=\"a,b;for=6.6.6.6\";for=192.0.2.1", "192.0.2.1"),
        ("host=\"a\\\",for=6.6.6.6\";for=192.0.2.1", "192.0.2.1"),
        ("host=\"a\\\\\", for=192.0.2.1", "192.0.2.1"),
        // A quote that was left open does not hide what was added behind it.
        ("for=\"6.6.6.6, for=192.0.2.1", "192.0.2.1"),
        ("for=\"6.6.6.6, for=\"[2001:db8::1]\"", "2001:db8::1"),
        ("for=6.6.6.6, for=\"x, for=192.0.2.1", "192.0.2.1"),
        // What is none.
        ("", ""),
        ("192.0.2.1", ""),
        ("for=", ""),
        ("for=\"\"", ""),
        ("for=\"192.0.2.1", ""),
        ("for=192.0.2.1\"", ""),
        ("for=192.0.2.1;for=192.0.2.2", ""),
        ("for=192.0.2.1;secure", ""),
        ("by=192.0.2.1", ""),
        ("for=\"[192.0.2.1]\"", ""),
        ("for=\"[fe80::1%1]\"", ""),
        ("for=192.0.2.256, for=192.0.2.1", "192.0.2.1"),
    ];

    const X_FORWARDED_FOR_LINES: [(&str, &str); 17] = [
        ("192.0.2.43, 2001:db8:cafe::17", "2001:db8:cafe::17 192.0.2.43"),
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:80,192.0.2.2", "192.0.2.2 192.0.2.1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("\"[2001:db8::1]:80\"", "2001:db8::1"),
        ("for=192.0.2.1", ""),
        ("unknown, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, unknown", ""),
        ("192.0.2.1, evil\", 192.0.2.2", "192.0.2.2"),
        ("192.0.2.1:", ""),
        ("192.0.2.1:123456", ""),
        ("192.0.2.1:_", ""),
        ("[2001:db8::1]443", ""),
        ("010.0.0.1", ""),
        ("192.0.2.1, localhost", ""),
    ];

    #[test]
    fn headers_are_read_from_the_right_up_to_what_is_no_address() {
        for (name, rows) in
            [("forwarded", &FORWARDED_LINES[..]), ("x-forwarded-for", &X_FORWARDED_FOR_LINES[..])]
        {
            for (line, expected) in rows {
                assert_eq!(read(&[(name, line)]).join(" "), *expected, "{name}: {line}");
            }
        }
    }

    #[test]
    fn lines_of_one_name_are_one_list() {
        let of_two = [("x-forwarded-for", "192.0.2.1, 192.0.2.2"), ("x-forwarded-for", "192.0.2.3")];
        assert_eq!(read(&of_two), ["192.0.2.3", "192.0.2.2", "192.0.2.1"]);
    }

    #[test]
    fn the_standard_header_is_the_only_one_where_it_is_there() {
        for line in ["for=192.0.2.1", "garbage"] {
            let both = [("x-forwarded-for", "192.0.2.2"), ("forwarded", line)];
            assert!(!read(&both).contains(&"192.0.2.2".to_owned()), "{line}");
        }
    }

    #[test]
    fn entries_are_looked_at_up_to_a_bound() {
        let many = |count: usize| vec!["192.0.2.1"; count].join(",");
        assert_eq!(read(&[("x-forwarded-for", &many(32))]).len(), 32);
        assert_eq!(read(&[("x-forwarded-for", &many(33))]).len(), 32);
        let behind_empty_ones = |count: usize| format!("192.0.2.1{}", ",".repeat(count));
        assert_eq!(read(&[("x-forwarded-for", &behind_empty_ones(31))]).len(), 1);
        assert!(read(&[("x-forwarded-for", &behind_empty_ones(32))]).is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_name_nobody() {
        let mut headers = HeaderMap::new();
        headers.append("forwarded", http::HeaderValue::from_bytes(b"for=192.0.2.\xff1").unwrap());
        assert_eq!(addresses(&headers).next(), None);
    }
}
