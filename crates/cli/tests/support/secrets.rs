//! What no server may tell.
//!
//! Lives here: finding keys and lease tokens in a text, whoever's they are, and the forms in which one that
//! is known may hide. Not here: where texts come from (`server.rs`, `secrets.rs` of the tests).

/// Characters of a lease token.
const TOKEN_CHARS: usize = 43;
/// Characters of a key's public part, `nvk_` and all: more of one is a secret.
const PUBLIC_CHARS: usize = 30;

/// Panics where `text` holds a key with more than its public part, or what looks like a lease token.
pub(crate) fn assert_no_secret(what: &str, text: &str) {
    for line in text.lines() {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        for run in line.split(|c| !is_inside(c)) {
            let key = run.find("nvk_").is_some_and(|start| run.len() - start > PUBLIC_CHARS);
            let has = |is: fn(&char) -> bool| run.chars().any(|c| is(&c));
            let token = run.len() == TOKEN_CHARS
                && has(char::is_ascii_uppercase)
                && has(char::is_ascii_lowercase)
                && has(char::is_ascii_digit);
            assert!(!key && !token, "a secret is in {what}: {line}");
        }
    }
}

/// `secret` as it is, in base64 (of both alphabets and at each place in a longer text), in hex, and
/// escaped as in a URL.
pub(crate) fn forms(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex = |upper: bool| {
        let digits = |byte: &u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        bytes.iter().map(digits).collect::<String>()
    };
    let escaped: String = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
    let lists = [format!("{bytes:?}"), bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()];
    let mut forms = vec![secret.to_owned(), hex(true), hex(false), escaped.to_lowercase(), escaped];
    forms.extend(lists.map(|list| list.trim_matches(['[', ']']).to_owned()));
    for skipped in 0..3 {
        let text = base64(&bytes[skipped..bytes.len() - (bytes.len() - skipped) % 3]);
        forms.push(text.replace('+', "-").replace('/', "_"));
        forms.push(text);
    }
    forms
}

/// The base64 of bytes whose number three divides.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let chars = bytes.chunks(3).flat_map(|group| {
        let bits = group.iter().fold(0usize, |bits, byte| (bits << 8) | usize::from(*byte));
        [18, 12, 6, 0].map(|place| char::from(ALPHABET[(bits >> place) & 63]))
    });
    chars.collect()
}
