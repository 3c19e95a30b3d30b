//! The command line of the matrix on real hosts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;
use tresse_emulator::Privilege;

use super::{Binding, Bound, Cell, Family, Report, Settings, Travel, run};
use crate::choice::{chosen, open};

#[derive(Args)]
pub(crate) struct HostsArgs {
    /// Addresses of the hosts, with commas between. Default: everything, as below.
    #[arg(long, value_delimiter = ',')]
    family: Vec<Family>,
    /// What the end is bound to.
    #[arg(long, value_delimiter = ',')]
    binding: Vec<Binding>,
    /// Which end is bound so.
    #[arg(long, value_delimiter = ',')]
    bound: Vec<Bound>,
    /// Interfaces of each host.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2))]
    interfaces: Option<u8>,
    /// How packets travel.
    #[arg(long, value_delimiter = ',')]
    travel: Vec<Travel>,
    /// Messages of 1 000 bytes that go each way.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(8..))]
    messages: u64,
    /// Few messages.
    #[arg(long, conflicts_with = "messages")]
    quick: bool,
    /// Seconds that each step of a cell may take.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    limit: u64,
    /// Cells that run at the same time.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    jobs: u16,
    /// Where results go to: `results.jsonl` as they come, `matrix.md` at the end, and in `failures` a
    /// text and the captures of both ends for each cell that failed.
    #[arg(long, default_value = "results/hosts")]
    out: PathBuf,
    /// Puts the table into this page, in the place of the one that is there.
    #[arg(long)]
    page: Option<PathBuf>,
}

/// Runs the cells that were asked for. Call it before there is a second thread.
pub(crate) fn run_hosts(args: &HostsArgs) -> Result<ExitCode, String> {
    // Without permission every cell says so.
    let _ = Privilege::acquire();
    let (families, bindings) = (chosen(&args.family), chosen(&args.binding));
    let (bound, travel) = (chosen(&args.bound), chosen(&args.travel));
    let mut cells = Cell::all();
    cells.retain(|cell| {
        families.contains(&cell.family)
            && bindings.contains(&cell.binding)
            && bound.contains(&cell.bound)
            && travel.contains(&cell.travel)
            && args.interfaces.is_none_or(|interfaces| interfaces == cell.interfaces)
    });
    let settings = Settings {
        messages: if args.quick { 400 } else { args.messages },
        limit: Duration::from_secs(args.limit),
        jobs: args.jobs.into(),
        failures: args.out.join("failures"),
    };
    let results = args.out.join("results.jsonl");
    let out = Mutex::new((open(&results, false)?, Vec::new()));
    run(&cells, &settings, &|record| {
        let line = serde_json::to_string(&record).expect("it has no odd keys");
        let mut out = out.lock().expect("nobody panics here");
        // The matrix is printed all the same.
        writeln!(out.0, "{line}").unwrap_or_else(|e| eprintln!("{}: {e}", results.display()));
        eprintln!("{line}");
        out.1.push(record);
    });
    let records = out.into_inner().expect("nobody panics here").1;
    let report = Report::new(&records);
    print!("{}", report.text());
    let mut table = open(&args.out.join("matrix.md"), false)?;
    let written = table.write_all(report.markdown().as_bytes());
    written.map_err(|e| format!("matrix.md: {e}"))?;
    if let Some(page) = &args.page {
        put_into(page, &report.markdown())?;
    }
    let [_, failed, skipped] = report.counts();
    let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|v| v == "1");
    let bad = failed > 0 || (skipped > 0 && required);
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Puts the table between its marks in a page.
fn put_into(page: &Path, table: &str) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", page.display());
    let text = std::fs::read_to_string(page).map_err(wrong)?;
    let [begin, end] = ["<!-- hosts -->\n", "<!-- /hosts -->\n"];
    let parts =
        text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?)));
    let Some((before, (_, after))) = parts else {
        return Err(format!("{}: there is no place for the table", page.display()));
    };
    std::fs::write(page, format!("{before}{begin}{table}{end}{after}")).map_err(wrong)
}
