//! What is said on the standard error, lines that no peer and no file can make a terminal obey, and what is
//! printed on the standard output.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tresse_core::wire::printable_lines;

/// How the user calls the laboratory, if it is not as [`LABORATORY`].
static LABORATORY_IS_CALLED: OnceLock<&str> = OnceLock::new();

/// How texts call the laboratory.
const LABORATORY: &str = "tresse lab";

/// From now on what this process says names the laboratory's commands as the user called them, so that a hint can be
/// typed as it stands. What is written to files is not changed.
pub fn laboratory_is_called(name: &'static str) {
    let _ = LABORATORY_IS_CALLED.set(name);
}

/// A text with the commands in it as the user calls them.
pub(crate) fn as_called(text: &str) -> Cow<'_, str> {
    match LABORATORY_IS_CALLED.get() {
        Some(name) => Cow::Owned(text.replace(LABORATORY, name)),
        None => Cow::Borrowed(text),
    }
}

/// Says what is wrong, or what the user should know.
pub fn complain(what: impl Display) {
    say(format_args!("tresse: {what}"));
}

/// Something that was asked for was not written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Reports that something that was asked for could not be written, whatever else went well.
pub fn complain_of_loss(what: impl Display) {
    LOST.store(true, Ordering::Relaxed);
    complain(what);
}

/// The exit code of a command that ended with `code`: 1 if all went well but for what could not be written.
pub fn exit_code(code: ExitCode) -> ExitCode {
    if code == ExitCode::SUCCESS && LOST.load(Ordering::Relaxed) { ExitCode::FAILURE } else { code }
}

/// Prints to standard output. A reader that went away (`tresse lab list | head`) is no error; a full disk
/// is told, once.
pub fn print(text: impl Display) {
    let mut out = io::stdout().lock();
    let text = text.to_string();
    let printed = out.write_all(as_called(&text).as_bytes()).and_then(|()| out.flush());
    let Err(error) = printed else { return };
    if error.kind() != io::ErrorKind::BrokenPipe && !LOST.load(Ordering::Relaxed) {
        complain_of_loss(format_args!("the standard output: {error}"));
    }
}

/// Says something with another beginning. The reader may have gone.
pub fn say(what: impl Display) {
    let text = what.to_string();
    let _ = writeln!(io::stderr(), "{}", printable_lines(&without_long_numbers(&as_called(&text))));
}

/// Digits in a row that are shown; no number of ours has more.
const MOST_DIGITS: usize = 24;

/// `1e300` is a number of three hundred digits to whoever repeats it: of such ones the beginning is shown, and how many
/// digits they have.
fn without_long_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(begin);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (digits, after) = number.split_at(end);
        out.push_str(before);
        if digits.len() > MOST_DIGITS {
            out.push_str(&format!("{}… ({} digits)", &digits[..6], digits.len()));
        } else {
            out.push_str(digits);
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_nobody_reads_are_cut() {
        for same in ["", "rto.min_ms = 18446744073709551615, é 7", "0"] {
            assert_eq!(without_long_numbers(same), same);
        }
        let long = format!("key = {}, not {}", "9".repeat(301), "1".repeat(25));
        assert_eq!(
            without_long_numbers(&long),
            "key = 999999… (301 digits), not 111111… (25 digits)"
        );
    }
}
