//! Tables, before they become HTML or text.

use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, Verdict};

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

/// Ours beside the published numbers; `None` if there are none.
pub(crate) fn comparison(comparisons: &[Comparison]) -> Option<Table> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let rows: Vec<Vec<String>> = comparisons
        .iter()
        .map(|c| {
            let unit = c.claim.unit;
            vec![
                c.claim.what.clone(),
                c.claim.text(),
                or_dash(c.ours.map(|o| unit.format_estimate(o))),
                or_dash(c.difference.map(|d| unit.format_difference(d))),
                c.verdict.word().to_owned(),
                c.claim.place.clone(),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "Ours beside the paper".into(),
        caption: if comparisons.iter().any(|c| c.verdict == Verdict::Differs) {
            "What the paper leaves open, and why numbers differ, stands in the notes below.".into()
        } else {
            String::new()
        },
        columns: columns(&["What", ">Paper", ">Ours", ">Difference", "Verdict", "Where"]),
        rows,
        detail: false,
    })
}

/// Column heads; those that begin with `>` are right-aligned.
pub(crate) fn columns(heads: &[&str]) -> Vec<(String, Align)> {
    let column = |head: &&str| match head.strip_prefix('>') {
        Some(head) => (head.to_owned(), Align::Right),
        None => ((*head).to_owned(), Align::Left),
    };
    heads.iter().map(column).collect()
}
