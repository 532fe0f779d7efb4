//! Crockford base32, lower case: the alphabet of every id.
//!
//! Lives here: 128 bits to 26 characters and back, and any bytes to text (keys' secrets).
//! Not here: what the bits mean (`id.rs`).

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The 26 characters of `value`, most significant first.
pub fn encode_u128(value: u128) -> String {
    (0..26).rev().map(|place| char::from(ALPHABET[((value >> (place * 5)) & 31) as usize])).collect()
}

/// The value of exactly 26 characters, or `None` where one is not of the alphabet or the value
/// would need more than 128 bits. Only the one canonical form is taken: ids are compared as text.
pub fn decode_u128(text: &str) -> Option<u128> {
    if text.len() != 26 || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |value, byte| {
        let digit = ALPHABET.iter().position(|&a| a == byte)?;
        Some((value << 5) | digit as u128)
    })
}

/// `bytes` as text, 5 bits a character, the last one padded with zero bits.
pub fn encode_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut buffer, mut bits) = (0u32, 0u32);
    for &byte in bytes {
        buffer = (buffer << 8) | u32::from(byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(ALPHABET[((buffer >> bits) & 31) as usize]));
        }
    }
    if bits > 0 {
        text.push(char::from(ALPHABET[((buffer << (5 - bits)) & 31) as usize]));
    }
    text
}

/// True where every character of `text` is of the alphabet.
pub fn is_base32(text: &str) -> bool {
    text.bytes().all(|byte| ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_and_smallest_values_come_back() {
        for value in [0, 1, u128::MAX, 1 << 127, 0x0123_4567_89ab_cdef] {
            assert_eq!(decode_u128(&encode_u128(value)), Some(value));
        }
    }

    #[test]
    fn what_is_not_canonical_is_refused() {
        let good = encode_u128(u128::MAX);
        assert_eq!(decode_u128(&good.to_uppercase()), None, "upper case");
        assert_eq!(decode_u128(&good[1..]), None, "too short");
        assert_eq!(decode_u128(&format!("8{}", &good[1..])), None, "more than 128 bits");
        assert_eq!(decode_u128(&format!("{}u", &good[1..])), None, "not of the alphabet");
        assert_eq!(decode_u128("ééééééééééééé"), None, "26 bytes of other letters");
    }

    #[test]
    fn thirty_two_bytes_make_fifty_two_characters() {
        let text = encode_bytes(&[0xff; 32]);
        assert_eq!(text.len(), 52);
        assert!(is_base32(&text));
        assert!(!is_base32("abcu"));
    }
}
