//! Where text is shown.

use console::{Style, Term};

/// How wide lines may be, and whether words are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns; what is no terminal has room for any line.
    pub width: usize,
    /// Whether verdicts are coloured.
    pub colours: bool,
}

impl Default for Screen {
    /// A file: any width, no colours.
    fn default() -> Screen {
        Screen { width: usize::MAX, colours: false }
    }
}

impl Screen {
    /// The standard output: a terminal has its width, and colours unless `NO_COLOR` or `CLICOLOR=0` is set.
    #[must_use]
    pub fn stdout() -> Screen {
        let size = Term::stdout().size_checked();
        let width = size.map_or(usize::MAX, |(_, columns)| usize::from(columns));
        Screen { width, colours: console::colors_enabled() }
    }

    /// `text` in its colour, if it is a verdict: good, bad or open.
    pub(crate) fn paint(&self, text: &str) -> String {
        let plain = Style::new();
        let style = match text {
            "agrees" | "within 5 %" => plain.green(),
            "differs" | "apart" => plain.red(),
            "missing" | "intervals overlap" => plain.yellow(),
            _ => return text.to_owned(),
        };
        // Where it goes was asked already.
        style.force_styling(self.colours).apply_to(text).to_string()
    }
}
