//! A section of `docs/performance.md`.
//!
//! Lives here: what a measurement leaves there, between two comments that name it. Not here: the prose
//! around it, which people write.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::table::Table;

/// What was measured, on which machine, how.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    name: String,
    machine: String,
    measured: Measured,
}

/// The result of a measurement.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// What was done, in a sentence or two.
    pub(crate) how: String,
    pub(crate) tables: Vec<Table>,
}

impl Section {
    pub(crate) fn new(name: &str, machine: String, measured: Measured) -> Self {
        Self { name: name.to_owned(), machine, measured }
    }

    /// The section with its two comments.
    pub(crate) fn text(&self) -> String {
        let (begin, end) = comments(&self.name);
        let tables: Vec<String> = self.measured.tables.iter().map(Table::text).collect();
        format!(
            "{begin}\n{}\n\n{}\n\n{}{end}",
            folded(&self.machine),
            folded(&self.measured.how),
            tables.join("\n")
        )
    }

    /// Puts it in the place of the section of that name.
    ///
    /// # Errors
    /// Where the page has no such section, or cannot be written.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let page = page();
        let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let replaced = replaced(&text, &self.name, &self.text())?;
        fs::write(&page, replaced).with_context(|| page.display().to_string())
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md")
}

fn comments(name: &str) -> (String, String) {
    (format!("<!-- measured: {name} -->"), format!("<!-- end: {name} -->"))
}

fn replaced(page: &str, name: &str, section: &str) -> anyhow::Result<String> {
    let (begin, end) = comments(name);
    let (before, rest) = page.split_once(&begin).with_context(|| format!("the page has no '{begin}'"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("the page has no '{end}'"))?;
    Ok(format!("{before}{section}{after}"))
}

/// Lines as long as those of the other pages.
fn folded(text: &str) -> String {
    const WIDTH: usize = 128;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_the_one_before_and_of_no_other() {
        let page =
            "a\n<!-- measured: x -->\nold\n<!-- end: x -->\nb\n<!-- measured: y -->\n<!-- end: y -->\n";
        let measured = Measured { how: "By hand.".to_owned(), tables: vec![Table::new(&["c"])] };
        let section = Section::new("x", "A machine.".to_owned(), measured).text();
        let once = replaced(page, "x", &section).expect("it is there");
        assert!(once.starts_with(
            "a\n<!-- measured: x -->\nA machine.\n\nBy hand.\n\n| c |\n|---|\n<!-- end: x -->\nb"
        ));
        assert!(once.ends_with("b\n<!-- measured: y -->\n<!-- end: y -->\n"), "{once}");
        assert_eq!(replaced(&once, "x", &section).expect("it is there"), once);
        assert!(replaced(page, "z", &section).is_err());
    }

    #[test]
    fn every_measurement_has_its_place_on_the_page() {
        let text = fs::read_to_string(page()).expect("the page is there");
        for name in ["waiters", "backlog", "deepest", "delayed", "fanout"] {
            replaced(&text, name, "").unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
