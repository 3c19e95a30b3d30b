//! `tresse lab run`: one experiment after the other.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use tresse_console::say::print;
use tresse_console::units::{Time, counted};
use tresse_lab::report::{self, Screen, Tally};
use tresse_lab::runner::{Execution, Whole, prepare_real_time};
use tresse_lab::{Finished, LabError, Overrides, Session, experiment};

use super::{RunArgs, elsewhere, gauntlet, interrupt, took};

/// Runs what was asked for.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode, LabError> {
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
    names.iter().try_for_each(|name| experiment::check_id(name))?;
    let sessions: Vec<Session> =
        names.iter().map(|name| Session::new(name, &overrides)).collect::<Result<_, _>>()?;
    refuse_equal_ids(&names, &sessions)?;
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
    if let Some(scheduler) = &args.on {
        elsewhere::bring(scheduler, &names, args)?;
    }
    if let (Some(prefix), [session]) = (&args.only, sessions.as_slice()) {
        let failed = replay(session, prefix, execution)?;
        return Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let whole = (sessions.len() > 1)
        .then(|| Whole::new(sessions.len(), sessions.iter().map(Session::runs).sum()));
    let execution = Execution { whole, stop: interrupt::stop_when_asked(), ..execution };
    let mut failed = false;
    let mut total = Total::default();
    for session in &sessions {
        let finished = run_one(session, args, execution.clone())?;
        failed |= !finished.report.failures.is_empty();
        total.add(&finished);
    }
    if let Some(whole) = &execution.whole {
        whole.finish();
        print(total.text(args.on.is_some()));
        print(note(left_out(args)?));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Two files with one `id` would write into one folder, one over the other.
fn refuse_equal_ids(names: &[String], sessions: &[Session]) -> Result<(), LabError> {
    let id = |index: usize| &sessions[index].common().id;
    for second in 1..sessions.len() {
        if let Some(first) = (0..second).find(|&first| id(first) == id(second)) {
            return Err(LabError::Option(format!(
                "{} and {} have the same id \"{}\", which is also the folder of their results: give one another id",
                names[first],
                names[second],
                id(second)
            )));
        }
    }
    Ok(())
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
    let _ = writeln!(out, "\n{}, {}", counted(sessions.len(), "experiment"), counted(runs, "run"));
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
        1 => "1 slow experiment was left out; --all --slow runs it too\n".into(),
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
    tally: Tally,
}

impl Total {
    fn add(&mut self, finished: &Finished) {
        self.experiments += 1;
        self.runs += finished.executed;
        self.reused += finished.reused;
        self.failed += finished.report.failures.len();
        self.packets += finished.packets;
        self.elapsed += finished.elapsed;
        self.tally.add(finished.report.tally());
    }

    /// `on`: workers elsewhere made runs before.
    fn text(&self, on: bool) -> String {
        let seconds = self.elapsed.as_secs_f64();
        let made = made(self.runs, self.reused, self.elapsed, on);
        let mut out = format!("{}: {made}", counted(self.experiments, "experiment"));
        if self.failed > 0 {
            let _ = write!(out, ", {} failed", self.failed);
        }
        out.push('\n');
        if self.packets > 0 {
            let _ = writeln!(
                out,
                "{} simulated, {:.0} packets/s",
                packets(self.packets),
                self.packets as f64 / seconds.max(1e-9),
            );
        }
        let counts = self.tally.kinds().map(|(kind, count)| format!("{} {count}", kind.words()));
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            let _ = writeln!(out, "in agreement: {}", counts.join("; "));
        }
        out
    }
}

fn run_one(session: &Session, args: &RunArgs, execution: Execution) -> Result<Finished, LabError> {
    let whole = execution.whole.clone();
    let finished = session.run(&args.out, execution)?;
    took::remember(&finished);
    let mut out = report::render_for_terminal(&finished.report, &Screen::stdout());
    let _ = writeln!(
        out,
        "\n{}\nPage: {}\n",
        made(finished.executed, finished.reused, finished.elapsed, args.on.is_some()),
        finished.page.display()
    );
    match whole {
        Some(whole) => whole.suspend(|| print(&out)),
        None => print(&out),
    }
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

/// This many packets, in millions where there are any.
fn packets(count: u64) -> String {
    match count {
        0..1_000_000 => counted(count as usize, "packet"),
        _ => format!("{:.1} million packets", count as f64 / 1e6),
    }
}

/// How many runs were made, and how many were there; those that workers elsewhere have just made (`on`) are among the latter.
fn made(executed: usize, stored: usize, elapsed: Duration, on: bool) -> String {
    let runs = || format!("{} in {}", counted(executed, "run"), Time(elapsed));
    let there = if on { "made elsewhere or stored before" } else { "stored already" };
    match (executed, stored) {
        (0, 1) if on => format!("1 run, {there}"),
        (0, 2..) if on => format!("{stored} runs, {there}"),
        (0, 1) => format!("no run made: 1 was {there}"),
        (0, 2..) => format!("no run made: {stored} were {there}"),
        (_, 0) => runs(),
        (_, 1) => format!("{} (1 was {there})", runs()),
        _ => format!("{} ({stored} were {there})", runs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_as_people_say_them() {
        assert_eq!((packets(1), packets(9840)), ("1 packet".into(), "9840 packets".into()));
        assert_eq!(packets(2_340_000), "2.3 million packets");
        let second = Duration::from_secs(1);
        assert_eq!(made(0, 3690, second, false), "no run made: 3690 were stored already");
        assert_eq!(made(0, 3690, second, true), "3690 runs, made elsewhere or stored before");
        assert!(made(2, 1, second, false).ends_with("(1 was stored already)"));
    }
}
