//! What answers mean.
//!
//! Lives here: taking answers apart, and names as people read them. Not here: asking (`side.rs`).

use redis::Value;

use super::place::Place;

/// An entry: its place, and its fields and values in turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) fields: Vec<Vec<u8>>,
}

impl Entry {
    /// About as many bytes as it takes on the wire.
    pub(super) fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.len() + 16).sum::<usize>() + 32
    }
}

/// A line of a pending list.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) consumer: Vec<u8>,
    pub(super) idle_ms: u64,
    pub(super) deliveries: u64,
}

/// A name as people read it: what is not UTF-8 in it is replaced.
pub(super) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The items of a list; none where it is no list.
pub(super) fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// A text.
pub(super) fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Okay => Some(b"OK".to_vec()),
        _ => None,
    }
}

/// A count.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(*count).ok(),
        _ => None,
    }
}

/// A place.
pub(super) fn place(value: &Value) -> Option<Place> {
    match value {
        Value::BulkString(text) => Place::parse(text),
        _ => None,
    }
}

/// What stands behind `name` in names and values in turn.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let Value::Array(items) = value else { return None };
    let is_it = |item: &Value| matches!(item, Value::BulkString(text) if text == name.as_bytes());
    items.chunks(2).find(|pair| is_it(&pair[0])).and_then(|pair| pair.get(1))
}

/// Entries, as XRANGE answers.
pub(super) fn entries(value: Value) -> Option<Vec<Entry>> {
    list(value)?.into_iter().map(entry).collect()
}

fn entry(value: Value) -> Option<Entry> {
    let mut parts = list(value)?.into_iter();
    let place = place(&parts.next()?)?;
    let fields = list(parts.next()?)?.into_iter().map(bytes).collect::<Option<Vec<_>>>()?;
    Some(Entry { place, fields })
}

/// Lines of a pending list, as XPENDING answers.
pub(super) fn rows(value: Value) -> Option<Vec<Row>> {
    list(value)?.into_iter().map(row).collect()
}

fn row(value: Value) -> Option<Row> {
    let mut parts = list(value)?.into_iter();
    let place = place(&parts.next()?)?;
    let consumer = bytes(parts.next()?)?;
    let idle_ms = count(&parts.next()?)?;
    Some(Row { place, consumer, idle_ms, deliveries: count(&parts.next()?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn an_entry_keeps_its_fields_in_order_and_twice() {
        let fields = ["b", "1", "a", "2", "b", "3"].map(text).to_vec();
        let answer = Value::Array(vec![Value::Array(vec![text("7-1"), Value::Array(fields)])]);
        let found = entries(answer).unwrap();
        assert_eq!(found[0].place, Place::parse(b"7-1").unwrap());
        assert_eq!(found[0].fields, ["b", "1", "a", "2", "b", "3"].map(|text| text.as_bytes().to_vec()));
    }

    #[test]
    fn what_is_not_an_answer_to_the_question_is_none() {
        assert_eq!(entries(text("7-1")), None);
        assert_eq!(entries(Value::Array(vec![Value::Nil])), None);
        assert!(rows(Value::Array(vec![Value::Array(vec![text("7-1")])])).is_none());
        assert_eq!(field(&Value::Array(vec![text("length")]), "length"), None);
    }
}
