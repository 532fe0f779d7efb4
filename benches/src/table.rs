//! A table of a section.
//!
//! Lives here: its Markdown. Not here: figures (`figures.rs`), where it goes (`section.rs`).

/// A table: what its columns are, and its rows.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&column| column.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn row<const CELLS: usize>(&mut self, cells: [String; CELLS]) {
        assert_eq!(CELLS, self.columns.len(), "a row has a cell for each column");
        self.rows.push(cells.into());
    }

    pub(crate) fn text(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|{}\n", "---|".repeat(self.columns.len()));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{rule}{rows}", line(&self.columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new(&["what", "how much"]);
        table.row(["a".to_owned(), "1".to_owned()]);
        assert_eq!(table.text(), "| what | how much |\n|---|---|\n| a | 1 |\n");
    }
}
