//! What is said on the standard error: lines that no peer and no file can make a terminal obey.

use std::fmt::Display;
use std::io::{self, Write as _};

use tresse_core::wire::printable_lines;

/// Says what is wrong, or what the user should know.
pub(crate) fn complain(what: impl Display) {
    say(format_args!("tresse: {what}"));
}

/// Says something with another beginning. Whoever reads may have gone.
pub(crate) fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(&what.to_string()));
}
