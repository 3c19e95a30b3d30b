//! `tresse top`: a terminal view of live associations, fed by the metrics of running processes.

mod fetch;
#[cfg(test)]
mod fixture;
mod history;
mod order;
mod past;
mod plain;
mod screen;
mod source;
mod table;

use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use tresse_console::say::complain;
use tresse_console::units::parse_duration;

use order::Order;
use source::{USUAL, Where, look};

/// Watch live associations: round-trip times, timeouts, windows, losses and rates of each path.
///
/// Shows what a `tresse perf` or `tresse run` with --metrics serves, and below it how the chosen path went in the last
/// looks. Arrows choose a path and the column to sort by, q ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where metrics are served ([ADDR:]PORT), or "engine" for every `tresse run --metrics` of this
    /// user on this host; if there is none, port 9464 is tried
    #[arg(default_value = "engine", value_name = "[ADDR:]PORT|engine")]
    source: Where,
    /// Time between two updates
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Print a plain table after one interval and end; also done if the output is not a terminal
    #[arg(long)]
    once: bool,
    /// Column to sort by, such as srtt, queue or lost: numbers from the greatest, words from A
    #[arg(long, value_name = "COLUMN", value_parser = order::column)]
    sort: Option<usize>,
    /// Sort the other way round
    #[arg(long, requires = "sort")]
    reverse: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        time if (Duration::from_millis(50)..=Duration::from_secs(3600)).contains(&time) => Ok(time),
        _ => Err("50ms to 1h".into()),
    }
}

/// Runs until the user has seen enough.
pub(crate) fn run(args: &Args) -> ExitCode {
    let first = look(&args.source, Vec::new());
    let problem = match first.iter().find_map(|source| source.error.as_ref()) {
        Some(_) if args.source == Where::Engines && first.iter().all(|s| s.address == USUAL) => Some(
            "nobody serves metrics: start `tresse run --metrics PORT`, or `tresse perf server --metrics \
             PORT` and name the PORT to `tresse top`"
                .into(),
        ),
        Some(error) if first.iter().all(|source| source.error.is_some()) => Some(error.clone()),
        _ => None,
    };
    if let Some(problem) = problem {
        complain(problem);
        return ExitCode::from(1);
    }
    let order = Order { column: args.sort, reversed: args.reverse };
    if args.once || !io::stdout().is_terminal() {
        std::thread::sleep(args.interval);
        // The reader may stop reading.
        let _ = write!(io::stdout(), "{}", plain::text(&look(&args.source, first), order));
        return ExitCode::SUCCESS;
    }
    match screen::run(&args.source, args.interval, first, order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("the terminal failed: {error}"));
            ExitCode::from(1)
        }
    }
}
