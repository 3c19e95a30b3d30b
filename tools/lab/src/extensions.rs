//! `tresse lab extensions`: the workloads of the papers with every extension of the protocol on.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use tresse_console::say::print;
use tresse_console::units::counted;
use tresse_lab::extended::{Asked, extended, workloads};
use tresse_lab::report::campaign as pages;
use tresse_lab::runner::{Execution, Whole};
use tresse_lab::{ExtensionSet, LabError, Overrides, Session, experiment};

use super::{interrupt, took, write};

#[derive(Debug, clap::Args)]
pub(super) struct ExtensionsArgs {
    /// Ids of experiments, or groups such as pedersen [default: all of the papers in which the default profile is ranked]
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// What both ends offer (repeatable; `all`, or a name such as interleaving)
    #[arg(long = "with", value_name = "NAME", default_value = "all")]
    with: Vec<String>,
    /// Leave this one out (repeatable)
    #[arg(long = "without", value_name = "NAME")]
    without: Vec<String>,
    /// Play it also without each of them, to see which one makes a difference
    #[arg(long)]
    each: bool,
    /// How often each run is made, instead of as often as the experiments say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    replications: Option<u32>,
    /// Folder of the results, apart from those of `lab run`
    #[arg(long, value_name = "DIR", default_value = "results/extensions")]
    out: PathBuf,
    /// The page that is written [default: extensions-on.md in the folder of the results]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Threads [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub(super) fn run(args: &ExtensionsArgs) -> Result<ExitCode, LabError> {
    // Reading all of them takes a while already.
    let stop = interrupt::stop_when_asked();
    let named = |names: &[String]| ExtensionSet::named(names).map_err(LabError::Option);
    let extensions = named(&args.with)?.without(&named(&args.without)?);
    let asked = Asked { extensions, each: args.each, replications: args.replications };
    // Everything is checked before anything is written.
    let sessions: Vec<Session> = names(args)
        .iter()
        .map(|name| {
            let found = extended(experiment::find(name)?, &asked).ok_or_else(|| {
                LabError::Option(format!("the default profile is not ranked in {name}"))
            })?;
            Session::of(name, found, &Overrides::default())
        })
        .collect::<Result<_, _>>()?;
    let whole = Whole::new(sessions.len(), sessions.iter().map(Session::runs).sum());
    let execution = Execution {
        jobs: args.jobs.map(usize::from),
        stop,
        whole: Some(whole),
        ..Execution::default()
    };
    let mut reports = Vec::new();
    for session in &sessions {
        let finished = session.run(&args.out, execution.clone())?;
        took::remember(&finished);
        reports.push(finished.report);
    }
    if let Some(whole) = &execution.whole {
        whole.finish();
    }
    let page = args.page.clone().unwrap_or_else(|| args.out.join("extensions-on.md"));
    write(&page, &pages::extensions_on(&reports, &asked.extensions, &command(args)))?;
    let failed: usize = reports.iter().map(|report| report.failures.len()).sum();
    print(format_args!("{} failed\nPage: {}\n", counted(failed, "run"), page.display()));
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The experiments that were asked for; a group stands for all that fit in it.
fn names(args: &ExtensionsArgs) -> Vec<String> {
    let all = workloads();
    if args.experiments.is_empty() {
        return all;
    }
    let of = |name: &String| {
        let group = all.iter().filter(|id| id.split('/').next() == Some(name));
        let group: Vec<String> = group.cloned().collect();
        if group.is_empty() { vec![name.clone()] } else { group }
    };
    args.experiments.iter().flat_map(of).collect()
}

/// The command that makes the page again.
fn command(args: &ExtensionsArgs) -> String {
    let mut text = String::from("tresse lab extensions");
    let mut option = |name: &str, value: &dyn std::fmt::Display| {
        let _ = write!(text, " {name}{value}");
    };
    args.experiments.iter().for_each(|name| option("", name));
    args.with.iter().filter(|name| *name != "all").for_each(|name| option("--with ", name));
    args.without.iter().for_each(|name| option("--without ", name));
    if args.each {
        option("--each", &"");
    }
    if let Some(count) = args.replications {
        option("--replications ", &count);
    }
    text
}
