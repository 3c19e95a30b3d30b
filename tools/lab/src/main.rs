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
    // Cargo sets this for what it runs.
    let by_cargo = std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == env!("CARGO_PKG_NAME"));
    say::laboratory_is_called(if by_cargo { "cargo lab" } else { "tresse-lab" });
    let code = match refusal::parse::<Cli>() {
        Ok(cli) => tresse_lab_cli::run(cli.args, |_| None),
        Err(code) => code,
    };
    say::exit_code(code)
}
