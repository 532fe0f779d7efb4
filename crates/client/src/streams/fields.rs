//! What an entry holds.
//!
//! Lives here: its fields, and reading them as what a handler takes. Not here: the entry in a handler's hands (`entry.rs`).

use serde::de::DeserializeOwned;

/// An entry's fields with their values, byte for byte and in order. A name may come twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(Vec<(Vec<u8>, Vec<u8>)>);

impl Fields {
    pub(super) fn from_flat(texts: Vec<Vec<u8>>) -> Self {
        let mut pairs = Vec::with_capacity(texts.len() / 2);
        let mut texts = texts.into_iter();
        while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
            pairs.push((name, value));
        }
        Self(pairs)
    }

    /// The value of a field: of its first one, where there are several.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The same as text; none also where it is not UTF-8.
    pub fn text(&self, name: impl AsRef<[u8]>) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there are none, which a stream does not hold.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a handler takes, read from the fields of an entry.
pub trait FromFields: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// In words, why the fields are none of these.
    fn from_fields(fields: &Fields) -> Result<Self, String>;
}

/// The fields as they are: for entries of any shape.
impl FromFields for Fields {
    fn from_fields(fields: &Fields) -> Result<Self, String> {
        Ok(fields.clone())
    }
}

/// An entry of the shape `{event, payload, ts}`, whose payload is JSON text and is read as a `T`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envelope<T> {
    /// What happened, such as `order.paid`.
    pub event: String,
    /// What is told of it.
    pub payload: T,
    /// When it was written, as its writer put it; empty where nothing was put.
    pub ts: String,
}

impl<T: DeserializeOwned> FromFields for Envelope<T> {
    fn from_fields(fields: &Fields) -> Result<Self, String> {
        let text = |name: &str| match fields.get(name) {
            Some(value) => std::str::from_utf8(value).map_err(|_| format!("the field '{name}' is not UTF-8")),
            None => Err(format!("there is no field '{name}'")),
        };
        let payload = serde_json::from_str(text("payload")?)
            .map_err(|error| format!("the field 'payload' is not what the handler takes: {error}"))?;
        let ts = if fields.get("ts").is_some() { text("ts")?.to_owned() } else { String::new() };
        Ok(Self { event: text("event")?.to_owned(), payload, ts })
    }
}

/// One field of JSON text, read as a `T`: the field named `payload`, or the only one there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromFields for Json<T> {
    fn from_fields(fields: &Fields) -> Result<Self, String> {
        let only = match fields.0.as_slice() {
            [(_, value)] => Some(value.as_slice()),
            _ => fields.get("payload"),
        };
        let value = only.ok_or("there are several fields, and none is named 'payload'")?;
        serde_json::from_slice(value)
            .map(Json)
            .map_err(|error| format!("the payload is not what the handler takes: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let texts =
            pairs.iter().flat_map(|(name, value)| [name.as_bytes().to_vec(), value.as_bytes().to_vec()]);
        Fields::from_flat(texts.collect())
    }

    #[test]
    fn an_envelope_has_json_in_its_payload() {
        let given = fields(&[("event", "order.paid"), ("payload", "{\"n\":7}"), ("ts", "1764426154123")]);
        let read: Envelope<serde_json::Value> = Envelope::from_fields(&given).unwrap();
        assert_eq!((read.event.as_str(), read.payload["n"].as_u64()), ("order.paid", Some(7)));
        assert_eq!(read.ts, "1764426154123");
    }

    #[test]
    fn what_is_no_envelope_says_why() {
        let why = |pairs: &[(&str, &str)]| Envelope::<u32>::from_fields(&fields(pairs)).unwrap_err();
        assert_eq!(why(&[("event", "e")]), "there is no field 'payload'");
        assert_eq!(why(&[("payload", "1")]), "there is no field 'event'");
        assert!(why(&[("event", "e"), ("payload", "x")]).starts_with("the field 'payload' is not what"));
    }

    #[test]
    fn the_first_of_two_fields_of_one_name_counts_and_both_are_kept() {
        let given = fields(&[("a", "1"), ("a", "2")]);
        assert_eq!((given.text("a"), given.len()), (Some("1"), 2));
        assert_eq!(Json::<u32>::from_fields(&fields(&[("n", "5")])), Ok(Json(5)));
    }
}
