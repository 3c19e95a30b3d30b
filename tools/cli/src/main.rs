//! The `tresse` command: the laboratory, the traffic generator, the analysis of captures, and SCTP
//! for other programs.
//!
//! Exit codes: 0 all is well; 1 something that was asked for went wrong while it ran; 2 the
//! request itself was wrong, and nothing was done.

#![forbid(unsafe_code)]
// They panic when nobody reads: see `say`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(all(feature = "full", target_os = "linux"))]
mod arena;
#[cfg(all(feature = "full", target_os = "linux"))]
mod emulate;
#[cfg(feature = "full")]
mod handout;
mod lab;
mod refusal;
#[cfg(all(feature = "full", target_os = "linux"))]
mod run;
#[cfg(feature = "full")]
mod top;
#[cfg(feature = "full")]
mod trace;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use tresse_console::say::{complain, complain_of_loss};

/// SCTP that recovers from loss, and the laboratory that proves it.
#[derive(Debug, Parser)]
#[command(name = "tresse", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play the same scenario with every SCTP stack, and compare
    #[cfg(all(feature = "full", target_os = "linux"))]
    Arena(arena::Args),
    /// Reproduce the figures of papers in simulation, beside their published numbers
    Lab(lab::Args),
    #[cfg(feature = "full")]
    /// Move real data between two processes and measure it
    Perf(tresse_perf::Args),
    /// Run a program whose SCTP sockets are Tresse's
    #[cfg(all(feature = "full", target_os = "linux"))]
    Run(run::Args),
    #[cfg(feature = "full")]
    /// Analyse captured packets: what was sent again, why, and how long that took
    Trace(trace::Args),
    /// Run programs on both sides of emulated links, in real time
    #[cfg(all(feature = "full", target_os = "linux"))]
    Emulate(emulate::Args),
    /// Measure this system's TCP through emulated links, beside published numbers
    #[cfg(all(feature = "full", target_os = "linux"))]
    Baseline(tresse_baseline::Args),
    #[cfg(all(feature = "full", target_os = "linux"))]
    #[command(hide = true)]
    EmulateInit(emulate::init::Args),
    #[cfg(feature = "full")]
    /// Watch live associations in the terminal
    Top(top::Args),
    #[cfg(feature = "full")]
    /// Print what a shell needs to complete commands and options
    Completions(handout::CompletionArgs),
    /// Write the manual pages of all commands into a folder
    #[cfg(feature = "full")]
    #[command(hide = true)]
    Man(handout::ManArgs),
}

/// Prints the help that was asked for, or says what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        complain(refusal::one_line(error));
        return ExitCode::from(2);
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    if let Err(fault) = printed
        && fault.kind() != io::ErrorKind::BrokenPipe
    {
        complain_of_loss(format_args!("the standard output: {fault}"));
    }
    ExitCode::SUCCESS
}

fn perform(cli: Cli) -> ExitCode {
    match cli.command {
        #[cfg(all(feature = "full", target_os = "linux"))]
        Command::Arena(args) => arena::run(&args),
        Command::Lab(args) => lab::run(args),
        #[cfg(feature = "full")]
        Command::Perf(args) => tresse_perf::run(args),
        #[cfg(all(feature = "full", target_os = "linux"))]
        Command::Run(args) => run::run(&args),
        #[cfg(feature = "full")]
        Command::Trace(args) => trace::run(&args),
        #[cfg(all(feature = "full", target_os = "linux"))]
        Command::Emulate(args) => emulate::run(&args),
        #[cfg(all(feature = "full", target_os = "linux"))]
        Command::Baseline(args) => tresse_baseline::run(&args),
        #[cfg(all(feature = "full", target_os = "linux"))]
        Command::EmulateInit(args) => emulate::init::run(&args),
        #[cfg(feature = "full")]
        Command::Top(args) => top::run(&args),
        #[cfg(feature = "full")]
        Command::Completions(args) => handout::completions(&args, Cli::command()),
        #[cfg(feature = "full")]
        Command::Man(args) => handout::man(&args, Cli::command()),
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let command = refusal::with_negative_values(Cli::command());
    Cli::from_arg_matches(&command.try_get_matches()?)
}

fn main() -> ExitCode {
    let code = match parse() {
        // The status is the program's.
        #[cfg(all(feature = "full", target_os = "linux"))]
        Ok(Cli { command: Command::Run(args) }) => return run::run(&args),
        Ok(cli) => perform(cli),
        Err(error) => explain(&error),
    };
    tresse_console::say::exit_code(code)
}
