//! What a holder says of how far it came.
//!
//! Lives here: the checked percentage, the note, and both together. Not here: the heartbeat that
//! brings them (`settle.rs`), and for how long they are kept (`naven-core`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error_text::kept;
use crate::field::Rule;
use crate::limits::{PERCENT_MAX, PROGRESS_NOTE_BYTES_MAX};
use crate::object::Object;
use crate::seconds::OutOfRange;
use crate::time::Timestamp;
use crate::value;

/// How far a holder came, in whole hundredths: 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Percent(u8);

impl Percent {
    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u32> for Percent {
    type Error = OutOfRange;

    fn try_from(found: u32) -> Result<Self, OutOfRange> {
        let fits = u8::try_from(found).ok().filter(|number| u32::from(*number) <= PERCENT_MAX);
        fits.map(Self).ok_or(OutOfRange { found, min: 0, max: PERCENT_MAX })
    }
}

/// What a holder is at, in words, of at most 1 KiB: longer ones are cut on a character border, NUL is
/// shown as `\u0000`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NoteText(String);

impl NoteText {
    /// `text` as it will be kept.
    pub fn new(text: &str) -> Self {
        Self(kept(text, PROGRESS_NOTE_BYTES_MAX))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NoteText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a holder came, by its own word: a percentage, a note, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// In whole hundredths: 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<Percent>,
    /// In words: cut at 1 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<NoteText>,
}

impl Progress {
    /// The two together; none where neither is there.
    pub fn new(percent: Option<Percent>, note: Option<NoteText>) -> Option<Self> {
        (percent.is_some() || note.is_some()).then_some(Self { percent, note })
    }

    /// So many hundredths, without a note.
    pub fn of(percent: Percent) -> Self {
        Self { percent: Some(percent), note: None }
    }

    /// The same with this note.
    #[must_use]
    pub fn with_note(self, text: &str) -> Self {
        Self { note: Some(NoteText::new(text)), ..self }
    }

    /// The percentage, if it was said.
    pub fn percent(&self) -> Option<Percent> {
        self.percent
    }

    /// The note, if there is one.
    pub fn note(&self) -> Option<&NoteText> {
        self.note.as_ref()
    }

    /// An optional field `progress`, which says at least one of the two.
    pub(crate) fn read(object: &mut Object<'_>) -> Option<Self> {
        let is_there = object.has("progress");
        let mut fields = object.object("progress", false)?;
        let named = fields.has("percent") || fields.has("note");
        let percent = fields
            .optional("percent", value::integer_rule(0, PERCENT_MAX), |text| {
                value::integer(text, 0, PERCENT_MAX)
            })
            .and_then(|number| Percent::try_from(number).ok());
        let note = fields.optional("note", Rule::new("a text"), value::string);
        fields.end();
        if is_there && !named {
            object.refuse("progress", &Rule::new("an object with percent, note or both"));
        }
        Self::new(percent, note.map(|text| NoteText::new(&text)))
    }
}

/// How far the holder came, as it last said during its hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProgressReply {
    /// In whole hundredths: 0 to 100; null where it was not said.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub percent: Option<u8>,
    /// In words; null where there were none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub note: Option<String>,
    /// When it was said.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{BadRequest, Faults};
    use crate::object::decode;

    fn read(body: &str) -> Result<Option<Progress>, BadRequest> {
        decode(body.as_bytes(), Faults::default(), |object| Some(Progress::read(object)))
    }

    fn faults(body: &str) -> Vec<String> {
        match read(body) {
            Err(BadRequest::Unknown(fields) | BadRequest::Invalid(fields)) => {
                fields.into_iter().map(|fault| fault.path).collect()
            }
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn it_says_a_percentage_a_note_or_both() {
        assert_eq!(read("{}"), Ok(None));
        for (body, percent, note) in [
            (r#"{"progress":{"percent":0}}"#, Some(0), None),
            (r#"{"progress":{"percent":100,"note":"done"}}"#, Some(100), Some("done")),
            (r#"{"progress":{"note":""}}"#, None, Some("")),
            (r#"{"progress":{"note":"a\u0000"}}"#, None, Some("a\\u0000")),
        ] {
            let said = read(body).unwrap().unwrap();
            assert_eq!(said.percent().map(Percent::get), percent, "{body}");
            assert_eq!(said.note().map(NoteText::as_str), note, "{body}");
        }
    }

    #[test]
    fn what_is_not_one_is_named() {
        assert_eq!(faults(r#"{"progress":{}}"#), ["progress"]);
        assert_eq!(faults(r#"{"progress":null}"#), ["progress"]);
        assert_eq!(faults(r#"{"progress":7}"#), ["progress"]);
        for percent in ["-1", "101", "0.5", "1e1", "\"7\"", "null", "256"] {
            let body = format!(r#"{{"progress":{{"percent":{percent}}}}}"#);
            assert_eq!(faults(&body), ["progress.percent"], "{percent}");
        }
        assert_eq!(faults(r#"{"progress":{"note":7}}"#), ["progress.note"]);
        let unknown = read(r#"{"progress":{"percent":7,"of":9}}"#);
        assert!(
            matches!(&unknown, Err(BadRequest::Unknown(fields)) if fields[0].path == "progress.of"),
            "{unknown:?}"
        );
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let note = |text: &str| NoteText::new(text).as_str().len();
        assert_eq!(note(&"y".repeat(PROGRESS_NOTE_BYTES_MAX)), PROGRESS_NOTE_BYTES_MAX);
        assert_eq!(note(&"y".repeat(PROGRESS_NOTE_BYTES_MAX + 1)), PROGRESS_NOTE_BYTES_MAX);
        assert_eq!(note(&format!("x{}", "é".repeat(PROGRESS_NOTE_BYTES_MAX))), PROGRESS_NOTE_BYTES_MAX - 1);
    }

    #[test]
    fn it_is_sent_as_it_is_read() {
        let text = r#"{"percent":40,"note":"page 2 of 5"}"#;
        let said = read(&format!(r#"{{"progress":{text}}}"#)).unwrap().unwrap();
        assert_eq!(serde_json::to_string(&said).unwrap(), text);
        assert_eq!(said, Progress::of(Percent::try_from(40).unwrap()).with_note("page 2 of 5"));
    }
}
