//! A plot as it is written.

use crate::figure::Figure;
use crate::svg::{self, Format};
use crate::{dark, data, twins};

/// A drawn plot and the name of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// File name, with its ending.
    pub name: String,
    /// The file.
    pub svg: String,
    /// The same once more for a narrow window.
    pub narrow: String,
    /// Its values as JSON, for the script of a page.
    pub data: String,
    /// What its reader should know, as a sentence or more; may be empty.
    pub caption: String,
}

/// What the reader of a plot must know about the published numbers in it.
const PUBLISHED: &str = "Published numbers are dashed lines or rings in the colour of their line. ";
/// The same about what nobody has published.
const AIMS: &str = "Aims of our own, which nobody has published, are dashed lines or rings. ";
/// And about what had not come to an end.
const AT_LEAST: &str =
    "An arrow upwards, ≥ among the values: not all of it came to an end, so it is more. ";
const TWINS: &str = "A line in dashes lies upon another one. ";

impl Drawing {
    /// `figure` as the file `name`, without its ending.
    ///
    /// # Errors
    /// What the drawing library says, as one line.
    pub fn new(name: &str, figure: &Figure) -> Result<Drawing, String> {
        let mut caption = String::new();
        if !figure.references.is_empty() {
            caption.push_str(if figure.reference_name == "paper" { PUBLISHED } else { AIMS });
        }
        if twins::covered(figure).iter().any(|covered| *covered > 0) {
            caption.push_str(TWINS);
        }
        if figure.lines.iter().flat_map(|line| &line.pieces).flatten().any(|p| p.at_least) {
            caption.push_str(AT_LEAST);
        }
        Ok(Drawing {
            name: format!("{name}.svg"),
            svg: svg::draw(figure, Format::Wide)?,
            narrow: svg::draw(figure, Format::Narrow)?,
            data: data::json(figure),
            caption,
        })
    }

    /// The plot as a file of its own, which is light or dark as its reader's display is.
    #[must_use]
    pub fn file(&self) -> String {
        let begin =
            self.svg.find("<svg").and_then(|tag| Some(tag + self.svg[tag..].find('>')? + 1));
        let (tag, rest) = self.svg.split_at(begin.unwrap_or(0));
        format!("{tag}\n{}{}", dark::style(), rest.trim_start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_light_or_dark_by_itself() {
        let svg = "<svg width=\"9\">\n<rect fill=\"#FFFFFF\"/>\n</svg>\n".to_owned();
        let file = Drawing { name: "x.svg".into(), svg, ..Drawing::default() }.file();
        assert!(
            file.starts_with("<svg width=\"9\">\n<style>\n@media (prefers-color-scheme: dark) {\n")
        );
        assert!(
            file.contains("[fill=\"#FFFFFF\"], [fill=\"#ffffff\"] { fill: #1f2226; }"),
            "{file}"
        );
        assert!(
            !file.contains(".plot")
                && file.ends_with("</style>\n<rect fill=\"#FFFFFF\"/>\n</svg>\n")
        );
    }
}
