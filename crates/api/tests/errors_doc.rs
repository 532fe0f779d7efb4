//! `docs/errors.md` and the error codes say the same.
//!
//! Lives here: the comparison, both ways: a code without a section, a section without a code, and a
//! section that says otherwise than the code. Not here: whether the advice is good.

use std::collections::BTreeMap;

use naven_api::ErrorCode;

const PAGE: &str = include_str!("../../../docs/errors.md");
const LINES: [&str; 5] = ["Status", "When", "What to do", "Same request again", "May have been applied"];

/// The sections of the page: code and reason of the heading, and its list.
fn sections() -> Vec<(u32, &'static str, BTreeMap<&'static str, &'static str>)> {
    PAGE.split("\n## ")
        .skip(1)
        .map(|section| {
            let (heading, body) = section.split_once('\n').expect("a section has a body");
            let (code, reason) = heading.split_once(' ').expect("a heading is a code and a reason");
            let lines = body.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": ")).collect();
            (code.parse().expect("a heading begins with a code"), reason.trim(), lines)
        })
        .collect()
}

#[test]
fn every_code_has_its_section_and_every_section_its_code() {
    let written: Vec<_> = sections().into_iter().map(|(code, reason, _)| (code, reason)).collect();
    let coded: Vec<_> = ErrorCode::ALL.iter().map(|code| (code.code(), code.reason())).collect();
    assert_eq!(written, coded, "left: docs/errors.md, right: ErrorCode::ALL, both in order");
}

#[test]
fn every_section_answers_all_questions_as_the_code_does() {
    for (number, _, lines) in sections() {
        let code = ErrorCode::from_code(number).expect("the other test found no strange section");
        for line in LINES {
            assert!(lines.get(line).is_some_and(|text| text.len() > 1), "{code} lacks '{line}'");
        }
        assert_eq!(lines["Status"], code.http_status().to_string(), "{code}");
        let says_yes = |line: &str| lines[line].starts_with("yes");
        assert_eq!(says_yes("Same request again"), code.is_retryable(), "{code}: same request again");
        assert_eq!(says_yes("May have been applied"), code.may_have_applied(), "{code}: may have applied");
    }
}
