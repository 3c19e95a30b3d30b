//! A plot as it is written.

use crate::dark;
use crate::figure::Figure;
use crate::svg;

/// A drawn plot and the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// File name, with its ending.
    pub name: String,
    /// The file.
    pub svg: String,
    /// Whether published numbers are drawn in.
    pub published: bool,
}

impl Drawing {
    /// `figure` as the file `name`, without its ending.
    ///
    /// # Errors
    /// What the drawing library says, as one line.
    pub fn new(name: &str, figure: &Figure) -> Result<Drawing, String> {
        let svg = svg::draw(figure)?;
        Ok(Drawing { name: format!("{name}.svg"), svg, published: !figure.references.is_empty() })
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
        let file = Drawing { name: "x.svg".into(), svg, published: false }.file();
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
