//! What is wrong with a command line, in one line.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, Command, Parser};

use crate::say::{complain, print};

/// The arguments of this process.
///
/// # Errors
///
/// The exit code, if there is nothing to do: 0 when the help or the version was asked for, which is printed, and 2 when
/// the arguments are wrong, which is said.
pub fn parse<P: Parser>() -> Result<P, ExitCode> {
    let matches = with_negative_values(P::command()).try_get_matches();
    matches.and_then(|matches| P::from_arg_matches(&matches)).map_err(|error| explain(&error))
}

/// Prints the help that was asked for, or says what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        complain(one_line(error));
        return ExitCode::from(2);
    }
    let text = error.render();
    let in_colour =
        io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    if in_colour {
        print(text.ansi());
    } else {
        print(text);
    }
    ExitCode::SUCCESS
}

/// The command with options that take `-1` for a value, so that it is refused as one.
fn with_negative_values(command: Command) -> Command {
    let takes = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| if takes(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(with_negative_values)
}

/// What clap says in several lines.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).map(command_of);
    let help = usage.map_or_else(String::new, |command| format!("; `{command} --help` says more"));
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("a command is missing: {}{help}", commands_in(&text).join(", "));
    }
    let mut lines = text.lines().map(str::trim);
    let what: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    // That of a value behind -- helps nobody: it would be another argument.
    let tip =
        lines.find_map(|line| line.strip_prefix("tip: ").filter(|tip| !tip.starts_with("to pass")));
    let tip = tip.map_or_else(String::new, |tip| format!("; {tip}"));
    let what = what.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    // What Rust says of "-1" and of "x".
    let what = what.replace("invalid digit found in string", "it takes digits only");
    format!("{what}{tip}{help}")
}

/// `tresse lab run` in `tresse lab run [OPTIONS] <EXPERIMENT>...`.
fn command_of(usage: &str) -> String {
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphanumeric());
    usage.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ")
}

/// The commands that a help lists.
fn commands_in(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Further lines about a command stand further to the right.
    let names =
        listed.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect()
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn refused(words: &[&str]) -> String {
        let number =
            |name: &'static str| Arg::new(name).long(name).value_parser(clap::value_parser!(u64));
        let below = Command::new("run").arg(number("seed")).arg(Arg::new("what").required(true));
        let command = Command::new("it").subcommand_required(true).arg_required_else_help(true);
        let command = with_negative_values(command.subcommand(below));
        let error = command.try_get_matches_from(words).unwrap_err();
        let line = one_line(&error);
        assert!(!line.contains('\n'), "{line}");
        line
    }

    #[test]
    fn every_refusal_is_one_line() {
        for (words, line) in [
            (&["it"][..], "a command is missing: run; `it --help` says more"),
            (
                &["it", "ran"],
                "unrecognized subcommand 'ran'; a similar subcommand exists: 'run'; `it --help` says more",
            ),
            (
                &["it", "run"],
                "the following required arguments were not provided: <what>; `it run --help` says more",
            ),
            (
                &["it", "run", "x", "--seed", "-1"],
                "invalid value '-1' for '--seed <seed>': it takes digits only",
            ),
            (
                &["it", "run", "x", "--seed"],
                "a value is required for '--seed <seed>' but none was supplied",
            ),
            (
                &["it", "run", "x", "-5"],
                "unexpected argument '-5' found; `it run --help` says more",
            ),
        ] {
            assert_eq!(refused(words), line);
        }
    }
}
