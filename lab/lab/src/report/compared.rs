//! The table of published numbers and ours.

use tresse_report::{Table, columns};

use crate::comparison::{ABOVE, Comparison, Verdict};

/// The verdict, and what a row repeats.
fn word(c: &Comparison) -> String {
    let word = c.verdict.word();
    match c.claim.repeats.as_deref() {
        None => word.to_owned(),
        Some(ABOVE) => format!("{word} (repeats a row)"),
        Some(id) => format!("{word} (repeats {id})"),
    }
}

/// Ours beside the published numbers, or beside what the project aims at (`aims`); `None` if there are none.
pub(super) fn comparison(comparisons: &[Comparison], aims: bool) -> Option<Table> {
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
                c.z.map_or_else(|| "–".into(), |z| format!("{z:+.1}")),
                c.decided_by(),
                word(c),
                c.reason(),
                c.claim.place.clone(),
            ]
        })
        .collect();
    let table = (!rows.is_empty()).then(|| Table {
        title: if aims { "Ours beside what we aim at" } else { "Ours beside the paper" }.into(),
        caption: if aims {
            "Aims of our own: no paper prints these numbers, and they count among no published ones.".into()
        } else if comparisons.iter().any(|c| c.verdict == Verdict::Differs) {
            "What the paper leaves open, and why numbers differ, stands in the notes below.".into()
        } else {
            String::new()
        },
        columns: columns(&[
            "What",
            if aims { ">Aim" } else { ">Paper" },
            ">Ours",
            ">Difference",
            ">z",
            "Decided by",
            "Verdict",
            "Because",
            "Where",
        ]),
        rows,
        detail: false,
    });
    table.map(|table| without_empty(table, &["z"]))
}

/// The table without those of the named columns in which no row has anything.
fn without_empty(mut table: Table, names: &[&str]) -> Table {
    let has = |n: usize| table.rows.iter().any(|row| row[n] != "–");
    let empty = |n: &usize| names.contains(&table.columns[*n].0.as_str()) && !has(*n);
    let empty: Vec<usize> = (0..table.columns.len()).filter(empty).collect();
    for n in empty.into_iter().rev() {
        table.columns.remove(n);
        for row in &mut table.rows {
            row.remove(n);
        }
    }
    table
}
