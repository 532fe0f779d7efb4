//! Fields and values as a body's bytes.
//!
//! Lives here: how pairs of any bytes are packed, and unpacked in the same order with the same doubles. Not
//! here: what doors make of them (`naven-server`).

use bytes::{BufMut, Bytes, BytesMut};

use super::{Body, Form};

/// Each seven bits of a length take a byte, the low ones first; the top bit says that more follow.
const MORE: u8 = 0x80;
/// Longest length, in bytes: one of 64 bits.
const LENGTH_BYTES_MAX: u32 = 10;

impl Body {
    /// The body of these fields and values.
    pub fn of_fields(pairs: &[(Bytes, Bytes)]) -> Self {
        let texts = pairs.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        let mut bytes = BytesMut::with_capacity(texts);
        for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
            put_length(&mut bytes, text.len());
            bytes.put_slice(text);
        }
        Self { form: Form::Fields, bytes: bytes.freeze() }
    }

    /// The fields and values of a body of that form; none for the other form, and for bytes that
    /// [`Body::of_fields`] did not make.
    pub fn fields(&self) -> Option<Vec<(Bytes, Bytes)>> {
        if self.form != Form::Fields {
            return None;
        }
        let mut rest = self.bytes.clone();
        let mut pairs = Vec::new();
        while !rest.is_empty() {
            pairs.push((take(&mut rest)?, take(&mut rest)?));
        }
        Some(pairs)
    }
}

fn put_length(bytes: &mut BytesMut, length: usize) {
    let mut rest = length as u64;
    loop {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            return bytes.put_u8(low);
        }
        bytes.put_u8(low | MORE);
    }
}

fn take(rest: &mut Bytes) -> Option<Bytes> {
    let mut length = 0u64;
    for at in 0..LENGTH_BYTES_MAX {
        let byte = *rest.first()?;
        drop(rest.split_to(1));
        length |= u64::from(byte & !MORE).checked_shl(7 * at)?;
        if byte & MORE == 0 {
            let length = usize::try_from(length).ok().filter(|length| *length <= rest.len())?;
            return Some(rest.split_to(length));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn body(bytes: &[u8]) -> Body {
        Body { form: Form::Fields, bytes: Bytes::copy_from_slice(bytes) }
    }

    #[test]
    fn bytes_that_are_no_fields_give_none() {
        for bad in [&b"\x01a"[..], b"\x01", b"\x02a\x00", b"\x80", b"\x00", &[0xff; 12]] {
            assert_eq!(body(bad).fields(), None, "{bad:?}");
        }
        assert_eq!(body(b"").fields(), Some(Vec::new()));
        assert_eq!(Body { form: Form::Json, ..body(b"\x01a\x00") }.fields(), None);
    }

    #[test]
    fn a_long_value_comes_back() {
        let pairs = vec![(Bytes::from_static(b"f"), Bytes::from(vec![7; 70_000]))];
        assert_eq!(Body::of_fields(&pairs).fields(), Some(pairs));
    }

    proptest! {
        #[test]
        fn fields_come_back_in_order_with_their_doubles(
            pairs in proptest::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..8)
        ) {
            let mut pairs: Vec<(Bytes, Bytes)> =
                pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            pairs.extend(pairs.clone());
            prop_assert_eq!(Body::of_fields(&pairs).fields(), Some(pairs));
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in any::<Vec<u8>>()) {
            drop(body(&bytes).fields());
        }
    }
}
