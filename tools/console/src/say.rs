//! What is said on the standard error, lines that no peer and no file can make a terminal obey, and what is
//! printed on the standard output.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use tresse_core::wire::printable_lines;

/// Says what is wrong, or what the user should know.
pub fn complain(what: impl Display) {
    say(format_args!("tresse: {what}"));
}

/// Something that was asked for was not written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Tells that something which was asked for could not be written, whatever else went well.
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
    let Err(error) = write!(out, "{text}").and_then(|()| out.flush()) else { return };
    if error.kind() != io::ErrorKind::BrokenPipe && !LOST.load(Ordering::Relaxed) {
        complain_of_loss(format_args!("the standard output: {error}"));
    }
}

/// Says something with another beginning. Whoever reads may have gone.
pub fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(&what.to_string()));
}
