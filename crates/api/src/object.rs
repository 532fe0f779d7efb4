//! Reading a request's JSON object, field by field.
//!
//! Lives here: taking a body apart into its fields without interpreting their values, and noting
//! missing, doubled, null and unknown ones. Not here: what single values must be (`value.rs`), and
//! which fields a request has (`publish.rs`, `claim.rs`, ...).
//!
//! Values stay raw text, so payloads pass through byte for byte, and no nesting recurses: skipping a
//! value is iterative in `serde_json`, and our own scans are too.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::field::{BadRequest, Faults, Rule, echo};
use crate::payload;

/// Fields of one object that are kept; the rest of a longer one is refused as unknown.
const FIELDS_MAX: usize = 256;

/// One object of a request while it is being read.
pub struct Object<'a> {
    path: String,
    fields: Vec<(String, &'a RawValue)>,
    faults: &'a Faults,
}

/// Reads `body` with `read`. An empty body means `{}`. `faults` holds those found
/// outside the body, and is judged together with it.
///
/// # Errors
/// All faults of the first kind that applies.
pub fn decode<T>(
    body: &[u8],
    faults: Faults,
    read: impl FnOnce(&mut Object<'_>) -> Option<T>,
) -> Result<T, BadRequest> {
    let decoded = Object::of_body(body, &faults).and_then(|mut object| {
        let decoded = read(&mut object);
        object.end();
        decoded
    });
    faults.verdict()?;
    // A reader that gives nothing has noted why; this is only for one that did not.
    decoded.ok_or_else(|| BadRequest::Invalid(Vec::new()))
}

impl<'a> Object<'a> {
    fn of_body(body: &'a [u8], faults: &'a Faults) -> Option<Self> {
        let Ok(text) = std::str::from_utf8(body) else {
            faults.malformed("it is not UTF-8");
            return None;
        };
        let text = if text.is_empty() { "{}" } else { text };
        let is_object = text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{');
        if !is_object {
            match serde_json::from_str::<&RawValue>(text) {
                Ok(raw) => not_an_object(raw, String::new(), faults),
                Err(why) => faults.malformed(why.to_string()),
            }
            return None;
        }
        match serde_json::from_str::<Fields<'a>>(text) {
            Ok(fields) => Some(Self { path: String::new(), fields: fields.0, faults }),
            Err(why) => {
                faults.malformed(why.to_string());
                None
            }
        }
    }

    fn of_value(raw: &'a RawValue, path: String, faults: &'a Faults) -> Option<Self> {
        if !raw.get().starts_with('{') {
            not_an_object(raw, path, faults);
            return None;
        }
        match serde_json::from_str::<Fields<'a>>(raw.get()) {
            Ok(fields) => Some(Self { path, fields: fields.0, faults }),
            Err(why) => {
                faults.malformed(why.to_string());
                None
            }
        }
    }

    /// Where `name` stands, for a fault's path.
    pub fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// True where `name` is there and was not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field == name)
    }

    /// True where `name` is there and null.
    pub fn is_null(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, raw)| field == name && raw.get() == "null")
    }

    /// Notes that `name` breaks `rule`, where a rule joins several fields.
    pub fn refuse(&self, name: &str, rule: &Rule) {
        self.faults.invalid(rule.broken_at(self.path_of(name)));
    }

    /// A field that has to be there.
    pub fn required<T>(&mut self, name: &str, rule: Rule, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        match self.take(name) {
            Some(raw) => self.read(name, raw, rule, read),
            None => {
                self.faults.invalid(rule.missing_at(self.path_of(name)));
                None
            }
        }
    }

    /// A field that may be absent; null is not absent.
    pub fn optional<T>(&mut self, name: &str, rule: Rule, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let raw = self.take(name)?;
        self.read(name, raw, rule, read)
    }

    /// A field of a change: absent leaves the setting, null sets `default`.
    pub fn changed<T>(
        &mut self,
        name: &str,
        default: T,
        rule: Rule,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let raw = self.take(name)?;
        if raw.get() == "null" { Some(default) } else { self.read(name, raw, rule, read) }
    }

    /// The raw text of a payload or a result: the values in which lone surrogates are kept.
    pub(crate) fn opaque<T>(
        &mut self,
        name: &str,
        rule: Rule,
        read: impl FnOnce(&'a RawValue) -> Option<T>,
    ) -> Option<T> {
        let Some(raw) = self.take_unseen(name) else {
            self.faults.invalid(rule.missing_at(self.path_of(name)));
            return None;
        };
        let value = read(raw);
        if value.is_none() {
            self.faults.invalid(rule.broken_at(self.path_of(name)));
        }
        value
    }

    /// The same for a value that may be absent; null is not absent.
    pub(crate) fn opaque_if_there<T>(
        &mut self,
        name: &str,
        rule: Rule,
        read: impl FnOnce(&'a RawValue) -> Option<T>,
    ) -> Option<T> {
        if self.has(name) { self.opaque(name, rule, read) } else { None }
    }

    /// An object within this one, which may be absent. `null_is_empty` as in a change.
    pub fn object(&mut self, name: &str, null_is_empty: bool) -> Option<Object<'a>> {
        let raw = self.take_unseen(name)?;
        let path = self.path_of(name);
        if null_is_empty && raw.get() == "null" {
            return Some(Self { path, fields: Vec::new(), faults: self.faults });
        }
        Self::of_value(raw, path, self.faults)
    }

    /// The objects of a list that has to be there and to hold 1 to `max` of them. Each is read with
    /// `read` and ended; nothing comes back where one of them is no object or gave nothing.
    pub fn objects<T>(
        &mut self,
        name: &str,
        max: usize,
        mut read: impl FnMut(&mut Object<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let rule = Rule::bounded(format!("a list of 1 to {max} objects"), 1, max as u64);
        let path = self.path_of(name);
        let Some(raw) = self.take_unseen(name) else {
            self.faults.invalid(rule.missing_at(path));
            return None;
        };
        let Ok(items) = serde_json::from_str::<Vec<&'a RawValue>>(raw.get()) else {
            self.note_surrogates(raw);
            self.faults.invalid(rule.broken_at(path));
            return None;
        };
        if items.is_empty() || items.len() > max {
            self.faults.invalid(rule.broken_at(path));
            return None;
        }
        let mut done = Vec::with_capacity(items.len());
        for (index, raw) in items.iter().enumerate() {
            if let Some(mut object) = Self::of_value(raw, format!("{path}[{index}]"), self.faults) {
                done.extend(read(&mut object));
                object.end();
            }
        }
        (done.len() == items.len()).then_some(done)
    }

    /// Every field of a map of free names, in order.
    pub(crate) fn entries(&mut self) -> Vec<(String, &'a RawValue)> {
        let fields = std::mem::take(&mut self.fields);
        fields.iter().for_each(|(_, raw)| self.note_surrogates(raw));
        fields
    }

    /// Notes what nobody asked for.
    pub fn end(&mut self) {
        for (name, raw) in std::mem::take(&mut self.fields) {
            self.note_surrogates(raw);
            self.faults.unknown(self.path_of(&echo(&name)));
        }
    }

    fn read<T>(
        &self,
        name: &str,
        raw: &RawValue,
        rule: Rule,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = read(raw.get());
        if value.is_none() {
            self.faults.invalid(rule.broken_at(self.path_of(name)));
        }
        value
    }

    fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let raw = self.take_unseen(name)?;
        self.note_surrogates(raw);
        Some(raw)
    }

    fn take_unseen(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.fields.iter().position(|(field, _)| field == name)?;
        let (_, raw) = self.fields.remove(at);
        let before = self.fields.len();
        self.fields.retain(|(field, _)| field != name);
        if self.fields.len() < before {
            self.refuse(name, &Rule::new("given once"));
        }
        Some(raw)
    }

    fn note_surrogates(&self, raw: &RawValue) {
        if payload::has_lone_surrogate(raw.get()) {
            self.faults.malformed("lone surrogate in a text");
        }
    }
}

fn not_an_object(raw: &RawValue, path: String, faults: &Faults) {
    if payload::has_lone_surrogate(raw.get()) {
        faults.malformed("lone surrogate in a text");
    }
    faults.invalid(Rule::new("a JSON object").broken_at(path));
}

struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields: Vec<(String, &'de RawValue)> = Vec::new();
        while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
            if fields.len() < FIELDS_MAX {
                fields.push((name, raw));
            }
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<u32> {
        text.parse().ok()
    }

    fn read_ab(body: &str) -> Result<(u32, Option<u32>), BadRequest> {
        decode(body.as_bytes(), Faults::default(), |object| {
            let a = object.required("a", Rule::new("a number"), number);
            let b = object.optional("b", Rule::new("a number"), number);
            Some((a?, b))
        })
    }

    fn paths(body: &str) -> (u32, Vec<String>) {
        match read_ab(body) {
            Err(BadRequest::Malformed(_)) => (40_000, Vec::new()),
            Err(BadRequest::Unknown(fields)) => (40_002, fields.into_iter().map(|f| f.path).collect()),
            Err(BadRequest::Invalid(fields)) => (40_001, fields.into_iter().map(|f| f.path).collect()),
            Ok(_) => (0, Vec::new()),
        }
    }

    #[test]
    fn fields_are_read_in_any_order_and_escapes_in_names_count() {
        assert_eq!(read_ab(r#" {"b":2,"\u0061":1} "#), Ok((1, Some(2))));
    }

    #[test]
    fn every_fault_of_the_first_kind_is_named() {
        assert_eq!(paths("{"), (40_000, vec![]));
        assert_eq!(paths("{} x"), (40_000, vec![]));
        assert_eq!(paths(r#"{"x":1,"y":2,"a":"no"}"#), (40_002, vec!["x".into(), "y".into()]));
        assert_eq!(paths(r#"{"a":"no","b":null}"#), (40_001, vec!["a".into(), "b".into()]));
        assert_eq!(paths(r#"{"a":1,"a":1}"#), (40_001, vec!["a".into()]));
        assert_eq!(paths(""), (40_001, vec!["a".into()]));
        assert_eq!(paths("[]"), (40_001, vec![String::new()]));
    }

    #[test]
    fn a_lone_surrogate_is_malformed_wherever_it_stands() {
        for body in [
            r#"{"a":"\ud800"}"#,
            r#"{"a":1,"z":["\udc00"]}"#,
            r#"{"\ud800":1}"#,
            r#"["\ud800"]"#,
            r#"{"a":{"b":"\ud800x"}}"#,
        ] {
            assert_eq!(paths(body).0, 40_000, "{body}");
        }
        assert_eq!(paths(r#"{"a":1,"z":"\ud83d\ude00 \\ud800"}"#).0, 40_002);
    }

    #[test]
    fn deep_nesting_does_not_recurse() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(paths(&deep), (40_001, vec!["a".into()]));
        assert_eq!(paths(&"[".repeat(100_000)).0, 40_000);
    }
}
