//! `tresse arena`: the same scenario for every SCTP stack.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Subcommand;
use tokio::signal::unix::{SignalKind, signal};
use tresse_arena::report::Report;
use tresse_arena::{ArenaError, Outcome, Record, Scenario, Stack, Store, Theatre, cells, peer};

use tresse_lab::report::Screen;

use tresse_console::say::{complain, print, say};
use tresse_console::units::counted;

const EXAMPLES: &str = "\
Examples:
  tresse arena
  tresse arena --quick
  tresse arena thin-stream signalling --stack tresse --stack usrsctp
  tresse arena bulk-loss --stack tresse --stack tresse:rfc9260+rack
  tresse arena ./my.toml --captures /tmp/captures
  tresse arena list
  tresse arena report results/arena";

/// The same scenario, through the same emulated links, for every SCTP stack.
///
/// Results are kept as they come; the same command goes on where it was interrupted. Stacks that are not
/// installed are named and left out. Linux only; needs root, or user namespaces for those stacks that
/// need no guest.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Ids (see `tresse arena list`), or paths of scenario files in TOML; without any, all built-in ones
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Only this stack (repeatable): tresse, tresse:PROFILE, linux, usrsctp, pion, dcsctp, sctp-proto;
    /// tresse and usrsctp also with -cmt at the end, which sends over all paths at once
    #[arg(long = "stack", value_name = "NAME")]
    stacks: Vec<Stack>,
    /// A first impression: every scenario once, and a quarter as long
    #[arg(long)]
    quick: bool,
    /// Folder of the results
    #[arg(long, value_name = "DIR", default_value = "results/arena")]
    out: PathBuf,
    /// Keep the captures of each cell below this folder
    #[arg(long, value_name = "DIR")]
    captures: Option<PathBuf>,
    /// Cells that are played at the same time [default: four for each core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Play every cell again, whatever is stored
    #[arg(long)]
    fresh: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the built-in scenarios
    List,
    /// Make the page and the tables of stored results again
    Report(ReportArgs),
    /// One end of an association of Tresse, as the arena starts it
    #[command(hide = true)]
    Peer(peer::PeerArgs),
}

#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Folder of the results
    #[arg(value_name = "DIR", default_value = "results/arena")]
    out: PathBuf,
    /// Put the tables into this file as well, between the marks that it has for them
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

/// Runs `tresse arena`.
pub(crate) fn run(args: &Args) -> ExitCode {
    let result = match &args.command {
        None => play(args),
        Some(Command::List) => {
            for scenario in Scenario::built_in() {
                print(format_args!("{:18}{}\n", scenario.id, scenario.title));
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Report(args)) => report(args).map(|()| ExitCode::SUCCESS),
        Some(Command::Peer(args)) => return peer::run(args),
    };
    result.unwrap_or_else(|error| {
        complain(&error);
        match error {
            ArenaError::Request(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    })
}

fn report(args: &ReportArgs) -> Result<(), ArenaError> {
    let report = Report::read(&args.out)?;
    if let Some(file) = &args.into {
        report.insert_into(file)?;
    }
    show(&report, &args.out)
}

/// Writes the page, and prints what matters most.
fn show(report: &Report, folder: &Path) -> Result<(), ArenaError> {
    let page = report.write(folder)?;
    let screen = Screen::stdout();
    let tables = [report.overview(), report.beaten()].map(|table| table.to_text_for(&screen));
    print(format_args!("{}\n{}\n", tables[0], tables[1]));
    let troubles = report.troubles();
    if !troubles.rows.is_empty() {
        print(format_args!("{}\n", troubles.to_text_for(&screen)));
    }
    print(format_args!("{}\n", page.display()));
    Ok(())
}

/// What was asked for, with everything that was left out filled in.
fn request(args: &Args) -> Result<(Vec<Scenario>, Vec<Stack>), ArenaError> {
    let mut scenarios: Vec<Scenario> = if args.scenarios.is_empty() {
        Scenario::built_in()
    } else {
        args.scenarios.iter().map(|name| Scenario::named(name)).collect::<Result<_, _>>()?
    };
    if let Some(twice) =
        (1..scenarios.len()).find(|n| scenarios[..*n].iter().any(|s| s.id == scenarios[*n].id))
    {
        let id = &scenarios[twice].id;
        return Err(ArenaError::Request(format!("two scenarios are called \"{id}\"")));
    }
    if args.quick {
        scenarios = scenarios.iter().map(Scenario::quick).collect();
    }
    let stacks = if args.stacks.is_empty() { Stack::usual() } else { args.stacks.clone() };
    Ok((scenarios, stacks))
}

/// On a signal, says what becomes of the results, and ends everything: programs and guests go with this
/// process.
fn stop_on_signals(out: &Path, temporary: &Path) {
    let (out, temporary) = (out.to_owned(), temporary.to_owned());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let number = runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            tokio::select! {
                interrupt = tokio::signal::ctrl_c() => interrupt.map(|()| 2),
                _ = terminate.recv() => Ok(15),
            }
        });
        let Ok::<i32, std::io::Error>(number) = number else { return };
        let results = out.display();
        complain(format_args!(
            "interrupted; results so far are in {results}, the same command goes on"
        ));
        // What is left there is of no use to anybody.
        let _ = std::fs::remove_dir_all(temporary);
        std::process::exit(128 + number);
    });
}

fn play(args: &Args) -> Result<ExitCode, ArenaError> {
    let (scenarios, stacks) = request(args)?;
    let tresse = std::env::current_exe()
        .map_err(|e| ArenaError::Unavailable(format!("where this program is: {e}")))?;
    let mut store = Store::open(&args.out, args.fresh)?;
    let before = store.records.len();
    for scenario in &scenarios {
        store.keep(scenario)?;
    }
    let cells = cells(&scenarios, &stacks);
    let names: Vec<String> = stacks.iter().map(ToString::to_string).collect();
    // Compilers may be at work for minutes before the first one is played.
    say(format_args!(
        "{}: {} with {}; other stacks are built first, where that was not done",
        counted(cells.len(), "cell"),
        counted(scenarios.len(), "scenario"),
        names.join(", ")
    ));
    let theatre = Theatre::new(&stacks, tresse, args.captures.clone())?;
    stop_on_signals(&args.out, theatre.folder());
    for (stack, why) in theatre.missing(&stacks) {
        say(format_args!("skipped: {stack}: {why}"));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(4 * cores, usize::from);
    let start = Instant::now();
    let told = |record: &Record, left: usize| {
        let Record { scenario, stack, repetition, took_s, outcome, .. } = record;
        let word = match outcome {
            Outcome::Measured(_) => "played",
            Outcome::Unsupported(_) => "impossible",
            Outcome::Missing(_) => "skipped",
            Outcome::Failed(why) => why,
        };
        say(format_args!(
            "{scenario} {stack} {}: {word}, {took_s:.0} s; {left} left",
            repetition + 1
        ));
    };
    tresse_arena::run(&cells, &theatre, jobs, &mut store, &told)?;
    say(format_args!("{:.0} s", start.elapsed().as_secs_f64()));
    let failed =
        store.records[before..].iter().any(|record| matches!(record.outcome, Outcome::Failed(_)));
    drop(store);
    show(&Report::read(&args.out)?, &args.out)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
