//! The `tresse` command: the laboratory, the traffic generator, the analysis of captures, and SCTP
//! for other programs.
//!
//! Exit codes: 0 all is well; 1 something that was asked for went wrong while it ran; 2 the
//! request itself was wrong, and nothing was done.

#![forbid(unsafe_code)]
// They panic when nobody reads: see `say`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod arena;
#[cfg(target_os = "linux")]
mod emulate;
mod handout;
#[cfg(target_os = "linux")]
mod run;
mod top;
mod trace;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use tresse_console::{refusal, say};

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
    #[cfg(target_os = "linux")]
    Arena(arena::Args),
    /// Reproduce the figures of papers in simulation, beside their published numbers
    Lab(tresse_lab_cli::Args),
    /// Move real data between two processes and measure it
    Perf(tresse_perf::Args),
    /// Run a program whose SCTP sockets are Tresse's
    #[cfg(target_os = "linux")]
    Run(run::Args),
    /// Analyse captured packets: what was sent again, why, and how long that took
    Trace(trace::Args),
    /// Run programs on both sides of emulated links, in real time
    #[cfg(target_os = "linux")]
    Emulate(emulate::Args),
    /// Measure this system's TCP through emulated links, beside published numbers
    #[cfg(target_os = "linux")]
    Baseline(tresse_baseline::Args),
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    EmulateInit(emulate::init::Args),
    /// Watch live associations in the terminal
    Top(top::Args),
    /// Print what a shell needs to complete commands and options
    Completions(handout::CompletionArgs),
    /// Write the manual pages of all commands into a folder
    #[command(hide = true)]
    Man(handout::ManArgs),
}

fn perform(cli: Cli) -> ExitCode {
    match cli.command {
        #[cfg(target_os = "linux")]
        Command::Arena(args) => arena::run(&args),
        Command::Lab(args) => tresse_lab_cli::run(args, advice),
        Command::Perf(args) => tresse_perf::run(args),
        #[cfg(target_os = "linux")]
        Command::Run(args) => run::run(&args),
        Command::Trace(args) => trace::run(&args),
        #[cfg(target_os = "linux")]
        Command::Emulate(args) => emulate::run(&args),
        #[cfg(target_os = "linux")]
        Command::Baseline(args) => tresse_baseline::run(&args),
        #[cfg(target_os = "linux")]
        Command::EmulateInit(args) => emulate::init::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Completions(args) => handout::completions(&args, Cli::command()),
        Command::Man(args) => handout::man(&args, Cli::command()),
    }
}

/// Where else there is an experiment that `tresse lab` does not know.
#[cfg(target_os = "linux")]
fn advice(id: &str) -> Option<String> {
    tresse_baseline::measures(id)
        .then(|| format!("the TCP of a kernel is measured in real time: tresse baseline {id}"))
}

#[cfg(not(target_os = "linux"))]
fn advice(_: &str) -> Option<String> {
    None
}

fn main() -> ExitCode {
    let code = match refusal::parse() {
        // The status is the program's.
        #[cfg(target_os = "linux")]
        Ok(Cli { command: Command::Run(args) }) => return run::run(&args),
        Ok(cli) => perform(cli),
        Err(code) => code,
    };
    say::exit_code(code)
}
