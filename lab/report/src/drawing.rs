//! A plot as it is written.

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
}
