//! `tresse lab run tresse/gauntlet`: random worlds instead of an experiment.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use tresse_console::say::print;
use tresse_lab::gauntlet::{ID, Request, WORLDS};
use tresse_lab::report::gauntlet::{self, PAGE};
use tresse_lab::runner::Execution;
use tresse_lab::{Campaign, LabError};

use super::RunArgs;

/// What only the gauntlet takes.
#[derive(Debug, clap::Args)]
pub(super) struct GauntletArgs {
    /// Of tresse/gauntlet: the worlds to play [default: 0..1000]
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    worlds: Option<Range<u64>>,
    /// Of tresse/gauntlet: play this world alone, and print everything about it
    #[arg(long, value_name = "N", conflicts_with = "worlds")]
    world: Option<u64>,
    /// Of tresse/gauntlet: write gauntlet.md and its plots into this folder, too
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
}

impl GauntletArgs {
    /// Whether any of it was given.
    pub(super) fn is_given(&self) -> bool {
        self.worlds.is_some() || self.world.is_some() || self.docs.is_some()
    }
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let parse = |part: &str| part.parse::<u64>().ok();
    let range = text.split_once("..").and_then(|(a, b)| Some(parse(a)?..parse(b)?));
    range.filter(|range| !range.is_empty()).ok_or_else(|| "numbers like 0..1000 are needed".into())
}

/// Plays worlds, or describes one.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode, LabError> {
    let refuse = |what: &str| Err(LabError::Option(format!("{ID} {what}")));
    if args.experiments.len() > 1 {
        return refuse("is run alone, without other experiments");
    }
    if args.real_time || args.capture.is_some() || args.only.is_some() || args.seed.is_some() {
        return refuse("takes no --real-time, --capture, --only or --seed");
    }
    let profiles = match args.profiles.as_slice() {
        [] => vec!["tresse".to_owned()],
        profiles => profiles.to_vec(),
    };
    let worlds = args.gauntlet.worlds.clone().unwrap_or(WORLDS);
    let request = Request { worlds, profiles, parameters: args.parameters.clone() };
    if let Some(world) = args.gauntlet.world {
        print(gauntlet::explain(&request, world)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        let (worlds, profiles) = (request.worlds.end - request.worlds.start, &request.profiles);
        print(format_args!("{ID}  {worlds} worlds with {}\n", profiles.join(", ")));
        return Ok(ExitCode::SUCCESS);
    }
    let execution = Execution {
        jobs: args.jobs.map(usize::from),
        fresh: args.fresh,
        stop: super::interrupt::stop_when_asked(),
        ..Execution::default()
    };
    let campaign = Campaign::run(&request, &args.out, &execution)?;
    let mut out = campaign.summary();
    let stored = match campaign.reused {
        0 => String::new(),
        n => format!(" ({n} were stored already)"),
    };
    let _ = writeln!(
        out,
        "\n{} worlds in {:.1} s{stored}, {:.1} million packets\nPages: {PAGE} in {} and the folders beside it",
        campaign.executed,
        campaign.elapsed.as_secs_f64(),
        campaign.packets as f64 / 1e6,
        args.out.join(ID).display()
    );
    if let Some(docs) = &args.gauntlet.docs {
        for path in campaign.write_docs(docs)? {
            let _ = writeln!(out, "{}", path.display());
        }
    }
    print(&out);
    Ok(if campaign.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_worlds_are_read() {
        assert_eq!(range("3..17"), Ok(3..17));
        for wrong in ["", "3", "3..3", "7..3", "a..b", "-1..3"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
