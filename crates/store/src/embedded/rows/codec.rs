//! Bytes of rows and log records: varints, texts, options.
//!
//! Lives here: writing and reading single values. Not here: which values make a row.

use bytes::{Buf, BufMut, Bytes};

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Enc(pub(crate) Vec<u8>);

impl Enc {
    /// Takes the buffer.
    pub(crate) fn done(self) -> Bytes {
        Bytes::from(self.0)
    }

    /// One byte.
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.put_u8(value);
        self
    }

    /// A truth value.
    pub(crate) fn flag(&mut self, value: bool) -> &mut Self {
        self.u8(u8::from(value))
    }

    /// A number, seven bits a byte.
    pub(crate) fn u64(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.0.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8)
    }

    /// A number, seven bits a byte.
    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.u64(u64::from(value))
    }

    /// A signed number: small ones of either sign are short.
    pub(crate) fn i64(&mut self, value: i64) -> &mut Self {
        self.u64(((value << 1) ^ (value >> 63)) as u64)
    }

    /// 128 bits, all of them.
    pub(crate) fn u128(&mut self, value: u128) -> &mut Self {
        self.0.put_u128(value);
        self
    }

    /// Bytes behind their length.
    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.u64(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A text behind its length.
    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    /// Whether there is a value, then the value.
    pub(crate) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
        self
    }

    /// How many, then each.
    pub(crate) fn list<T>(&mut self, values: &[T], put: impl Fn(&mut Self, &T)) -> &mut Self {
        self.u64(values.len() as u64);
        for value in values {
            put(self, value);
        }
        self
    }
}

/// Reads values in the order in which they were written; none where the bytes do not fit.
#[derive(Debug)]
pub(crate) struct Dec(pub(crate) Bytes);

impl Dec {
    /// One byte.
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.0.has_remaining().then(|| self.0.get_u8())
    }

    /// A truth value.
    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A number, in the one form in which it is written: no zeros lead it, and nothing of it is lost.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            value |= part << shift;
            if byte < 0x80 {
                let is_shortest = part > 0 || shift == 0;
                return (is_shortest && part <= u64::MAX >> shift).then_some(value);
            }
        }
        None
    }

    /// A number of at most 32 bits.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.u64()?.try_into().ok()
    }

    /// A signed number.
    pub(crate) fn i64(&mut self) -> Option<i64> {
        let value = self.u64()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// 128 bits.
    pub(crate) fn u128(&mut self) -> Option<u128> {
        (self.0.remaining() >= 16).then(|| self.0.get_u128())
    }

    /// Bytes behind their length; shares the buffer.
    pub(crate) fn bytes(&mut self) -> Option<Bytes> {
        let length = usize::try_from(self.u64()?).ok()?;
        (self.0.remaining() >= length).then(|| self.0.split_to(length))
    }

    /// A text behind its length.
    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.into()).ok()
    }

    /// A value, where there is one.
    pub(crate) fn option<T>(&mut self, get: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { get(self).map(Some) } else { Some(None) }
    }

    /// A list.
    pub(crate) fn list<T>(&mut self, get: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        // No room is reserved from an announced length: the list grows as values are found.
        let length = self.u64()?;
        let mut values = Vec::new();
        for _ in 0..length {
            values.push(get(self)?);
        }
        Some(values)
    }

    /// `value`, if nothing is left over.
    pub(crate) fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_in_another_form_than_its_own_is_none() {
        let read = |bytes: &'static [u8]| Dec(Bytes::from_static(bytes)).u64();
        assert_eq!(read(&[0x80, 0]), None, "a leading zero");
        assert_eq!(read(&[0xff, 0x80, 0]), None, "and behind others");
        assert_eq!(read(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Some(u64::MAX));
        assert_eq!(read(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"), None, "more than 64 bits");
    }

    proptest! {
        #[test]
        fn values_come_back(a: u64, b: i64, c: u128, d: Vec<u8>, e: String, f: Option<u32>, g: Vec<u64>) {
            let mut enc = Enc::default();
            enc.u64(a).i64(b).u128(c).bytes(&d).text(&e);
            enc.option(f, |enc, f| { enc.u32(f); }).list(&g, |enc, g| { enc.u64(*g); });
            let mut dec = Dec(enc.done());
            prop_assert_eq!(dec.u64(), Some(a));
            prop_assert_eq!(dec.i64(), Some(b));
            prop_assert_eq!(dec.u128(), Some(c));
            prop_assert_eq!(dec.bytes(), Some(Bytes::from(d)));
            prop_assert_eq!(dec.text(), Some(e));
            prop_assert_eq!(dec.option(Dec::u32), Some(f));
            prop_assert_eq!(dec.list(Dec::u64), Some(g));
            prop_assert_eq!(dec.end(()), Some(()));
        }

        #[test]
        fn a_number_is_read_in_the_one_form_in_which_it_is_written(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let mut dec = Dec(Bytes::from(bytes.clone()));
            if let Some(number) = dec.u64() {
                let mut enc = Enc::default();
                enc.u64(number);
                prop_assert_eq!(enc.done(), &bytes[..bytes.len() - dec.0.len()]);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut dec = Dec(Bytes::from(bytes));
            let _ = (dec.u64(), dec.text(), dec.list(Dec::bytes), dec.option(Dec::u128));
            prop_assert!(dec.0.len() < 1 << 20);
        }
    }
}
