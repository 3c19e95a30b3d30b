//! `tresse lab`: list, run and show experiments.
//!
//! The `tresse` command has it among others; `tresse-lab` is it alone, which takes a fraction of the time to build (`cargo lab`).

#![forbid(unsafe_code)]
// They panic when nobody reads: see `tresse_console::say`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod campaign;
mod elsewhere;
mod extensions;
mod gauntlet;
mod interrupt;
mod new;
mod playground;
mod profiles;
mod took;

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use tresse_lab::flow::metric::meaning::listing as metrics;
use tresse_lab::report::agreement::{self, Agreement};
use tresse_lab::report::{self, Report, Screen, campaign as pages};
use tresse_lab::{AnyExperiment, LabError, experiment};

use tresse_console::say::{complain, print};
use tresse_console::units::counted;

/// Arguments of `tresse lab`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the built-in experiments, and how long those took that were run here
    List(ListArgs),
    /// List the built-in profiles, or every parameter of one
    Profiles(profiles::ProfilesArgs),
    /// List what experiments can measure, with units and meanings (docs/metrics.md)
    Metrics,
    /// Write a file for an experiment of your own, ready to run and to be changed (docs/experiments.md)
    New(new::NewArgs),
    /// Run experiments and write tables, plots and a page for each
    ///
    /// Runs that are stored already are not made again, so an interrupted experiment carries on
    /// where it stopped. The same seed gives the same results, byte for byte.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Show the tables of the last result of an experiment
    Show(ShowArgs),
    /// Say by how much two results of an experiment differ, such as simulated and real ones
    ///
    /// The exit status is 1 if a number differs by more than 5 % (percentages: 5 points) and by more
    /// than the spread of both.
    Compare(CompareArgs),
    /// Play the workloads of the papers with every extension of the protocol on, and say what they cost
    ///
    /// The default profile with them and without them, beside the variants of the papers (docs/extensions-on.md).
    Extensions(extensions::ExtensionsArgs),
    /// Write docs/reproduction.md, docs/deviations.md and docs/default-profile.md from the results of a campaign
    ///
    /// Every row of every paper goes to reproduction/ in the folder of the results, and every workload with every
    /// profile to default-profile.md there.
    Report(ReportArgs),
    /// Write a page that plays two senders side by side, packet by packet, with losses and delays that are dragged
    ///
    /// It needs a browser, and neither a server nor a network (docs/playground.md).
    Playground(playground::PlaygroundArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  tresse lab run hurtig/fig2
  tresse lab run hurtig/fig2 hurtig/fig3 --out /tmp/results
  tresse lab run pedersen
  tresse lab run mechanisms
  tresse lab run mechanisms/rto-restart
  tresse lab run --all
  tresse lab run --all --slow
  tresse lab run hurtig/fig2 --profile rfc9260+limited-transmit
  tresse lab run hurtig/fig2 --set rto.min_ms=200 --set workload.bursts.size=7
  tresse lab run tresse/harm-8 --set axis.loss=[0,3]
  tresse lab run ./my.toml --seed 7
  tresse lab run tresse/gauntlet --worlds 0..10000
  tresse lab run tresse/gauntlet --world 17 --profile tresse+lia";

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Ids (see `tresse lab list`), groups such as pedersen or mechanisms, or paths of experiment
    /// files in TOML
    #[arg(required_unless_present = "all", value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// Run every built-in experiment that is not slow
    #[arg(long, conflicts_with = "experiments")]
    all: bool,
    /// With --all, run the slow ones as well: concurrent transfers at up to 210 Mbit/s
    #[arg(long, requires = "all")]
    slow: bool,
    /// Only say what would be run
    #[arg(long)]
    dry_run: bool,
    /// Folder of all results; each experiment writes to a folder of its own in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Threads [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Make every run again, also those that are stored
    #[arg(long)]
    fresh: bool,
    /// Run this profile as well, beside those of the experiment (repeatable; join parts with +)
    #[arg(long = "profile", value_name = "NAME")]
    profiles: Vec<String>,
    /// Change a parameter of every profile or of the experiment (repeatable)
    ///
    /// Keys are those of profiles, such as rto.min_ms=300, and those of experiment files, such as
    /// workload.bursts.message_bytes=600 or topology.delay_ms=[5,50]; axis.NAME=[1,5] gives an axis other values.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// Seed of all random numbers, instead of the experiment's own
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Play the runs in real time instead of simulating them: Tresse on raw IP in network namespaces,
    /// with emulated links between them; needs root, or user namespaces
    ///
    /// For losses in bursts, and for periodic messages over one path. `tresse lab compare` holds the
    /// results against the simulator's, which belong in another folder.
    #[arg(long, conflicts_with_all = ["capture", "only"])]
    real_time: bool,
    /// Have the runs made by the workers of a Dask cluster, and store and report them here
    ///
    /// The scheduler's address, such as dask://192.0.2.1:8786. Needs the Python package: pip install 'tresse[dask]', here
    /// and on the workers; TRESSE_PYTHON names the Python that has it, if it is not python3. A lost worker costs only time.
    #[arg(long, value_name = "URL", conflicts_with_all = ["real_time", "capture", "only", "fresh"])]
    on: Option<String>,
    /// Write packet captures (pcapng) of every run into this folder, one made at the sender and
    /// one at the receiver
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// Make only the runs whose key begins with this, print them, and store nothing
    ///
    /// Keys stand in the last column of rows.csv and in the report of failed runs.
    #[arg(long, value_name = "KEY")]
    only: Option<String>,
    #[command(flatten)]
    gauntlet: gauntlet::GauntletArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Id (see `tresse lab list`) or path of an experiment file
    #[arg(value_name = "EXPERIMENT")]
    experiment: String,
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

#[derive(Debug, clap::Args)]
struct CompareArgs {
    /// Id (see `tresse lab list`) or path of an experiment file
    #[arg(value_name = "EXPERIMENT")]
    experiment: String,
    /// Folder of the first set of results
    #[arg(value_name = "DIR")]
    first: PathBuf,
    /// Folder of the second set of results
    #[arg(value_name = "DIR")]
    second: PathBuf,
    /// Write both as a page into this file, too
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Folder that the pages about the whole campaign are written to [default: docs, if no experiment is missing]
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
    /// Leave out slow experiments that have no results; the pages name them
    #[arg(long)]
    without_slow: bool,
}

/// Runs `tresse lab`. `advice` may know where else there is an experiment of a name that is unknown here.
pub fn run(args: Args, advice: impl Fn(&str) -> Option<String>) -> ExitCode {
    let result = match args.command {
        Command::List(args) => list(&args),
        Command::Profiles(args) => profiles::run(&args),
        Command::Metrics => {
            print(metrics());
            Ok(ExitCode::SUCCESS)
        }
        Command::New(args) => new::run(&args),
        Command::Run(args) => campaign::run(&args),
        Command::Show(args) => show(&args),
        Command::Compare(args) => compare(&args),
        Command::Extensions(args) => extensions::run(&args),
        Command::Report(args) => write_report(&args),
        Command::Playground(args) => playground::run(&args),
    };
    result.unwrap_or_else(|error| {
        complain(&error);
        if let LabError::UnknownExperiment { id, .. } = &error
            && let Some(advice) = advice(id)
        {
            complain(advice);
        }
        match error {
            // As shells have it.
            LabError::Interrupted { .. } => ExitCode::from(130),
            // The request was right.
            LabError::Write { source, .. } if source.kind() == ErrorKind::StorageFull => {
                ExitCode::FAILURE
            }
            _ => ExitCode::from(2),
        }
    })
}

fn list(args: &ListArgs) -> Result<ExitCode, LabError> {
    let experiments = experiment::built_in()?;
    let width = |text: fn(&AnyExperiment) -> &str| {
        experiments.iter().map(|e| text(e).chars().count()).max().unwrap_or(0)
    };
    let (id_width, title_width) = (width(AnyExperiment::id), width(AnyExperiment::title));
    let mut out = String::new();
    for e in &experiments {
        let _ = writeln!(
            out,
            "{:id_width$}  {:title_width$}  {}",
            e.id(),
            e.title(),
            match e.claims().len() {
                0 => "nothing published".to_owned(),
                n if experiment::has_aims(e.id()) => format!("{} of our own", counted(n, "aim")),
                1 => "1 published number".to_owned(),
                n => format!("{n} published numbers"),
            } + if e.is_slow() { ", slow" } else { "" }
                + &took::text(&args.out, e.id())
        );
    }
    let gauntlet = tresse_lab::gauntlet::ID;
    let _ = writeln!(out, "{gauntlet:id_width$}  Random worlds and the laws that hold in them");
    let _ = writeln!(out, "\nRun one with: tresse lab run {}", experiments[0].id());
    print(&out);
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ShowArgs) -> Result<ExitCode, LabError> {
    let experiment = experiment::find(&args.experiment)?;
    let folder = args.out.join(experiment.id());
    let command = run_command(&args.experiment, &args.out);
    let report = Report::load(&folder, experiment.id(), &command)?;
    let mut out = report::render_for_terminal(&report, &Screen::stdout());
    let _ = writeln!(
        out,
        "\nMade by {}.\nPage: {}",
        report.version,
        folder.join(report::PAGE).display()
    );
    print(&out);
    Ok(ExitCode::SUCCESS)
}

fn compare(args: &CompareArgs) -> Result<ExitCode, LabError> {
    let experiment = experiment::find(&args.experiment)?;
    let load = |out: &Path| {
        let command = run_command(&args.experiment, out);
        Report::load(&out.join(experiment.id()), experiment.id(), &command)
    };
    let (first, second) = (load(&args.first)?, load(&args.second)?);
    let pairs = agreement::pairs(&first, &second);
    let names = [&args.first, &args.second].map(|path| path.display().to_string());
    if pairs.is_empty() {
        return Err(LabError::Option(format!(
            "nothing of {} is in both {} and {}: no profile and no cell, or runs that failed; `tresse lab show` has what \
             either holds",
            args.experiment, names[0], names[1]
        )));
    }
    let table = agreement::table(&pairs, [&names[0], &names[1]]);
    print(format_args!(
        "{}\n{}\n\n{}",
        first.command,
        second.command,
        table.to_text_for(&Screen::stdout())
    ));
    if let Some(path) = &args.page {
        let page = report::side_by_side::page([&first, &second], &pairs, [&names[0], &names[1]]);
        write(path, &page.map_err(LabError::Option)?)?;
        print(format_args!("\nPage: {}\n", path.display()));
    }
    let apart = pairs.iter().any(|pair| pair.agreement() == Agreement::Apart);
    Ok(if apart { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The command that makes the results of `what` in the folder `out`.
fn run_command(what: &str, out: &Path) -> String {
    if out.as_os_str() == "results" {
        format!("tresse lab run {what}")
    } else {
        format!("tresse lab run {what} --out {}", out.display())
    }
}

/// Writes a file, with the folder that it is in.
fn write(path: &Path, text: &str) -> Result<(), LabError> {
    let fault = |source| LabError::Write { path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(fault)?;
    }
    std::fs::write(path, text).map_err(fault)
}

/// What `tresse lab report` writes about: the results of experiments that have to do with a paper.
struct Campaign {
    reports: Vec<Report>,
    /// Without results, being slow, as was asked for.
    absent: Vec<&'static str>,
    /// Without results all the same.
    missing: Vec<&'static str>,
}

/// The stored results of all experiments but those of single mechanisms, which no paper has numbers for.
fn results_of_papers(args: &ReportArgs) -> Result<Campaign, LabError> {
    let out = &args.out;
    let slow: Vec<String> = experiment::built_in()?
        .iter()
        .filter(|e| args.without_slow && e.is_slow())
        .map(|e| e.id().to_owned())
        .collect();
    let mechanisms = experiment::ids_of(experiment::MECHANISMS);
    let (mut reports, mut missing) = (Vec::new(), Vec::new());
    for id in experiment::ids().filter(|id| !mechanisms.contains(id)) {
        match Report::load(&out.join(id), id, &run_command(id, out)) {
            Ok(report) => reports.push(report),
            Err(LabError::NoResult { .. }) => missing.push(id),
            Err(error) => return Err(error),
        }
    }
    let (absent, missing): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|id| slow.iter().any(|slow| slow == id));
    Ok(Campaign { reports, absent, missing })
}

/// Writes pages about what is in the folder of results: a gallery, and, from results of every built-in experiment, or
/// where that is asked for, those about the whole campaign.
fn write_report(args: &ReportArgs) -> Result<ExitCode, LabError> {
    let (stored, unread) = report::gallery::stored(&args.out);
    if stored.is_empty() {
        return Err(LabError::NoResult {
            id: "any experiment".into(),
            path: args.out.clone(),
            command: run_command("--all --slow", &args.out),
        });
    }
    let mut written: Vec<(PathBuf, String)> = report::gallery::pages(&stored, unread)
        .into_iter()
        .map(|(name, text)| (args.out.join(name), text))
        .collect();
    let Campaign { reports, absent, missing } = results_of_papers(args)?;
    let whole = missing.is_empty() || args.docs.is_some();
    if whole && !reports.is_empty() {
        let folder = args.docs.clone().unwrap_or_else(|| "docs".into());
        let absent = [absent, missing.clone()].concat();
        for (name, text) in [
            ("reproduction.md", pages::reproduction(&reports, &absent)),
            ("deviations.md", pages::deviations(&reports, &absent)),
            ("default-profile.md", pages::default_profile(&reports, &absent)),
        ] {
            written.push((folder.join(name), text));
        }
        written.push((args.out.join("default-profile.md"), pages::all_profiles(&reports, &absent)));
        let papers = pages::papers(&reports).into_iter();
        written.extend(papers.map(|(name, text)| (args.out.join(name), text)));
    }
    let mut out = String::new();
    for (path, text) in &written {
        write(path, text)?;
        let _ = writeln!(out, "{}", path.display());
    }
    if !whole {
        let _ = writeln!(
            out,
            "{} {} no results, so the pages about the whole campaign were left as they are; --docs DIR writes \
             them from what is there",
            counted(missing.len(), "experiment"),
            if missing.len() == 1 { "has" } else { "have" }
        );
    }
    print(&out);
    Ok(ExitCode::SUCCESS)
}
