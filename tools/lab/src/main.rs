//! The laboratory without the other commands: `cargo lab`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use tresse_console::{refusal, say};

/// Experiments of papers on loss recovery, reproduced beside their published numbers.
#[derive(Debug, Parser)]
#[command(name = "tresse lab", bin_name = "tresse lab", version)]
struct Cli {
    #[command(flatten)]
    args: tresse_lab_cli::Args,
}

fn main() -> ExitCode {
    let code = match refusal::parse::<Cli>() {
        Ok(cli) => tresse_lab_cli::run(cli.args, |_| None),
        Err(code) => code,
    };
    say::exit_code(code)
}
