//! A publisher's trace, as W3C's Trace Context hands it on.
//!
//! Lives here: which headers are one, by the Recommendation of 23 November 2021 (sections 3.2 and
//! 3.3). Not here: reading them off a request (`naven-server`).

use serde::{Deserialize, Serialize};

use crate::limits::{TRACESTATE_CHARS_MAX, TRACESTATE_MEMBERS_MAX};

/// Characters of a `traceparent` of the version that we know.
const PARENT_CHARS: usize = 55;
/// Longest key and longest value of a member of `tracestate`.
const MEMBER_CHARS_MAX: usize = 256;

/// Where in a trace something happened: a valid `traceparent`, and the `tracestate` that goes with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceContext {
    /// Version, trace id, parent id and flags: 55 characters.
    traceparent: String,
    /// What tracing systems added: at most 512 characters; null where they added nothing.
    #[cfg_attr(feature = "openapi", schema(required))]
    tracestate: Option<String>,
}

impl TraceContext {
    /// What these header values say; none where the parent is not valid, whatever the state says. Several
    /// state lines are joined in order. A state that is not valid, or too long, is dropped whole: part of
    /// one could mislead the systems that wrote it.
    pub fn of_headers<'a>(parent: &str, states: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let traceparent = parent_of(parent.trim_matches([' ', '\t']))?;
        let lines = states.into_iter().map(|line| line.trim_matches([' ', '\t']));
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let state = lines.join(",");
        let tracestate = is_state(&state).then_some(state);
        Some(Self { traceparent, tracestate })
    }

    /// What an engine gave back: it was checked when it came in.
    pub fn stored(traceparent: String, tracestate: Option<String>) -> Self {
        Self { traceparent, tracestate }
    }

    /// The header `traceparent`.
    pub fn traceparent(&self) -> &str {
        &self.traceparent
    }

    /// The header `tracestate`, if there is one.
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// The trace's id: 32 hexadecimal digits. Empty where a server sent something that has none.
    pub fn trace_id(&self) -> &str {
        self.traceparent.get(3..35).unwrap_or_default()
    }
}

/// `text` where it is a valid parent. One of a later version is taken as far as we know it, and written
/// down as ours, as the Recommendation says (4.3): with no flag but the sampled one.
fn parent_of(text: &str) -> Option<String> {
    let (known, rest) = text.split_at_checked(PARENT_CHARS)?;
    let mut fields = known.split('-');
    let mut hex = |digits: usize| {
        let field = fields.next().filter(|field| field.len() == digits)?;
        field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).then_some(field)
    };
    let (version, trace, parent, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    let is_named = |id: &str| id.bytes().any(|byte| byte != b'0');
    if version == "ff" || !is_named(trace) || !is_named(parent) {
        return None;
    }
    if version == "00" {
        return rest.is_empty().then(|| known.to_owned());
    }
    let sampled = u8::from_str_radix(flags, 16).ok()? & 1;
    (rest.is_empty() || rest.starts_with('-')).then(|| format!("00-{trace}-{parent}-0{sampled}"))
}

/// True where `text` is a list of members worth keeping: empty members count for nothing.
fn is_state(text: &str) -> bool {
    let members: Vec<&str> = text
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']))
        .filter(|one| !one.is_empty())
        .collect();
    let keys: Vec<&str> = members.iter().filter_map(|member| key_of(member)).collect();
    let is_doubled = |at: usize| keys[..at].contains(&keys[at]);
    text.len() <= TRACESTATE_CHARS_MAX
        && (1..=TRACESTATE_MEMBERS_MAX).contains(&members.len())
        && keys.len() == members.len()
        && !(0..keys.len()).any(is_doubled)
}

/// The key of a member that is valid.
fn key_of(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let begins = key.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    let is_key = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'*' | b'/' | b'@')
    };
    let is_value = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    let fits = (1..=MEMBER_CHARS_MAX).contains(&key.len()) && (1..=MEMBER_CHARS_MAX).contains(&value.len());
    (begins && fits && key.bytes().all(is_key) && value.bytes().all(is_value)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn parent(text: &str) -> Option<String> {
        TraceContext::of_headers(text, []).map(|context| context.traceparent)
    }

    fn state(lines: &[&str]) -> Option<String> {
        TraceContext::of_headers(PARENT, lines.iter().copied()).unwrap().tracestate
    }

    #[test]
    fn a_valid_parent_is_kept_as_it_came() {
        assert_eq!(parent(PARENT).as_deref(), Some(PARENT));
        assert_eq!(parent(&format!(" {PARENT}\t")).as_deref(), Some(PARENT));
        let odd_flags = PARENT.replace("-01", "-ff");
        assert_eq!(parent(&odd_flags), Some(odd_flags), "unknown flags are none of our business");
        let context = TraceContext::of_headers(PARENT, []).unwrap();
        assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
    }

    #[test]
    fn an_invalid_parent_is_none() {
        let mut bad = vec![String::new(), "00".to_owned(), "é".repeat(55), PARENT.to_uppercase()];
        bad.push(PARENT.replacen("00", "ff", 1));
        bad.push(PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)));
        bad.push(PARENT.replace("00f067aa0ba902b7", &"0".repeat(16)));
        bad.extend([PARENT.replace("4bf", "4bg"), PARENT.replace("-01", "-0x"), PARENT.replace('-', "_")]);
        bad.extend([PARENT[..54].to_owned(), format!("{PARENT}-00"), format!("{PARENT}0")]);
        bad.extend([PARENT.replacen("00-4", "0-04", 1), PARENT.replacen("-00f", "0-0f", 1)]);
        for text in bad {
            assert_eq!(parent(&text), None, "{text}");
        }
    }

    #[test]
    fn a_later_version_is_taken_as_far_as_we_know_it() {
        let later = |flags: &str, rest: &str| PARENT.replacen("00", "cc", 1).replace("-01", flags) + rest;
        for text in [later("-01", ""), later("-01", "-what comes"), later("-09", "-")] {
            assert_eq!(parent(&text).as_deref(), Some(PARENT), "{text}");
        }
        assert_eq!(parent(&later("-08", "")), Some(PARENT.replace("-01", "-00")));
        assert_eq!(parent(&later("-01", "00")), None);
    }

    #[test]
    fn states_are_joined_in_order_and_kept_as_they_came() {
        assert_eq!(state(&[]), None);
        assert_eq!(state(&["", " ", ","]), None);
        assert_eq!(state(&["a=1"]).as_deref(), Some("a=1"));
        assert_eq!(state(&["b=1 , c=2", "", "t@v=x y"]).as_deref(), Some("b=1 , c=2,t@v=x y"));
        assert_eq!(TraceContext::of_headers("bad", ["a=1"]), None);
    }

    #[test]
    fn a_state_is_bounded_at_the_edge() {
        let long = |chars: usize| format!("a={},b={}", "x".repeat(256), "y".repeat(chars - 261));
        assert_eq!(state(&[&long(512)]), Some(long(512)));
        assert_eq!(state(&[&long(513)]), None);
        let many = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        assert!(state(&[&many(32)]).is_some());
        assert_eq!(state(&[&many(33)]), None);
    }

    #[test]
    fn a_state_that_is_not_one_is_dropped_whole() {
        for bad in ["a", "=1", "a=", "A=1", "a=1,b", "a=1,a=2", "a b=1", "a=1=2", "a=é", "_a=1", "a=1\u{7f}"]
        {
            assert_eq!(state(&[bad]), None, "{bad}");
        }
        for good in ["0=1", "a_-*/9=!", "a=1,,b=2"] {
            assert_eq!(state(&[good]).as_deref(), Some(good));
        }
    }
}
