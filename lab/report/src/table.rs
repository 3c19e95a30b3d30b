//! Tables, before they become HTML or text.

use serde::{Deserialize, Serialize};

mod text;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// What a reader must know, one or two sentences; may be empty.
    pub caption: String,
    /// Column heads and their alignment.
    pub columns: Vec<(String, Align)>,
    /// Rows of text.
    pub rows: Vec<Vec<String>>,
    /// Detail that a page folds away and the terminal leaves out.
    pub detail: bool,
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Column heads; those that begin with `>` are right-aligned.
pub fn columns(heads: &[&str]) -> Vec<(String, Align)> {
    let column = |head: &&str| match head.strip_prefix('>') {
        Some(head) => (head.to_owned(), Align::Right),
        None => ((*head).to_owned(), Align::Left),
    };
    heads.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let table = Table {
            title: "T".into(),
            caption: String::new(),
            columns: vec![("name".into(), Align::Left), ("ms".into(), Align::Right)],
            rows: vec![vec!["é".into(), "1".into()], vec!["longer".into(), "200".into()]],
            detail: false,
        };
        let expected = "T\n  name     ms\n  ──────  ───\n  é         1\n  longer  200\n";
        assert_eq!(table.to_text(), expected);
    }
}
