//! Request schemas as strict as their readers.
//!
//! Lives here: what derived schemas cannot say: that no other field is taken, that null is not, and the
//! bounds of plain numbers, texts and lists. A test holds each of them to have bounds. Not here: the
//! schemas themselves (`naven_api`), and those of answers, which may grow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use naven_api::bulk::REASONS;
use naven_api::limits::{
    BATCH_ITEMS_MAX, CLAIM_EVENTS_MAX, DEDUPE_WINDOW_SECONDS_MAX, DESCRIPTION_BYTES_MAX,
    ERROR_FILTER_BYTES_MAX, KEY_OVERLAP_SECONDS_MAX, KEY_PATTERNS_MAX, KEY_RATE_MAX,
    LATE_ACK_GRACE_SECONDS_MAX, MAX_ATTEMPTS_MAX, MAX_ATTEMPTS_MIN, MAX_LEASE_SECONDS_MAX, REASON_BYTES_MAX,
    RETENTION_SECONDS_MAX, TRIM_LENGTH_MAX,
};
use naven_api::purge::PURGE_STATES;
use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;

use super::words::{Named, words};
use utoipa::openapi::schema::Schema;

type Fields = Map<String, Value>;

/// Parts of requests whose names do not end like those of requests.
const PARTS: [&str; 3] = ["Backoff", "Progress", "RetentionFields"];
/// What is only ever a part of other schemas, which hold it now themselves.
const INLINED: [&str; 2] = ["Which", "QueueFields"];
/// Fields whose null is a word of its own: it sets the default or takes a bound away.
const NULLS: &[(&str, &[&str])] = &[
    ("QueuePatchRequest", &["*"]),
    ("KeyPatchRequest", &["expiresAt", "rateLimit"]),
    ("RescheduleRequest", &["scheduledAt", "maxAttempts"]),
];
/// It is the stream's, which has no default for it.
const NEVER_NULL: &str = "retention";

/// The bounds of a field, by its name and, where that means several things, its schema.
fn bounds(schema: &str, field: &str) -> Option<Value> {
    let integer = |min: u32, max: u32| json!({"minimum": min, "maximum": max});
    let text = |min: usize, max: usize| json!({"minLength": min, "maxLength": max});
    let list = |max: usize| json!({"minItems": 1, "maxItems": max});
    Some(match (schema, field) {
        (_, "items" | "events") => list(BATCH_ITEMS_MAX),
        (_, "ids") => {
            json!({"minItems": 1, "maxItems": BATCH_ITEMS_MAX, "items": {"type": "string", "maxLength": 128}})
        }
        (_, "maxEvents") => integer(1, CLAIM_EVENTS_MAX),
        (_, "maxAttempts") => integer(MAX_ATTEMPTS_MIN, MAX_ATTEMPTS_MAX),
        (_, "maxLeaseSeconds") => integer(0, MAX_LEASE_SECONDS_MAX),
        (_, "lateAckGraceSeconds") => integer(0, LATE_ACK_GRACE_SECONDS_MAX),
        (_, "dedupeWindowSeconds") => integer(0, DEDUPE_WINDOW_SECONDS_MAX),
        ("RetentionFields", "done" | "dead") => integer(0, RETENTION_SECONDS_MAX),
        (_, "description") => text(0, DESCRIPTION_BYTES_MAX),
        ("DeadFilterRequest", "reason") => json!({"enum": REASONS}),
        (_, "error") => text(1, ERROR_FILTER_BYTES_MAX),
        (_, "states") => json!({
            "minItems": 1,
            "maxItems": PURGE_STATES.len(),
            "items": {"type": "string", "enum": PURGE_STATES},
        }),
        (_, "percent") => integer(0, 100),
        (_, "reason") => text(0, REASON_BYTES_MAX),
        (_, "rateLimit") => integer(1, KEY_RATE_MAX),
        (_, "overlapSeconds") => integer(0, KEY_OVERLAP_SECONDS_MAX),
        (_, "scopes") => json!({"minItems": 1, "maxItems": 4, "uniqueItems": true}),
        (_, "queues") => json!({
            "minItems": 1,
            "maxItems": KEY_PATTERNS_MAX,
            "items": {"type": "string", "pattern": PATTERN},
        }),
        (_, "queue" | "targetQueue") => json!({"pattern": super::QUEUE_REF}),
        (_, "maxLength") => integer(0, TRIM_LENGTH_MAX),
        (_, "all") => json!({"enum": [true]}),
        _ => return None,
    })
}

/// A key's pattern over names.
const PATTERN: &str = "^([^\\u0000-\\u001f\\u007f-\\u009f*]{1,127}\\*?|\\*)$";

/// The schemas with those of requests closed.
pub(super) fn closed(schemas: Vec<Named>) -> Vec<Named> {
    let known: BTreeMap<String, Value> = schemas
        .iter()
        .filter_map(|(name, schema)| Some((name.clone(), serde_json::to_value(schema).ok()?)))
        .collect();
    let is_kept = |name: &str| !INLINED.contains(&name);
    let close = |(name, schema): Named| match known.get(&name).filter(|_| is_request(&name)) {
        Some(open) => {
            let closed = serde_json::from_value(close_schema(&name, open, &known));
            (name, closed.unwrap_or(schema))
        }
        None => (name, schema),
    };
    schemas.into_iter().filter(|(name, _)| is_kept(name)).map(close).collect()
}

/// True where something in a request is required: then there is no call without a body.
pub(super) fn needs_a_body(name: &str) -> bool {
    static NEEDY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let needs = |schema: &RefOr<Schema>| {
            let schema = serde_json::to_value(schema).unwrap_or_default();
            let each = schema["oneOf"].as_array().is_some_and(|each| !each.is_empty());
            each || schema["required"].as_array().is_some_and(|fields| !fields.is_empty())
        };
        let needy = closed(words()).into_iter().filter(|(_, schema)| needs(schema));
        needy.map(|(name, _)| name).collect()
    });
    NEEDY.contains(name)
}

fn is_request(name: &str) -> bool {
    name.ends_with("Request") || PARTS.contains(&name)
}

fn close_schema(name: &str, open: &Value, known: &BTreeMap<String, Value>) -> Value {
    let (mut whole, variants) = flat(open, known);
    let mut closed = if variants.is_empty() {
        close_object(name, &mut whole);
        whole
    } else {
        let each = variants.into_iter().map(|variant| {
            let mut one = whole.clone();
            merge(&mut one, &variant);
            close_object(name, &mut one);
            Value::Object(one)
        });
        Fields::from_iter([("oneOf".to_owned(), each.collect())])
    };
    if let Some(about) = open.get("description") {
        closed.insert("description".to_owned(), about.clone());
    }
    Value::Object(closed)
}

/// One object out of the parts of a schema, and the variants of which it is one besides.
fn flat(open: &Value, known: &BTreeMap<String, Value>) -> (Fields, Vec<Fields>) {
    let (mut whole, mut variants) = (Fields::new(), Vec::new());
    let referred = open.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let open = referred.and_then(|name| known.get(name)).unwrap_or(open);
    for part in open.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        let (object, either) = flat(part, known);
        merge(&mut whole, &object);
        variants.extend(either);
    }
    for part in open.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        variants.push(flat(part, known).0);
    }
    if let Some(object) = open.as_object().filter(|object| object.contains_key("properties")) {
        merge(&mut whole, object);
    }
    (whole, variants)
}

fn merge(whole: &mut Fields, part: &Fields) {
    for (key, value) in part {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
}

fn close_object(name: &str, object: &mut Fields) {
    object.insert("type".to_owned(), "object".into());
    object.insert("additionalProperties".to_owned(), false.into());
    let nulls = NULLS.iter().find(|(schema, _)| *schema == name).map_or(&[][..], |(_, fields)| *fields);
    if let Some(Value::Object(fields)) = object.get_mut("properties") {
        for (field, schema) in fields.iter_mut() {
            let takes_null = nulls.contains(&field.as_str()) || nulls.contains(&"*");
            if !takes_null || field == NEVER_NULL {
                without_null(schema);
            }
            if let (Some(Value::Object(bounds)), Value::Object(schema)) = (bounds(name, field), schema)
                && !schema.contains_key("$ref")
                && !schema.contains_key("oneOf")
            {
                schema.remove("format");
                schema.extend(bounds);
            }
        }
    }
    if ["DeadFilterRequest", "Progress"].contains(&name) {
        object.insert("minProperties".to_owned(), 1.into());
    }
}

/// The same without null among what it takes.
fn without_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get("type")
        && let [one] = types.iter().filter(|name| *name != "null").collect::<Vec<_>>().as_slice()
    {
        let one = (*one).clone();
        schema["type"] = one;
    }
    if let Some(Value::Array(either)) = schema.get("oneOf")
        && let [one] = either.iter().filter(|one| one["type"] != "null").collect::<Vec<_>>().as_slice()
    {
        *schema = (*one).clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has no bound but the body's: a text that is no id names nothing, and is answered as such.
    const FREE: [&str; 1] = ["eventId"];

    /// A number, text or list of a request that has no bound is one that the document does not tell of.
    #[test]
    fn everything_in_a_request_has_a_bound() {
        let document: Value = serde_json::from_str(&crate::openapi_document()).expect("it is JSON");
        let schemas = document["components"]["schemas"].as_object().expect("there are schemas");
        let mut looked_at = 0;
        for (name, schema) in schemas.iter().filter(|(name, _)| is_request(name)) {
            let objects = schema.get("oneOf").and_then(Value::as_array).cloned();
            for object in objects.unwrap_or_else(|| vec![schema.clone()]) {
                assert_eq!(object["additionalProperties"], false, "{name} is open");
                for (field, schema) in object["properties"].as_object().into_iter().flatten() {
                    assert!(FREE.contains(&field.as_str()) || is_bounded(schema), "{name}.{field}: {schema}");
                    looked_at += 1;
                }
            }
        }
        assert!(looked_at > 60, "{looked_at}");
    }

    fn is_bounded(schema: &Value) -> bool {
        let has = |key: &str| schema.get(key).is_some();
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default();
        has("$ref")
            || has("enum")
            || match kind {
                "integer" | "number" => has("minimum") && has("maximum"),
                "string" => has("maxLength") || has("pattern") || has("format"),
                "array" => has("minItems") && has("maxItems"),
                "object" => has("additionalProperties"),
                "boolean" => true,
                _ => schema["oneOf"].as_array().is_some_and(|each| each.iter().all(is_bounded)),
            }
            || kind == "null"
    }
}
