//! `tresse trace`: what captures say about retransmissions.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tresse_trace::json::Json;
use tresse_trace::listing::Listing;
use tresse_trace::page::{Page, beside};
use tresse_trace::tables::Tables;
use tresse_trace::{Observer, Options, Summary, Totals, Trace, text};

use tresse_console::say::complain;

const EXAMPLES: &str = "\
Examples:
  tresse trace capture.pcapng
  tresse trace --list capture.pcap.gz
  tresse trace capture.pcapng logs/*.sqlog
  tresse trace --out /tmp/plots capture.pcapng
  tresse trace sender.pcapng --receiver receiver.pcapng
  tresse trace --out /tmp/plots after.pcapng --against before.pcapng
  tcpdump -i eth0 -w - sctp | tresse trace -
  tresse trace --udp-port 9900 --missing-reports 4 capture.pcapng";

const DIFFERENT_MEASURES: &str = "--receiver and --against-receiver go together: with captures of both ends transfer times end with \
    delivery, without them with the acknowledgement, and only like is held against like";

/// Analyse captured SCTP: retransmissions, their causes and delays.
///
/// Reads pcap, pcapng and the qlog of Tresse, also compressed with gzip. Several files are read together, as tcpdump and
/// dumpcap write them in turn or on several interfaces. Logs beside captures say why their senders sent chunks again. With captures of the other end as well
/// (--receiver), it also says which packets were lost, which retransmissions were unnecessary, how
/// long messages took until they could be delivered, and how long chunks waited for order.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Captures; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Captures taken at the same time at the other end (repeatable)
    #[arg(long, value_name = "FILE")]
    receiver: Vec<PathBuf>,
    /// List all packets, one line each, instead of the summary
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print everything as JSON instead of the summary
    #[arg(long)]
    json: bool,
    /// Write into this folder: a page of plots (index.html), summary.json, and tables of
    /// retransmissions, SACKs and statistics as CSV and Parquet
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Captures to hold the others against, by the same rules: DIR gets a page of both, compared.html (repeatable)
    #[arg(long, value_name = "FILE", requires = "out")]
    against: Vec<PathBuf>,
    /// Captures taken at the other end of those of --against, as --receiver has them for the others (repeatable)
    #[arg(long, value_name = "FILE", requires = "against")]
    against_receiver: Vec<PathBuf>,
    /// UDP port that carries SCTP (RFC 6951), besides 9899 (repeatable)
    #[arg(long, value_name = "PORT")]
    udp_port: Vec<u16>,
    /// This many SACKs that report a chunk missing tell a fast retransmit from a timeout: 3 (RFC
    /// 9260), 4 (RFC 2960)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    missing_reports: u32,
    /// Count every retransmission with fewer reports as a timeout, also one so early that no timer can have expired (as Pedersen's
    /// sctp_trace does)
    #[arg(long)]
    no_early: bool,
    /// RTO.Min of the RTO that is estimated, in milliseconds; what is sent again well before that RTO is no timeout
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    rto_min: u32,
    /// An association of which nothing is seen for this many seconds is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u32).range(1..))]
    idle: u32,
}

/// Runs `tresse trace`.
pub(crate) fn run(args: &Args) -> ExitCode {
    match trace(args) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that went away (`tresse trace --list x | head`) is no error.
        Err(Fault::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Fault::Write(error)) => {
            complain(format_args!("the standard output: {error}"));
            ExitCode::FAILURE
        }
        Err(Fault::Folder(error)) => {
            complain(&error);
            ExitCode::FAILURE
        }
        Err(Fault::Request(error)) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

enum Fault {
    /// The request was wrong.
    Request(String),
    /// The standard output cannot be written.
    Write(io::Error),
    /// The folder of the results cannot be written.
    Folder(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Write(error)
    }
}

/// Prints the summary of each association when it ends.
struct Summaries<W: io::Write> {
    out: W,
    fault: Option<io::Error>,
}

impl<W: io::Write> Observer for Summaries<W> {
    fn ends(&mut self, summary: &Summary) {
        if self.fault.is_none() {
            self.fault = writeln!(self.out, "{}", text::summary(summary)).err();
        }
    }
}

fn trace(args: &Args) -> Result<(), Fault> {
    let mut options = Options {
        missing_reports: args.missing_reports,
        early: !args.no_early,
        rto_min: Duration::from_millis(args.rto_min.into()),
        idle: Duration::from_secs(args.idle.into()),
        ..Options::default()
    };
    options.udp_ports.extend(&args.udp_port);
    let (here, there) = (paths(&args.files), paths(&args.receiver));
    if !args.against.is_empty() && args.receiver.is_empty() != args.against_receiver.is_empty() {
        return Err(Fault::Request(DIFFERENT_MEASURES.into()));
    }
    let mut trace = Trace::new(options.clone());
    // Everything is opened before anything is written.
    let captures = trace.open(&here, &there).map_err(|e| Fault::Request(e.to_string()))?;
    let before = (!args.against.is_empty()).then(|| before(options, args)).transpose()?;
    let mut folder = args.out.as_deref().map(Folder::new).transpose()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut shown = Shown::new(args, &mut out);
    let mut observers: Vec<&mut dyn Observer> = vec![shown.observer()];
    if let Some(folder) = &mut folder {
        observers.extend([
            &mut folder.page as &mut dyn Observer,
            &mut folder.tables,
            &mut folder.json,
        ]);
    }
    trace.read(captures, &mut observers);
    trace.finish(&mut observers);
    let totals = trace.totals();
    shown.finish(&totals)?;
    if let Some(folder) = folder {
        if let Some((page, of_before)) = &before {
            let names = [&args.against, &args.files].map(|files| named(files));
            let captures =
                [(names[0].as_str(), page, of_before), (names[1].as_str(), &folder.page, &totals)];
            let path = folder.path.join("compared.html");
            std::fs::write(&path, beside(captures)).map_err(|error| {
                Fault::Folder(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
            })?;
        }
        folder.finish(&totals).map_err(Fault::Folder)?;
    }
    Ok(())
}

fn paths(files: &[PathBuf]) -> Vec<&Path> {
    files.iter().map(PathBuf::as_path).collect()
}

/// Reads what the others are held against.
fn before(options: Options, args: &Args) -> Result<(Page, Totals), Fault> {
    let (here, there) = (paths(&args.against), paths(&args.against_receiver));
    let (mut trace, mut page) = (Trace::new(options), Page::default());
    let captures = trace.open(&here, &there).map_err(|e| Fault::Request(e.to_string()))?;
    let mut observers: Vec<&mut dyn Observer> = vec![&mut page];
    trace.read(captures, &mut observers);
    trace.finish(&mut observers);
    let totals = trace.totals();
    Ok((page, totals))
}

/// What captures are called: by the first file.
fn named(files: &[PathBuf]) -> String {
    let first = files.first().map(|file| file.display().to_string()).unwrap_or_default();
    if files.len() > 1 { format!("{first} and others") } else { first }
}

/// What is printed.
enum Shown<W: io::Write> {
    Listing(Listing<W>),
    Json(Json<W>),
    Text(Summaries<W>),
}

impl<W: io::Write> Shown<W> {
    fn new(args: &Args, out: W) -> Shown<W> {
        match (args.list, args.json) {
            (true, _) => Shown::Listing(Listing::new(out)),
            (_, true) => Shown::Json(Json::new(out)),
            _ => Shown::Text(Summaries { out, fault: None }),
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        match self {
            Shown::Listing(listing) => listing,
            Shown::Json(json) => json,
            Shown::Text(summaries) => summaries,
        }
    }

    fn finish(self, totals: &Totals) -> io::Result<()> {
        match self {
            Shown::Listing(listing) => listing.finish(),
            Shown::Json(json) => json.finish(totals),
            Shown::Text(Summaries { fault: Some(fault), .. }) => Err(fault),
            Shown::Text(Summaries { mut out, .. }) => {
                write!(out, "{}", text::totals(totals))?;
                out.flush()
            }
        }
    }
}

/// What is written into a folder.
struct Folder {
    path: PathBuf,
    page: Page,
    tables: Tables,
    json: Json<BufWriter<File>>,
}

impl Folder {
    fn new(path: &Path) -> Result<Folder, Fault> {
        let fault = |e: io::Error| Fault::Request(format!("{}: {e}", path.display()));
        std::fs::create_dir_all(path).map_err(fault)?;
        let json = File::create(path.join("summary.json")).map_err(fault)?;
        Ok(Folder {
            path: path.to_owned(),
            page: Page::default(),
            tables: Tables::new(path),
            json: Json::new(BufWriter::new(json)),
        })
    }

    fn finish(self, totals: &Totals) -> io::Result<()> {
        // Each of them, whatever becomes of the others.
        let written = [
            self.tables.finish(),
            self.json.finish(totals),
            std::fs::write(self.path.join("index.html"), self.page.html(totals)),
        ];
        let all: io::Result<()> = written.into_iter().collect();
        all.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }
}
