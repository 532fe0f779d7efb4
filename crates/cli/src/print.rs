//! What commands print: tables for people, JSON for programs.
//!
//! Lives here: the three forms, and errors on stderr. Not here: which fields a command shows.

use std::io::{ErrorKind, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::exit::Failure;

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// One JSON text for the whole answer, indented.
    Json,
    /// One JSON text a line for each thing in the answer.
    Jsonl,
}

/// One thing, as people read it: a name and a value on each line.
pub(crate) type Lines = Vec<(&'static str, String)>;

impl Output {
    /// A table on a terminal, JSON lines in a pipe.
    pub(crate) fn for_stdout() -> Self {
        if std::io::stdout().is_terminal() { Self::Table } else { Self::Jsonl }
    }

    /// Prints one thing, or nothing (`null` in JSON) where there is none.
    ///
    /// # Errors
    /// What stdout says.
    pub(crate) fn one<T: Serialize>(self, thing: Option<&T>, lines: fn(&T) -> Lines) -> anyhow::Result<()> {
        match self {
            Self::Json => line(&serde_json::to_string_pretty(&thing)?),
            Self::Table | Self::Jsonl => self.many(thing.into_iter(), lines),
        }
    }

    /// Prints several things.
    ///
    /// # Errors
    /// What stdout says.
    pub(crate) fn many<'a, T: Serialize + 'a>(
        self,
        things: impl Iterator<Item = &'a T>,
        lines: fn(&T) -> Lines,
    ) -> anyhow::Result<()> {
        match self {
            Self::Json => line(&serde_json::to_string_pretty(&things.collect::<Vec<_>>())?),
            Self::Jsonl => {
                for thing in things {
                    line(&serde_json::to_string(thing)?)?;
                }
                Ok(())
            }
            Self::Table => {
                let tables: Vec<String> = things.map(|thing| aligned(&lines(thing))).collect();
                if tables.is_empty() { Ok(()) } else { line(&tables.join("\n\n")) }
            }
        }
    }

    /// Prints a list that comes with more than its items: as JSON the whole of it, else the items, for people as
    /// rows under `headings`.
    ///
    /// # Errors
    /// What stdout says.
    pub(crate) fn listed<W: Serialize, T: Serialize>(
        self,
        whole: &W,
        items: &[T],
        headings: &[&str],
        row: fn(&T) -> Vec<String>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Json => line(&serde_json::to_string_pretty(whole)?),
            Self::Table | Self::Jsonl => self.grid(items, headings, row),
        }
    }

    /// Prints several things of one kind, for people as rows under `headings`.
    ///
    /// # Errors
    /// What stdout says.
    pub(crate) fn grid<T: Serialize>(
        self,
        things: &[T],
        headings: &[&str],
        row: fn(&T) -> Vec<String>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Json | Self::Jsonl => self.many(things.iter(), |_| Lines::new()),
            Self::Table if things.is_empty() => Ok(()),
            Self::Table => line(&grid(headings, &things.iter().map(row).collect::<Vec<_>>())),
        }
    }
}

/// Rows under their headings, each column as wide as its widest text.
fn grid(headings: &[&str], rows: &[Vec<String>]) -> String {
    let headings = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let cells = |row: &Vec<String>| row.iter().map(|text| shown(text)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = std::iter::once(&headings).chain(rows).map(cells).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |column: usize| rows.iter().filter_map(move |row| row.get(column)).map(|text| text.chars().count());
    let widths: Vec<usize> = (0..columns).map(|column| width(column).max().unwrap_or(0)).collect();
    rows.iter().map(|row| placed(row, &widths)).collect::<Vec<_>>().join("\n")
}

/// One row, each cell at least as wide as its column.
pub(crate) fn placed(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).map(|(text, width)| format!("{:width$}", shown(text)));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// The names in one column, the values in the next.
fn aligned(lines: &Lines) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name:width$}  {}", shown(value))).collect();
    lines.join("\n")
}

/// `text` without the control characters by which a payload could steer the terminal.
fn shown(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_unicode().collect() } else { vec![c] }).collect()
}

/// Prints one line on stdout, at once.
///
/// # Errors
/// What stdout says. A reader that has closed its pipe has all that it wanted: that is none.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    line_if_read(text).map(|_| ())
}

/// As [`line()`]; false where the reader has closed its pipe: what would go on for long may end.
///
/// # Errors
/// What stdout says.
pub(crate) fn line_if_read(text: &str) -> anyhow::Result<bool> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

/// Says on stderr why the command failed.
pub(crate) fn error(failure: &Failure) {
    note(&format!("error: {failure}"));
}

/// Says something on stderr that is not part of the output.
pub(crate) fn note(text: &str) {
    // Where stderr is closed there is nobody left to tell.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_stand_in_columns_and_cannot_steer_a_terminal() {
        let lines = vec![("id", "evt_1".to_owned()), ("payload", "\u{1b}[2J\u{9b}é".to_owned())];
        assert_eq!(aligned(&lines), "id       evt_1\npayload  \\u{1b}[2J\\u{9b}é");
    }

    #[test]
    fn a_row_by_itself_cannot_steer_a_terminal_either() {
        let cells = ["\u{1b}[2J".to_owned(), "b".to_owned(), String::new()];
        assert_eq!(placed(&cells, &[12, 3, 3]), "\\u{1b}[2J     b");
    }

    #[test]
    fn rows_stand_under_their_headings() {
        let rows = [vec!["é\u{1b}".to_owned(), "1".to_owned()], vec!["b".to_owned(), String::new()]];
        assert_eq!(grid(&["name", "n"], &rows), "NAME     N\né\\u{1b}  1\nb");
    }
}
