//! `tresse lab`: list, run and show experiments.

mod gauntlet;

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use tresse_lab::report::agreement::{self, Agreement};
use tresse_lab::report::{self, Report, campaign};
use tresse_lab::runner::{Execution, prepare_real_time};
use tresse_lab::{AnyExperiment, Finished, LabError, Overrides, Session, experiment};

use tresse_console::say::{complain, print};

/// Arguments of `tresse lab`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the built-in experiments
    List,
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
    /// Write docs/reproduction.md, docs/reproduction/ and docs/default-profile.md from the results of a campaign
    ///
    /// Every workload with every profile goes to default-profile.md in the folder of the results.
    Report(ReportArgs),
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
    /// workload.bursts.message_bytes=600 or topology.delay_ms=[5,50].
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
}

#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Folder that the two pages are written to
    #[arg(long, value_name = "DIR", default_value = "docs")]
    docs: PathBuf,
    /// Leave out slow experiments that have no results; the pages name them
    #[arg(long)]
    without_slow: bool,
}

/// Runs `tresse lab`.
pub(crate) fn run(args: Args) -> ExitCode {
    let result = match args.command {
        Command::List => list(),
        Command::Run(args) => run_experiments(&args),
        Command::Show(args) => show(&args),
        Command::Compare(args) => compare(&args),
        Command::Report(args) => write_report(&args),
    };
    result.unwrap_or_else(|error| {
        complain(&error);
        #[cfg(target_os = "linux")]
        if let LabError::UnknownExperiment { id, .. } = &error
            && tresse_baseline::measures(id)
        {
            complain(format_args!(
                "the TCP of a kernel is measured in real time: tresse baseline {id}"
            ));
        }
        match error {
            // The request was right.
            LabError::Write { source, .. } if source.kind() == ErrorKind::StorageFull => {
                ExitCode::FAILURE
            }
            _ => ExitCode::from(2),
        }
    })
}

fn list() -> Result<ExitCode, LabError> {
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
                n => format!("{n} published numbers"),
            } + if e.is_slow() { ", slow" } else { "" }
        );
    }
    let gauntlet = tresse_lab::gauntlet::ID;
    let _ = writeln!(out, "{gauntlet:id_width$}  Random worlds and the laws that hold in them");
    let _ = writeln!(out, "\nRun one with: tresse lab run {}", experiments[0].id());
    print(&out);
    Ok(ExitCode::SUCCESS)
}

fn run_experiments(args: &RunArgs) -> Result<ExitCode, LabError> {
    if args.experiments.iter().any(|name| name == tresse_lab::gauntlet::ID) {
        return gauntlet::run(args);
    }
    if args.gauntlet.is_given() {
        let reason = "--worlds, --world and --docs are for tresse/gauntlet";
        return Err(LabError::Option(reason.into()));
    }
    let overrides = Overrides {
        profiles: args.profiles.clone(),
        parameters: args.parameters.clone(),
        seed: args.seed,
    };
    // Everything is checked before anything is written.
    let names = experiment_names(args)?;
    let sessions: Vec<Session> =
        names.iter().map(|name| Session::new(name, &overrides)).collect::<Result<_, _>>()?;
    if sessions.len() > 1 && args.only.is_some() {
        return Err(LabError::Option(
            "--only repeats runs of one experiment; name just one".into(),
        ));
    }
    if args.dry_run {
        print(plan(&sessions, left_out(args)?));
        return Ok(ExitCode::SUCCESS);
    }
    let execution = Execution {
        jobs: args.jobs.map(usize::from),
        fresh: args.fresh,
        capture: args.capture.clone(),
        real_time: args.real_time,
        ..Execution::default()
    };
    if args.real_time {
        prepare_real_time()?;
    }
    if let (Some(prefix), [session]) = (&args.only, sessions.as_slice()) {
        let failed = replay(session, prefix, execution)?;
        return Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let mut failed = false;
    let mut total = Total::default();
    for session in &sessions {
        let finished = run_one(session, args, execution.clone())?;
        failed |= !finished.report.failures.is_empty();
        total.add(&finished);
    }
    if sessions.len() > 1 {
        print(total.text());
        print(note(left_out(args)?));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What would be run, a line for each experiment.
fn plan(sessions: &[Session], left_out: usize) -> String {
    let id = |s: &Session| s.common().id.clone();
    let width = sessions.iter().map(|s| id(s).len()).max().unwrap_or(0);
    let mut out = String::new();
    for session in sessions {
        let _ = writeln!(out, "{:width$}  {:6} runs", id(session), session.runs());
    }
    let runs: usize = sessions.iter().map(Session::runs).sum();
    let _ = writeln!(out, "\n{} experiments, {runs} runs", sessions.len());
    out + &note(left_out)
}

/// How many slow experiments a campaign leaves out.
fn left_out(args: &RunArgs) -> Result<usize, LabError> {
    if !args.all || args.slow {
        return Ok(0);
    }
    Ok(experiment::built_in()?.iter().filter(|e| e.is_slow()).count())
}

/// Says that slow experiments were left out.
fn note(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        n => format!("{n} slow experiments were left out; --all --slow runs them too\n"),
    }
}

/// The experiments that were asked for; the name of a group, such as a paper, stands for all in it.
fn experiment_names(args: &RunArgs) -> Result<Vec<String>, LabError> {
    if args.all {
        let mut experiments = experiment::built_in()?;
        experiments.retain(|e| args.slow || !e.is_slow());
        return Ok(experiments.iter().map(|e| e.id().to_owned()).collect());
    }
    let mut names: Vec<String> = Vec::new();
    for name in &args.experiments {
        let of_group = experiment::ids_of(name);
        let own = if of_group.is_empty() { vec![name.as_str()] } else { of_group };
        for name in own {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// What several experiments took and brought.
#[derive(Default)]
struct Total {
    experiments: usize,
    runs: usize,
    reused: usize,
    failed: usize,
    packets: u64,
    elapsed: Duration,
    agree: usize,
    published: usize,
}

impl Total {
    fn add(&mut self, finished: &Finished) {
        let (agree, published) = finished.report.agreement();
        self.experiments += 1;
        self.runs += finished.executed;
        self.reused += finished.reused;
        self.failed += finished.report.failures.len();
        self.packets += finished.packets;
        self.elapsed += finished.elapsed;
        self.agree += agree;
        self.published += published;
    }

    fn text(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        let mut out =
            format!("{} experiments: {} runs in {seconds:.1} s", self.experiments, self.runs);
        if self.reused > 0 {
            let _ = write!(out, " ({} were stored already)", self.reused);
        }
        if self.failed > 0 {
            let _ = write!(out, ", {} failed", self.failed);
        }
        let _ = writeln!(
            out,
            "\n{:.1} million packets simulated, {:.0} packets/s",
            self.packets as f64 / 1e6,
            self.packets as f64 / seconds.max(1e-9),
        );
        if self.published > 0 {
            let _ = writeln!(out, "{} of {} published numbers agree", self.agree, self.published);
        }
        out
    }
}

fn run_one(session: &Session, args: &RunArgs, execution: Execution) -> Result<Finished, LabError> {
    let finished = session.run(&args.out, execution)?;
    let mut out = report::render_for_terminal(&finished.report);
    let reused = match finished.reused {
        0 => String::new(),
        n => format!(" ({n} were stored already)"),
    };
    let _ = writeln!(
        out,
        "\n{} runs in {:.1} s{reused}\nPage: {}\n",
        finished.executed,
        finished.elapsed.as_secs_f64(),
        finished.page.display()
    );
    print(&out);
    Ok(finished)
}

/// Whether a run failed.
fn replay(session: &Session, prefix: &str, execution: Execution) -> Result<bool, LabError> {
    let executed = session.replay(prefix, execution)?;
    let mut out = String::new();
    for record in &executed.records {
        let _ = writeln!(out, "{}", serde_json::to_string_pretty(record).unwrap_or_default());
    }
    for failure in &executed.failures {
        let _ = writeln!(out, "{} (seed {}): {}", failure.run, failure.seed, failure.message);
    }
    print(&out);
    Ok(!executed.failures.is_empty())
}

fn show(args: &ShowArgs) -> Result<ExitCode, LabError> {
    let experiment = experiment::find(&args.experiment)?;
    let folder = args.out.join(experiment.id());
    let command = run_command(&args.experiment, &args.out);
    let report = Report::load(&folder, experiment.id(), &command)?;
    let mut out = report::render_for_terminal(&report);
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
    let table = agreement::table(&pairs, [&names[0], &names[1]]);
    print(format_args!("{}\n{}\n\n{}", first.command, second.command, table.to_text()));
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

/// The stored results of all experiments that have to do with a paper, and what was left out.
fn results_of_papers(args: &ReportArgs) -> Result<(Vec<Report>, Vec<&'static str>), LabError> {
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
    if missing.is_empty() {
        return Ok((reports, absent));
    }
    let (id, what) = match reports.len() {
        0 => ("any experiment".to_owned(), "--all --slow".to_owned()),
        _ => (missing.join(", "), missing.join(" ")),
    };
    Err(LabError::NoResult { id, path: out.clone(), command: run_command(&what, out) })
}

/// Writes the pages about the whole campaign from the stored results of every built-in experiment
/// but those of single mechanisms, which no paper has numbers for.
fn write_report(args: &ReportArgs) -> Result<ExitCode, LabError> {
    let (reports, absent) = results_of_papers(args)?;
    let write = |path: &Path, text: String| {
        std::fs::write(path, text)
            .map_err(|source| LabError::Write { path: path.to_owned(), source })
    };
    let docs = |name: &str| args.docs.join(name);
    let mut pages = vec![
        (docs("reproduction.md"), campaign::reproduction(&reports, &absent)),
        (docs("default-profile.md"), campaign::default_profile(&reports, &absent)),
        (args.out.join("default-profile.md"), campaign::all_profiles(&reports, &absent)),
    ];
    pages.extend(campaign::papers(&reports).into_iter().map(|(name, text)| (docs(&name), text)));
    let mut out = String::new();
    for (path, text) in pages {
        let folder = path.parent().unwrap_or(&args.docs);
        std::fs::create_dir_all(folder)
            .map_err(|source| LabError::Write { path: folder.to_owned(), source })?;
        write(&path, text)?;
        let _ = writeln!(out, "{}", path.display());
    }
    print(&out);
    Ok(ExitCode::SUCCESS)
}
