//! `tresse perf`: real traffic between two processes, verified and measured.
//!
//! The client says what it wants on a control stream ([`protocol`]); one side then runs
//! [`sender`], the other [`receiver`]. Both watch themselves ([`monitor`]) and exchange their
//! reports, so that the client shows both sides.

#![forbid(unsafe_code)]
// They panic when nobody reads: see `tresse_console::say`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agreed;
mod args;
mod client;
mod clock;
mod figures;
mod flow;
mod handed;
mod monitor;
mod outcome;
mod payload;
mod protocol;
mod receiver;
mod report;
mod sender;
mod server;
mod session;
mod setup;
mod test;

use std::process::ExitCode;

use clap::Subcommand;

use outcome::Failure;

use tresse_console::say::complain;

/// Arguments of `tresse perf`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Wait for clients and do what they ask for
    Server(Box<args::ServerArgs>),
    /// Connect to a server, move data and print what both sides saw
    #[command(after_help = CLIENT_EXAMPLES)]
    Client(Box<args::ClientArgs>),
}

const CLIENT_EXAMPLES: &str = "\
Sizes take k, M, G (powers of 1000) and Ki, Mi, Gi (powers of 1024).

Examples:
  tresse perf client 192.0.2.1
  tresse perf client 192.0.2.1 --bytes 1G --size 64Ki
  tresse perf client '[2001:db8::1]:9899' --reverse --duration 30
  tresse perf client localhost --thin 100:200 --profile early-retransmit-packets
  tresse perf client localhost --rate 10M --streams 4 --json --capture run.pcapng
  tresse perf client localhost --flow const50:exp1000:const20:exp200 --flow const0:const1400:onoff=2,8";

/// Runs `tresse perf`.
pub fn run(args: Args) -> ExitCode {
    let result = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::Failed(format!("no runtime: {e}")))
        .and_then(|runtime| {
            runtime.block_on(async {
                match args.command {
                    Command::Server(args) => server::run(*args).await,
                    Command::Client(args) => client::run(*args).await,
                }
            })
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&failure);
            failure.exit_code()
        }
    }
}
