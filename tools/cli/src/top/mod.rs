//! `tresse top`: a terminal view of live associations, fed by the metrics of running processes.

mod fetch;
#[cfg(test)]
mod fixture;
mod history;
mod order;
mod past;
mod plain;
mod screen;
mod table;

use std::io::{self, IsTerminal, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use tresse_observe::Snapshot;

use tresse_console::say::complain;
use tresse_console::units::parse_duration;

use history::History;
use order::Order;

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
    /// Time between two looks
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

/// Where the documentation has programs serve metrics: tried if nothing else is known.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// The argument of `tresse top`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Where {
    Address(SocketAddr),
    Engines,
}

impl std::str::FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Where, String> {
        if text == "engine" {
            return Ok(Where::Engines);
        }
        tresse_console::observe::metrics_address(text)
            .map(Where::Address)
            .map_err(|error| format!("{error}, or engine"))
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        time if (Duration::from_millis(50)..=Duration::from_secs(3600)).contains(&time) => Ok(time),
        _ => Err("50ms to 1h".into()),
    }
}

/// One process that is watched.
struct Source {
    address: SocketAddr,
    before: Option<Snapshot>,
    now: Option<Snapshot>,
    /// Why the last look failed.
    error: Option<String>,
    /// Whose history this is; it goes on over looks that failed.
    process: Option<u32>,
    history: History,
}

impl Source {
    fn new(address: SocketAddr) -> Source {
        Source {
            address,
            before: None,
            now: None,
            error: None,
            process: None,
            history: History::default(),
        }
    }

    /// Looks again.
    fn look(&mut self) {
        match fetch::snapshot(self.address) {
            Ok(snapshot) => {
                self.error = None;
                // Another process at the same address begins again.
                let before = self.now.take();
                self.before = before.filter(|before| before.process == snapshot.process);
                if self.process.replace(snapshot.process) != Some(snapshot.process) {
                    self.history.forget();
                }
                match &self.before {
                    Some(before) => self.history.learn(&snapshot, before),
                    None => self.history.miss(),
                }
                self.now = Some(snapshot);
            }
            Err(error) => {
                self.error = Some(error);
                self.history.miss();
                (self.before, self.now) = (None, None);
            }
        }
    }
}

/// Every `tresse run --metrics` of this user; that needs Linux.
#[cfg(target_os = "linux")]
fn engines() -> Vec<SocketAddr> {
    tresse_sockets::engine::Folder::metrics()
}

#[cfg(not(target_os = "linux"))]
fn engines() -> Vec<SocketAddr> {
    Vec::new()
}

/// Where to look now: engines come and go.
fn sources(place: &Where, known: Vec<Source>) -> Vec<Source> {
    let addresses = match place {
        Where::Address(address) => vec![*address],
        Where::Engines => match engines() {
            found if found.is_empty() => vec![USUAL],
            found => found,
        },
    };
    let mut known = known;
    let take = |address| match known.iter().position(|source| source.address == address) {
        Some(at) => known.swap_remove(at),
        None => Source::new(address),
    };
    addresses.into_iter().map(take).collect()
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

fn look(place: &Where, known: Vec<Source>) -> Vec<Source> {
    let mut sources = sources(place, known);
    sources.iter_mut().for_each(Source::look);
    sources
}
