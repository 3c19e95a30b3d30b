//! `tresse emulate`: programs on both sides of links that exist only in real time.

mod command;
pub(crate) mod init;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};
use tresse_emulator::{Emulation, LinkFile, Privilege, Report, Settings, Side};

use command::{Ended, Running, Task};

use crate::run::Signals;
use tresse_console::say::{complain, say};

/// How long commands may take to end once they were told to.
const GRACE: Duration = Duration::from_secs(5);
/// Packets that are this late, in microseconds, show that the emulator had to wait for other processes.
const BUSY_US: f64 = 1000.0;
/// Later than any command ends.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

const EXAMPLES: &str = "\
Examples:
  tresse emulate link.toml -- left: ping -c 5 10.77.0.2
  tresse emulate link.toml --capture /tmp/captures -- left: iperf3 -c 10.77.0.2 -- right: iperf3 -s
  tresse emulate link.toml --stats stats.json -- right: tresse perf server \\
      -- left: tresse perf client 10.77.0.2

A link file has the links of an experiment's topology:
  forward = { bandwidth_kbps = 2000, delay_ms = 50, queue_packets = 50, loss = 0.01 }
  backward = { bandwidth_kbps = 2000, delay_ms = 50 }

Path 0 is interface link0: 10.77.0.1 and fd77:0::1 on the left, 10.77.0.2 and fd77:0::2 on the
right; path 1, if there is a [second], is link1 with 10.77.1.1 and so on.

Exit status: that of the first left command that fails, or of a right one that fails by itself; 0
otherwise, 1 if a capture is incomplete, 2 if the request was wrong, 128 and its number after a signal.";

/// Run programs on both sides of emulated links, in real time.
///
/// Each side is a network namespace of its own, so it takes root, or a system that permits user
/// namespaces. It ends when the left commands have ended; the right ones are then told to. Nothing of
/// it remains afterwards, not even when it is killed: namespaces, interfaces and commands go with it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The links: a TOML file with forward, backward, second and seed, or an experiment with a topology
    #[arg(value_name = "LINKS")]
    links: PathBuf,
    /// Take this seed for all random decisions instead of the file's
    #[arg(long)]
    seed: Option<u64>,
    /// Write what passes each interface to linkP-left.pcapng and linkP-right.pcapng in this folder
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// Keep this many bytes of each frame in captures
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..))]
    snaplen: Option<u32>,
    /// Write what each link did to this file, as JSON
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// MTU of the interfaces
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    mtu: u16,
    /// UDP port that carries SCTP (RFC 6951), besides 9899, for drop_data and drop_acks (repeatable)
    #[arg(long, value_name = "PORT")]
    udp_port: Vec<u16>,
    /// Run before all ordinary processes (SCHED_FIFO), so that packets are punctual on a busy machine
    #[arg(long)]
    realtime: bool,
    /// End after this many seconds, if the left commands have not ended before
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Go on when a right command fails; otherwise everything ends then
    #[arg(long)]
    keep_going: bool,
    /// Start the left commands this much later than the right ones
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    head_start: Duration,
    /// left: or right: and a command; several are separated by --
    #[arg(required = true, last = true, value_name = "SIDE: COMMAND")]
    commands: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|span| *span < NEVER)
        .ok_or_else(|| "it must be between 0 and a year".to_owned())
}

/// Runs `tresse emulate`.
pub(crate) fn run(args: &Args) -> ExitCode {
    match prepare(args) {
        Ok(prepared) => ExitCode::from(emulate(args, prepared)),
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

struct Prepared {
    tasks: Vec<Task>,
    emulation: Emulation,
    stats: Option<File>,
    runtime: tokio::runtime::Runtime,
}

/// Everything that can be refused.
fn prepare(args: &Args) -> Result<Prepared, String> {
    let tasks = split(&args.commands)?;
    let mut links = LinkFile::read(&args.links).map_err(|error| error.to_string())?;
    links.seed = args.seed.unwrap_or(links.seed);
    // There is no second thread yet.
    Privilege::acquire().map_err(|error| error.to_string())?;
    let stats = args
        .stats
        .as_ref()
        .map(|path| File::create(path).map_err(|error| format!("{}: {error}", path.display())));
    let stats = stats.transpose()?;
    let settings = Settings {
        capture: args.capture.clone(),
        snap_length: args.snaplen.map_or(usize::MAX, |bytes| bytes as usize),
        mtu: args.mtu,
        udp_ports: args.udp_port.clone(),
        realtime: args.realtime,
        warn: |line| complain(line),
    };
    let emulation = Emulation::start(&links, &settings).map_err(|error| error.to_string())?;
    if args.realtime && !emulation.is_realtime() {
        complain("--realtime is not permitted, or chrt is missing; going on without");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(Prepared { tasks, emulation, stats, runtime })
}

/// What the user has asked to run: `left: CMD... -- right: CMD...`.
fn split(words: &[OsString]) -> Result<Vec<Task>, String> {
    let side = |word: &OsString| match word.to_str() {
        Some("left:") => Some(Side::Left),
        Some("right:") => Some(Side::Right),
        _ => None,
    };
    let mut tasks: Vec<Task> = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        // A -- that no side follows belongs to the command.
        let next = if word == "--" { words.peek().and_then(|next| side(next)) } else { None };
        let first = if tasks.is_empty() { side(word) } else { None };
        if let Some(side) = first {
            tasks.push(Task { side, words: Vec::new() });
        } else if let Some(side) = next {
            words.next();
            tasks.push(Task { side, words: Vec::new() });
        } else if let Some(task) = tasks.last_mut() {
            task.words.push(word.clone());
        } else {
            let word = word.to_string_lossy();
            return Err(format!("commands begin with left: or right:, not with {word:?}"));
        }
    }
    if let Some(task) = tasks.iter().find(|task| task.words.is_empty()) {
        return Err(format!("there is no command behind {}:", task.side.name()));
    }
    if tasks.iter().all(|task| task.side == Side::Right) {
        return Err("a left: command is needed: everything ends when it does".into());
    }
    Ok(tasks)
}

/// Runs it all and gives the exit status.
fn emulate(args: &Args, prepared: Prepared) -> u8 {
    let Prepared { tasks, emulation, stats, runtime } = prepared;
    let status = runtime.block_on(Play::new(args, &emulation).run(tasks));
    let report = emulation.stop();
    say(report.text().trim_end());
    if !report.realtime && report.links.iter().any(|link| link.late.p99_us > BUSY_US) {
        complain("the machine is busy: --realtime has packets delivered on time");
    }
    let written = stats.map_or(Ok(()), |file| write_stats(file, &report));
    if let (Err(error), Some(path)) = (&written, &args.stats) {
        complain(format_args!("{}: {error}", path.display()));
    }
    let whole = written.is_ok() && report.captures_complete;
    if status == 0 { u8::from(!whole) } else { status }
}

fn write_stats(mut file: File, report: &Report) -> std::io::Result<()> {
    use std::io::Write;
    serde_json::to_writer_pretty(&mut file, report)?;
    writeln!(file)?;
    file.sync_all().or_else(|error| match error.kind() {
        // A pipe has nothing to be sure of.
        std::io::ErrorKind::InvalidInput => Ok(()),
        _ => Err(error),
    })
}

/// Commands that run, and what has become of them.
struct Play<'a> {
    args: &'a Args,
    emulation: &'a Emulation,
    running: Vec<Running>,
    /// The exit status so far.
    status: u8,
    /// Everything has been told to end, by then.
    ending: Option<Instant>,
}

impl<'a> Play<'a> {
    fn new(args: &'a Args, emulation: &'a Emulation) -> Play<'a> {
        Play { args, emulation, running: Vec::new(), status: 0, ending: None }
    }

    async fn run(mut self, tasks: Vec<Task>) -> u8 {
        let (sender, mut ends) = unbounded_channel();
        let mut signals = match Signals::new() {
            Ok(signals) => signals,
            Err(error) => {
                complain(format_args!("signals: {error}"));
                return 1;
            }
        };
        let (left, right): (Vec<Task>, Vec<Task>) =
            tasks.into_iter().partition(|task| task.side == Side::Left);
        let head_start = if right.is_empty() { Duration::ZERO } else { self.args.head_start };
        let mut waiting = vec![(Instant::now() + head_start, left), (Instant::now(), right)];
        let mut deadline = Instant::now() + NEVER;
        loop {
            if self.ending.is_none()
                && waiting.last().is_some_and(|(start, _)| *start <= Instant::now())
                && let Some((_, tasks)) = waiting.pop()
            {
                if waiting.is_empty() {
                    // The experiment begins now.
                    self.emulation.restart();
                    let duration = self.args.duration.unwrap_or(NEVER);
                    deadline = Instant::now() + duration;
                }
                for task in tasks {
                    match Running::start(self.emulation, task, sender.clone()) {
                        Ok(running) => self.running.push(running),
                        Err(error) => {
                            complain(&error);
                            self.fail(1);
                        }
                    }
                }
                continue;
            }
            if self.is_over(waiting.is_empty()) {
                return self.status;
            }
            let start = waiting.last().map(|(start, _)| *start);
            let next = self.ending.or(start).unwrap_or(deadline);
            self.step(&mut ends, &mut signals, next, start.is_none()).await;
        }
    }

    /// Waits for one thing to happen; `started`: everything has been started.
    async fn step(
        &mut self,
        ends: &mut UnboundedReceiver<Ended>,
        signals: &mut Signals,
        next: Instant,
        started: bool,
    ) {
        tokio::select! {
            Some(ended) = ends.recv() => self.ended(&ended, started),
            (signal, _) = signals.next() => {
                // As shells have it.
                self.status = u8::try_from(128 + signal.as_raw()).unwrap_or(1);
                if self.ending.is_some() {
                    // A user who asks twice does not want to wait.
                    self.tell(Signal::SIGKILL);
                } else {
                    self.end();
                }
            }
            () = sleep_until(next) => match self.ending {
                Some(_) => {
                    self.tell(Signal::SIGKILL);
                    self.ending = Some(Instant::now() + GRACE);
                }
                None if started => self.end(),
                None => {}
            },
        }
    }

    /// A command has ended.
    fn ended(&mut self, ended: &Ended, started: bool) {
        let Some(index) = self.running.iter().position(|running| running.id() == ended.id) else {
            return;
        };
        let running = self.running.swap_remove(index);
        let task = running.task();
        if ended.code != 0 && self.ending.is_none() {
            complain(format_args!("{task} {}", ended.how()));
            if task.side == Side::Left {
                self.status = if self.status == 0 { ended.code } else { self.status };
            } else if !self.args.keep_going {
                self.fail(ended.code);
            }
        }
        let mut sides = self.running.iter().map(|running| running.task().side);
        if started && self.ending.is_none() && !sides.any(|side| side == Side::Left) {
            self.end();
        }
    }

    /// Ends everything, with this status unless there is one already.
    fn fail(&mut self, status: u8) {
        if self.status == 0 {
            self.status = status;
        }
        if self.ending.is_none() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.ending = Some(Instant::now() + GRACE);
        self.tell(Signal::SIGTERM);
    }

    fn tell(&self, signal: Signal) {
        self.running.iter().for_each(|running| running.tell(signal));
    }

    fn is_over(&self, started: bool) -> bool {
        self.running.is_empty() && (started || self.ending.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(line: &str) -> Result<Vec<String>, String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Ok(split(&words)?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn commands_are_told_apart() {
        assert_eq!(tasks("left: a -b").unwrap(), ["left: `a -b`"]);
        let several = tasks("right: s -- left: a -- x left: -- right: t").unwrap();
        assert_eq!(several, ["right: `s`", "left: `a -- x left:`", "right: `t`"]);
        for (line, said) in [
            ("a", "begin with left: or right:"),
            ("right: s", "a left: command is needed"),
            ("left: -- right: s", "no command behind left:"),
        ] {
            assert!(tasks(line).unwrap_err().contains(said), "{line}");
        }
    }
}
