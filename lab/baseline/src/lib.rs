//! `tresse baseline`: what the TCP of this system's kernel does where papers measured theirs.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod plan;
mod tcptrace;
mod traffic;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use serde::Serialize;
use tresse_emulator::{Direction, Emulation, LinkFile, Privilege, Settings, Side};
use tresse_netem::LinkConfig;
use tresse_trace::{DelaySummary, Event, Head, Observer, Options, Trace};

use plan::{Case, Plan, Published};

use tresse_console::say::{complain, print};

/// Cases of a plan that run at the same time.
const AT_ONCE: usize = 16;
/// Bytes that captures keep: all headers with all options.
const HEADERS: usize = 14 + 20 + 60;

/// Measure the retransmission delays of this system's TCP, beside published ones.
///
/// Real connections run through emulated links, many at a time; the captures are analysed as by
/// `tresse trace`, and by tcptrace if it is there. Takes root and a kernel with the settings that each
/// variant names.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to measure: pedersen/table3.6 (bulk) or pedersen/table3.7 (a message now and then)
    #[arg(required = true)]
    id: Vec<String>,
    /// Write tables (ID.md), results (ID.json) and captures to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure this many seconds instead of the plan's
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// Random decisions of the links follow from this seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run the emulator before all ordinary processes (SCHED_FIFO)
    #[arg(long)]
    realtime: bool,
}

/// What was measured in one case.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    scenario: String,
    variant: String,
    /// Time between two transmissions of the same data, as tcptrace has it.
    delays: Option<DelaySummary>,
    /// Segments of data, those that were sent again included.
    segments: u64,
    /// What tcptrace says of the same capture; absent if it is not there.
    tcptrace: Option<tcptrace::Delays>,
    published: Option<Published>,
}

/// Whether something of this name is measured here.
#[must_use]
pub fn measures(id: &str) -> bool {
    Plan::named(id).is_ok()
}

/// Runs `tresse baseline`.
#[must_use]
pub fn run(args: &Args) -> ExitCode {
    let plans: Result<Vec<Plan>, String> = args.id.iter().map(|id| Plan::named(id)).collect();
    let ready = plans.and_then(|plans| {
        // There is no second thread yet.
        Privilege::acquire().map_err(|error| error.to_string())?;
        Ok(plans)
    });
    let plans = match ready {
        Ok(plans) => plans,
        Err(error) => {
            complain(&error);
            return ExitCode::from(2);
        }
    };
    for plan in plans {
        if let Err(error) = measure(args, &plan) {
            complain(format_args!("{}: {error}", plan.id));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(args: &Args, plan: &Plan) -> Result<(), String> {
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = args.out.as_ref().map_or(own.path(), |out| out.as_path());
    let (alone, together): (Vec<Case>, Vec<Case>) =
        plan.cases().into_iter().partition(|case| case.scenario.alone);
    let results = Mutex::new(Vec::new());
    for cases in together.chunks(AT_ONCE).chain(alone.chunks(1)) {
        let one = |case: &Case| -> Result<(), String> {
            let measured = run_case(args, plan, case, folder).map_err(|error| {
                format!("{}, {}: {error}", case.scenario.label, case.variant.label)
            })?;
            results.lock().map_err(|_| "a thread panicked")?.push((case.index, measured));
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = cases.iter().map(|case| scope.spawn(|| one(case))).collect();
            let ends = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())));
            ends.collect::<Result<Vec<()>, String>>()
        })?;
    }
    let mut results = results.into_inner().map_err(|_| "a thread panicked")?;
    results.sort_by_key(|(index, _)| *index);
    let results: Vec<Measured> = results.into_iter().map(|(_, measured)| measured).collect();
    let text = page(plan, &results);
    print(&text);
    if let Some(out) = &args.out {
        save(out, plan, &text, &results).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    Ok(())
}

fn save(folder: &Path, plan: &Plan, text: &str, results: &[Measured]) -> io::Result<()> {
    let name = plan.file_name();
    fs::write(folder.join(format!("{name}.md")), text)?;
    fs::write(folder.join(format!("{name}.json")), serde_json::to_vec_pretty(results)?)
}

/// One scenario with one variant.
fn run_case(args: &Args, plan: &Plan, case: &Case, folder: &Path) -> Result<Measured, String> {
    let whole = LinkConfig::new(plan.bandwidth_kbps, case.scenario.delay_ms);
    let lossy = LinkConfig { loss: plan.loss, ..whole.clone() };
    let mut links = LinkFile::new(whole.clone(), whole);
    links.seed = args.seed.wrapping_add(case.index as u64);
    let folder = folder.join(format!("{}-{}", plan.file_name(), case.index + 1));
    let settings = Settings {
        capture: Some(folder.clone()),
        snap_length: HEADERS,
        realtime: args.realtime,
        warn: |line| complain(line),
        ..Settings::default()
    };
    let emulation = Emulation::start(&links, &settings).map_err(|error| error.to_string())?;
    for side in Side::BOTH {
        let all = plan.sysctl.iter().chain(&case.variant.sysctl);
        let all: Vec<(&str, &str)> =
            all.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        emulation.namespace(side).sysctl(&all).map_err(|error| error.to_string())?;
    }
    let span = Duration::from_secs(args.seconds.unwrap_or(plan.seconds));
    // What tcptrace counts as sent again includes SYNs; the thesis had one.
    let begin = || {
        for direction in Direction::BOTH {
            let set = emulation.reconfigure(0, direction, lossy.clone());
            set.expect("a test reads all plans");
        }
    };
    traffic::run(&emulation, plan.periodic, case.scenario.flows.unwrap_or(plan.flows), span, begin)
        .map_err(|error| error.to_string())?;
    let report = emulation.stop();
    if !report.captures_complete {
        return Err("the capture is incomplete".into());
    }
    let capture = folder.join("link0-left.pcapng");
    let mut trace = Trace::new(Options::default());
    trace.run(&[&capture], &mut Nobody).map_err(|error| error.to_string())?;
    let tcp = trace.totals().tcp;
    Ok(Measured {
        scenario: case.scenario.label.clone(),
        variant: case.variant.label.clone(),
        delays: tcp.since_last,
        segments: tcp.data,
        tcptrace: tcptrace::delays(&capture)?,
        published: case.published.clone(),
    })
}

/// Only the totals are wanted.
struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _head: &Head, _event: &Event<'_>) {}
}

/// The whole result, as Markdown.
fn page(plan: &Plan, results: &[Measured]) -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "# {}: {}\n\n{}; here with the TCP of Linux {}.\n\n",
        plan.id,
        plan.title,
        plan.source,
        kernel.trim()
    );
    for note in &plan.notes {
        text.push_str(&format!("- {note}\n"));
    }
    text.push_str(
        "\n| Scenario | Variant | segments | sent again | min | max | avg (± 2 SE) | sd \
         | published avg | difference | tcptrace |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for result in results {
        text.push_str(&row(plan, result));
    }
    text.push('\n');
    text
}

fn row(plan: &Plan, result: &Measured) -> String {
    let Measured { scenario, variant, segments, .. } = result;
    let Some(own) = &result.delays else {
        return format!("| {scenario} | {variant} | {segments} | 0 | | | | | | | |\n");
    };
    let error = 2.0 * own.sd_ms / (own.count as f64).sqrt();
    let (published, difference) = match &result.published {
        Some(published) => {
            let difference = (own.avg_ms / published.avg - 1.0) * 100.0;
            let word =
                if difference.abs() <= plan.tolerance_percent { "" } else { ", **outside**" };
            (format!("{:.1}", published.avg), format!("{difference:+.1} %{word}"))
        }
        None => (String::new(), String::new()),
    };
    let theirs = match &result.tcptrace {
        Some(theirs) if theirs.agree(own) => "agrees".to_owned(),
        Some(theirs) => format!("{} sent again, avg {:.1}", theirs.count, theirs.avg_ms),
        None => "not installed".to_owned(),
    };
    format!(
        "| {scenario} | {variant} | {segments} | {} | {:.1} | {:.1} | {:.1} ± {error:.1} | {:.1} \
         | {published} | {difference} | {theirs} |\n",
        own.count, own.min_ms, own.max_ms, own.avg_ms, own.sd_ms,
    )
}

#[cfg(test)]
mod tests;
