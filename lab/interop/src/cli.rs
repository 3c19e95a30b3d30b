//! The command line of the program in this crate.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::choice::{chosen, open};
use crate::goodput;
use crate::hosts::{HostsArgs, run_hosts};
use crate::matrix::{self, Cell, Outcome, Record, Report, Role, Settings, Subject};
use tresse_peers::{Lab, Stack};

/// The guest goes by itself after this time at the latest.
const GUEST_LIFETIME: Duration = Duration::from_secs(3_600);

/// Tresse against independent SCTP stacks.
#[derive(Parser)]
#[command(name = "interop")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run Tresse as client and as server against every peer, and print the matrix.
    Matrix(MatrixArgs),
    /// Run Tresse against itself on real hosts whose interfaces come and go, and print the matrix.
    Hosts(HostsArgs),
    /// Measure large transfers through 5 % loss and 50 ms, beside those of a peer to itself.
    Goodput(GoodputArgs),
}

#[derive(Args)]
struct MatrixArgs {
    /// Peers to test against, separated by commas. Default: all.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<Stack>,
    /// Cells to play, separated by commas. Default: all.
    #[arg(long, value_delimiter = ',')]
    cells: Vec<Subject>,
    /// Role of Tresse. Default: both.
    #[arg(long)]
    role: Option<Role>,
    /// All cells, with a few megabytes in the place of 100.
    #[arg(long)]
    quick: bool,
    /// Keep the results that are there, and run what has not passed yet.
    #[arg(long)]
    resume: bool,
    /// Seconds that a cell may take. Default: 180, or 60 with --quick.
    #[arg(long, value_parser = clap::value_parser!(u64).range(5..=3_000))]
    limit: Option<u64>,
    /// Cells that run at the same time, beside one against the kernel.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Where results go to: `results.jsonl` as they come, `matrix.md` at the end, and in `failures` a
    /// text and a capture for each cell that failed.
    #[arg(long, default_value = "results/interop")]
    out: PathBuf,
}

#[derive(Args)]
struct GoodputArgs {
    /// User data of each transfer, in MB.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    megabytes: u64,
    /// Transfers of each pair of stacks, all at the same time.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=64))]
    replicas: u16,
    /// Where the results go to, a line of JSON for each transfer when it ends.
    #[arg(long, default_value = "results/interop/goodput.jsonl")]
    out: PathBuf,
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let result = match command {
        Command::Matrix(args) => run_matrix(&args),
        Command::Hosts(args) => run_hosts(&args),
        Command::Goodput(args) => run_goodput(&args),
    };
    result.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(2)
    })
}

/// A folder for what is built.
fn folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|e| format!("a folder for the peers: {e}"))
}

fn run_goodput(args: &GoodputArgs) -> Result<ExitCode, String> {
    let mut out = open(&args.out, false)?;
    let folder = folder()?;
    let bytes = args.megabytes * 1_000_000;
    let transfers = goodput::measure(bytes, args.replicas.into(), folder.path(), &mut out);
    let transfers = transfers.map_err(|why| why.to_string())?;
    print!("{}", goodput::table(&transfers));
    Ok(ExitCode::SUCCESS)
}

fn run_matrix(args: &MatrixArgs) -> Result<ExitCode, String> {
    let results = args.out.join("results.jsonl");
    let mut records = if args.resume { read(&results)? } else { Vec::new() };
    let full = !args.quick;
    let is_done = |cell: &Cell| {
        records.iter().any(|record: &Record| {
            let good = matches!(record.outcome, Outcome::Pass | Outcome::Unsupported(_));
            record.cell == *cell && record.full == full && good
        })
    };
    let peers = chosen(&args.peers);
    let mut cells = Vec::new();
    for &peer in &peers {
        for role in chosen(args.role.as_slice()) {
            let subjects = chosen(&args.cells);
            cells.extend(subjects.into_iter().map(|subject| Cell { peer, role, subject }));
        }
    }
    cells.retain(|cell| !is_done(cell));
    let folder = folder()?;
    let lab = Lab::new(&peers, folder.path(), GUEST_LIFETIME);
    let limit = Duration::from_secs(args.limit.unwrap_or(if full { 180 } else { 60 }));
    let failures = args.out.join("failures");
    let settings = Settings { full, limit, jobs: args.jobs.into(), failures };
    let out = Mutex::new((open(&results, args.resume)?, &mut records));
    matrix::run(&cells, &lab, &settings, &|record| {
        let line = serde_json::to_string(&record).expect("it has no odd keys");
        let mut out = out.lock().expect("nobody panics here");
        // The matrix is printed all the same.
        writeln!(out.0, "{line}").unwrap_or_else(|e| eprintln!("{}: {e}", results.display()));
        eprintln!("{line}");
        out.1.push(record);
    });
    let versions = peers.iter().filter_map(|&peer| Some((peer, lab.version(peer)?)));
    let report = Report::new(&records, versions.collect::<BTreeMap<_, _>>());
    print!("{}", report.text());
    let mut page = open(&args.out.join("matrix.md"), false)?;
    page.write_all(report.markdown().as_bytes()).map_err(|e| format!("matrix.md: {e}"))?;
    let [_, failed, _, skipped] = report.counts();
    let peers_required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|v| v == "1");
    if failed > 0 || (skipped > 0 && peers_required) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The results of earlier runs; none if there is no file.
fn read(path: &Path) -> Result<Vec<Record>, String> {
    let text = match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|e| format!("{}: {e}", path.display()))?,
    };
    let record = |(n, line)| {
        serde_json::from_str(line).map_err(|e| format!("{}:{}: {e}", path.display(), n + 1))
    };
    text.lines().enumerate().map(record).collect()
}
