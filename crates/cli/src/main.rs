//! The `tresse` command: the laboratory and the traffic generator.
//!
//! Exit codes: 0 all is well; 1 something that was asked for went wrong while it ran; 2 the
//! request itself was wrong, and nothing was done.

#![forbid(unsafe_code)]

mod lab;
mod perf;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// SCTP that recovers from loss, and the laboratory that proves it.
#[derive(Debug, Parser)]
#[command(name = "tresse", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Reproduce the figures of papers in simulation, beside their published numbers
    Lab(lab::Args),
    /// Move real data between two processes and measure it
    Perf(perf::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Lab(args) => lab::run(args),
        Command::Perf(args) => perf::run(args),
    }
}
