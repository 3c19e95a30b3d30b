//! Pages that load nothing from elsewhere, put together piece by piece.

use std::fmt::Write as _;

pub use crate::escape::{escape, prose};
use crate::{Align, Drawing, Table};

const CSS: &str = include_str!("page.css");

/// What makes plots answer: values under the pointer, lines that can be hidden. Pages are whole without it.
const SCRIPT: &str = include_str!("page.js");

/// Characters of a cell that is not broken into lines.
const SHORT: usize = 16;
/// Characters of a cell that takes several lines, however wide.
const LONG: usize = 48;

/// A table of no more columns has room beside each other in any window.
const STACKED: usize = 3;

/// A whole page around `body`, which is HTML; `style` are rules for its style sheet beyond those
/// that all pages share.
#[must_use]
pub fn page(title: &str, style: &str, body: &str) -> String {
    page_with(title, style, body, "")
}

/// The same with a script of its own behind that of all plots.
#[must_use]
pub fn page_with(title: &str, style: &str, body: &str, own: &str) -> String {
    let title = escape(title);
    let plots = body.contains("<svg");
    let script = if plots { format!("<script>\n{SCRIPT}{own}</script>\n") } else { String::new() };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{CSS}{style}</style>\n</head>\n<body>\n<main>\n\
         {body}</main>\n{script}</body>\n</html>\n"
    )
}

/// An SVG file may begin with an XML declaration, which has no place inside a page.
fn strip_prolog(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}

/// Adds a plot in a section of its own, with a link to its file if it has a name: drawn for a wide window and for a narrow one, with
/// its values for the script.
pub fn drawing(out: &mut String, drawing: &Drawing) {
    let name = escape(&drawing.name);
    let file = if name.is_empty() { name } else { format!("<a href=\"{name}\">{name}</a>") };
    let _ = writeln!(
        out,
        "<section><figure class=\"plot\">\n{}{}<script type=\"application/json\">{}</script>\n\
         <figcaption>{}{file}</figcaption>\n</figure></section>",
        strip_prolog(&drawing.svg),
        strip_prolog(&drawing.narrow),
        drawing.data,
        escape(&drawing.caption)
    );
}

/// What decides the width of a column: numbers and short words stay in one line, sentences get room.
fn class(table: &Table, column: usize) -> &'static str {
    let cells = || table.rows.iter().filter_map(|row| row.get(column));
    let longest = cells().map(|cell| cell.chars().count()).max().unwrap_or(0);
    match table.columns[column].1 {
        Align::Right => "number",
        Align::Left if longest <= SHORT => "short",
        Align::Left if longest > LONG => "long",
        Align::Left => "text",
    }
}

/// Adds a table in a section of its own; one with details is folded away.
pub fn table(out: &mut String, table: &Table) {
    out.push_str("<section>");
    if table.detail {
        let _ = writeln!(out, "<details><summary>{}</summary>", escape(&table.title));
    } else {
        let _ = writeln!(out, "<h2>{}</h2>", escape(&table.title));
    }
    if !table.caption.is_empty() {
        let _ = writeln!(out, "<p class=\"caption\">{}</p>", escape(&table.caption));
    }
    if !table.rows.is_empty() {
        cells(out, table);
    }
    out.push_str(if table.detail { "</details></section>\n" } else { "</section>\n" });
}

/// The heads of the columns, and the rows; where there are sentences, a narrow window has the cells of a row one below the
/// other.
fn cells(out: &mut String, table: &Table) {
    let classes: Vec<&str> = (0..table.columns.len()).map(|n| class(table, n)).collect();
    let stack = classes.contains(&"long") && classes.len() > STACKED;
    let kind = if stack { " class=\"stack\"" } else { "" };
    let _ = write!(out, "<div class=\"wide\"><table{kind}>\n<tr>");
    for ((head, _), class) in table.columns.iter().zip(&classes) {
        let _ = write!(out, "<th class=\"{class}\">{}</th>", escape(head));
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for ((cell, class), (head, _)) in row.iter().zip(&classes).zip(&table.columns) {
            let verdict = ["agrees", "differs", "missing"].contains(&cell.as_str());
            let class = if verdict { cell.as_str() } else { class };
            let _ = write!(out, "<td class=\"{class}\"");
            if stack {
                let _ = write!(out, " data-head=\"{}\"", escape(head));
            }
            let _ = write!(out, ">{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>");
}
