//! Pages that load nothing from elsewhere, put together piece by piece.

use std::fmt::Write as _;

use crate::{Align, Drawing, Table};

const CSS: &str = include_str!("page.css");

/// What the reader of a plot must know about the published numbers in it.
const PUBLISHED: &str = "Published numbers are dashed lines or rings in the colour of their line. ";

/// A whole page around `body`, which is HTML; `style` are rules for its style sheet beyond those
/// that all pages share.
#[must_use]
pub fn page(title: &str, style: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{CSS}{style}</style>\n</head>\n<body>\n<main>\n\
         {body}</main>\n</body>\n</html>\n"
    )
}

/// `text` as it stands between tags and in quoted attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// An SVG file may begin with an XML declaration, which has no place inside a page.
fn strip_prolog(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}

/// Adds a plot in a section of its own, with a link to its file.
pub fn drawing(out: &mut String, drawing: &Drawing) {
    let caption = if drawing.published { PUBLISHED } else { "" };
    let _ = writeln!(
        out,
        "<section><figure class=\"plot\">\n{}<figcaption>{caption}<a href=\"{1}\">{1}</a></figcaption>\n\
         </figure></section>",
        strip_prolog(&drawing.svg),
        escape(&drawing.name)
    );
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
    out.push_str("<div class=\"wide\"><table>\n<tr>");
    let class = |align: Align| match align {
        Align::Left => "",
        Align::Right => " class=\"number\"",
    };
    for (head, align) in &table.columns {
        let _ = write!(out, "<th{}>{}</th>", class(*align), escape(head));
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, (_, align)) in row.iter().zip(&table.columns) {
            let verdict = ["agrees", "differs", "missing"].contains(&cell.as_str());
            let class =
                if verdict { format!(" class=\"{cell}\"") } else { class(*align).to_owned() };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>");
    out.push_str(if table.detail { "</details></section>\n" } else { "</section>\n" });
}
