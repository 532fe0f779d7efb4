//! The list of planted bugs and what is built in are the same.
//!
//! Lives here: that, and that no ordinary build has one. Not here: seeing the tests find them
//! (`ci/planted.sh`).

use naven_core::planted::Bug;

const LIST: &str = include_str!("../../../torture/planted.md");

/// The cells of each bug's row.
fn rows() -> Vec<Vec<&'static str>> {
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    LIST.lines().map(cells).filter(|cells| cells[0].parse::<u32>().is_ok()).collect()
}

#[test]
fn the_list_of_planted_bugs_names_those_that_are_built_in_and_what_finds_each() {
    let listed: Vec<_> = rows().iter().map(|cells| cells[1].trim_matches('`')).collect();
    assert_eq!(listed, Bug::ALL.map(Bug::name));
    for cells in rows() {
        assert!(cells[5].starts_with('`') && cells[5].ends_with('`'), "{} is found by nothing", cells[1]);
    }
}

#[cfg(not(planted))]
#[test]
fn no_ordinary_build_has_a_planted_bug() {
    assert!(!Bug::ALL.into_iter().any(naven_core::planted::has));
}
