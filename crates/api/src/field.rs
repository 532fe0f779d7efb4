//! What is wrong with a request, field by field.
//!
//! Lives here: one field's fault, and the collector that keeps a request's faults in the order of
//! the contract: not JSON, unknown fields, invalid fields. Not here: reading values (`object.rs`).

use std::borrow::Cow;
use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;

/// Most faults of one kind that are named: a hostile body must not make a large answer.
const FAULTS_MAX: usize = 100;
/// Longest piece of a caller's own text that is repeated in a path, in bytes.
const ECHO_BYTES_MAX: usize = 128;

/// One field that was refused, and the rule it breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldFault {
    /// Where: `leaseSeconds`, `backoff.factor`, `events[3].payload`, a query parameter or a header.
    pub path: String,
    /// What was expected, in words.
    pub rule: String,
    /// The smallest number or length that is taken, where the rule has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// The largest number or length that is taken, where the rule has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// What a value must be, in words and bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: Cow<'static, str>,
    bounds: Option<(u64, u64)>,
}

impl Rule {
    /// A rule without bounds.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), bounds: None }
    }

    /// A rule with the smallest and largest number or length that it takes.
    pub fn bounded(text: impl Into<Cow<'static, str>>, min: u64, max: u64) -> Self {
        Self { text: text.into(), bounds: Some((min, max)) }
    }

    /// The fault of the field at `path`.
    pub fn broken_at(&self, path: String) -> FieldFault {
        let (min, max) = self.bounds.unzip();
        FieldFault { path, rule: self.text.to_string(), min, max }
    }

    /// The fault of the field at `path`, which has to be there.
    pub fn missing_at(&self, path: String) -> FieldFault {
        FieldFault { rule: format!("required: {}", self.text), ..self.broken_at(path) }
    }
}

/// Why a request was refused before anything was done: the first kind that applies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Not JSON, not UTF-8, or a lone surrogate outside a payload.
    #[error("the body is not JSON: {0}")]
    Malformed(String),
    /// Fields or parameters that this route does not take.
    #[error("{}", summary(.0))]
    Unknown(Vec<FieldFault>),
    /// Fields or parameters that break a rule.
    #[error("{}", summary(.0))]
    Invalid(Vec<FieldFault>),
}

impl BadRequest {
    /// The code of the answer.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed(_) => ErrorCode::MalformedJson,
            Self::Unknown(_) => ErrorCode::UnknownField,
            Self::Invalid(_) => ErrorCode::InvalidField,
        }
    }
}

fn summary(fields: &[FieldFault]) -> String {
    let Some(first) = fields.first() else { return "the request breaks a rule".to_owned() };
    let place = if first.path.is_empty() { "the body" } else { &first.path };
    match fields.len() {
        1 => format!("{place}: {}", first.rule),
        more => format!("{place}: {} (and {} more)", first.rule, more - 1),
    }
}

/// Collects the faults of one request, so that its caller learns of all of them at once.
#[derive(Debug, Default)]
pub struct Faults {
    malformed: RefCell<Option<String>>,
    unknown: RefCell<Vec<FieldFault>>,
    invalid: RefCell<Vec<FieldFault>>,
}

impl Faults {
    /// Notes that the text is not what JSON or UTF-8 allow.
    pub fn malformed(&self, why: impl Into<String>) {
        self.malformed.borrow_mut().get_or_insert_with(|| why.into());
    }

    /// Notes a field or parameter that is not taken here.
    pub fn unknown(&self, path: String) {
        push(&self.unknown, Rule::new("not a field of this request").broken_at(path));
    }

    /// Notes a field that breaks a rule.
    pub fn invalid(&self, fault: FieldFault) {
        push(&self.invalid, fault);
    }

    /// Everything noted, or `Ok` where nothing was.
    ///
    /// # Errors
    /// The first kind of fault in the contract's order, with all faults of that kind.
    pub fn verdict(self) -> Result<(), BadRequest> {
        if let Some(why) = self.malformed.into_inner() {
            return Err(BadRequest::Malformed(why));
        }
        let (unknown, invalid) = (self.unknown.into_inner(), self.invalid.into_inner());
        if !unknown.is_empty() {
            Err(BadRequest::Unknown(unknown))
        } else if !invalid.is_empty() {
            Err(BadRequest::Invalid(invalid))
        } else {
            Ok(())
        }
    }
}

fn push(faults: &RefCell<Vec<FieldFault>>, fault: FieldFault) {
    let mut faults = faults.borrow_mut();
    if faults.len() < FAULTS_MAX {
        faults.push(fault);
    }
}

/// A caller's own text as it may stand in a path: cut, and without control characters.
pub fn echo(text: &str) -> String {
    let head = &text[..text.floor_char_boundary(ECHO_BYTES_MAX)];
    head.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_faults_come_in_the_order_of_the_contract() {
        let all = || {
            let faults = Faults::default();
            faults.invalid(Rule::bounded("an integer from 1 to 2", 1, 2).missing_at("a".into()));
            faults.unknown("b".into());
            faults
        };
        let three = all();
        three.malformed("x");
        assert_eq!(three.verdict(), Err(BadRequest::Malformed("x".into())));
        assert_eq!(all().verdict().map_err(|bad| bad.code()), Err(ErrorCode::UnknownField));
        assert_eq!(Faults::default().verdict(), Ok(()));
    }

    #[test]
    fn a_fault_names_rule_and_bounds() {
        let fault = Rule::bounded("an integer from 1 to 2", 1, 2).missing_at("a".into());
        let text = serde_json::to_string(&fault).unwrap();
        assert_eq!(text, r#"{"path":"a","rule":"required: an integer from 1 to 2","min":1,"max":2}"#);
    }

    #[test]
    fn echoed_text_is_cut_and_cannot_forge_lines() {
        assert_eq!(echo("a\nb"), "a\u{fffd}b");
        assert_eq!(echo(&"é".repeat(200)).len(), 128);
    }
}
