//! The interoperability matrix: Tresse as client and as server against every peer, in every cell.
//!
//! A cell passes, fails, or the peer cannot do what it is about. The latter is never a guess: the peer
//! program says so because its stack has no such call, or the packets show it.

mod added;
mod authenticated;
mod cells;
mod damaged;
mod ends;
mod interleaved;
mod kept;
mod marked;
mod moving;
mod partial;
mod prioritized;
mod recorder;
mod report;
mod resets;
mod scene;
mod searched;
mod whole_reset;
mod zero_checksum;

use std::any::Any;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tresse_peers::{Lab, Stack, Unavailable, Unsupported};

pub(crate) use recorder::Recorder;
pub use report::Report;
use scene::Scene;

/// What Tresse is in a cell.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It opens the association.
    Client,
    /// It accepts it.
    Server,
}

/// What a cell is about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// An association without data.
    Handshake,
    /// 100 MB each way.
    Bulk,
    /// Messages of 50 bytes.
    SmallMessages,
    /// 1 000 streams.
    ManyStreams,
    /// Unordered messages of several fragments.
    Unordered,
    /// Messages of 64 KiB.
    Fragmentation,
    /// Tresse shuts down with data under way.
    ShutdownByTresse,
    /// The peer does.
    ShutdownByPeer,
    /// Tresse aborts while the peer sends.
    AbortByTresse,
    /// The peer aborts.
    AbortByPeer,
    /// The client vanishes, and comes back from the same ports.
    Restart,
    /// 5 % of the packets are lost, in each direction.
    Loss,
    /// 10 % of the packets are late.
    Reordering,
    /// The path in use fails under way.
    Failover,
    /// UDP encapsulation.
    Udp,
    /// IPv6.
    Ipv6,
    /// Tresse has its streams begin again in the middle of a transfer (RFC 6525).
    Reset,
    /// The peer does.
    ResetByPeer,
    /// Tresse asks the peer to do so.
    AskedReset,
    /// The peer asks Tresse to do so.
    ResetAskedByPeer,
    /// Tresse asks for more streams in both directions.
    AddStreams,
    /// The peer does.
    AddStreamsByPeer,
    /// Tresse has all streams and the TSNs of both ends begin again (RFC 6525).
    ResetAll,
    /// The peer does.
    ResetAllByPeer,
    /// What Tresse sends is given up when it is too old, through loss (RFC 3758).
    Timed,
    /// What the peer sends is.
    TimedByPeer,
    /// What Tresse sends is given up rather than sent again, through loss (RFC 7496).
    Limited,
    /// What the peer sends is.
    LimitedByPeer,
    /// What Tresse sends makes room for what matters more, where the send buffer is full (RFC 7496).
    Prioritized,
    /// What the peer sends does.
    PrioritizedByPeer,
    /// As `limited`, with I-DATA chunks and so with I-FORWARD-TSN (RFC 8260).
    LimitedInterleaved,
    /// As `limited-by-peer`, with I-DATA chunks.
    LimitedInterleavedByPeer,
    /// Both ends authenticate their data, and Tresse changes the key in the middle (RFC 4895).
    KeyChange,
    /// The peer does.
    KeyChangeByPeer,
    /// A large message of Tresse, and small ones that come in between its fragments (RFC 8260).
    Interleaved,
    /// One of the peer.
    InterleavedByPeer,
    /// Packets have no checksum, as both ends want it (RFC 9653).
    ZeroChecksum,
    /// Tresse alone wants that.
    ZeroChecksumOffered,
    /// Tresse's addresses change while data is under way (RFC 5061).
    Moves,
    /// Those of the peer do.
    MovesByPeer,
    /// The network marks data, both ways (RFC 3168).
    Marked,
    /// Tresse finds out with probes how large packets may be (RFC 8899).
    MtuSearch,
    /// The peer does.
    MtuSearchByPeer,
    /// Both ends say in NR-SACKs what they will keep, through loss.
    NonRenegable,
    /// The network damages packets, both ways, and both ends report them (draft-stewart-sctp-pktdrprep).
    Damaged,
    /// The same, and Tresse alone would report them.
    DamagedUnreported,
}

impl Subject {
    /// As a line of the matrix is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Subject::Handshake => "handshake",
            Subject::Bulk => "bulk each way",
            Subject::SmallMessages => "50-byte messages",
            Subject::ManyStreams => "many streams",
            Subject::Unordered => "unordered",
            Subject::Fragmentation => "64 KiB messages",
            Subject::ShutdownByTresse => "shutdown by Tresse",
            Subject::ShutdownByPeer => "shutdown by the peer",
            Subject::AbortByTresse => "abort by Tresse",
            Subject::AbortByPeer => "abort by the peer",
            Subject::Restart => "restart",
            Subject::Loss => "loss of 5 %",
            Subject::Reordering => "reordering",
            Subject::Failover => "multihoming failover",
            Subject::Udp => "UDP encapsulation",
            Subject::Ipv6 => "IPv6",
            Subject::Reset => "reset by Tresse",
            Subject::ResetByPeer => "reset by the peer",
            Subject::AskedReset => "reset by the peer, asked for by Tresse",
            Subject::ResetAskedByPeer => "reset by Tresse, asked for by the peer",
            Subject::AddStreams => "more streams, asked for by Tresse",
            Subject::AddStreamsByPeer => "more streams, asked for by the peer",
            Subject::ResetAll => "all streams and TSNs reset by Tresse",
            Subject::ResetAllByPeer => "all streams and TSNs reset by the peer",
            Subject::Timed => "timed, sent by Tresse",
            Subject::TimedByPeer => "timed, sent by the peer",
            Subject::Limited => "no retransmissions, sent by Tresse",
            Subject::LimitedByPeer => "no retransmissions, sent by the peer",
            Subject::Prioritized => "the least important first, sent by Tresse",
            Subject::PrioritizedByPeer => "the least important first, sent by the peer",
            Subject::LimitedInterleaved => "in I-DATA chunks, sent by Tresse",
            Subject::LimitedInterleavedByPeer => "in I-DATA chunks, sent by the peer",
            Subject::KeyChange => "authenticated data, another key by Tresse",
            Subject::KeyChangeByPeer => "authenticated data, another key by the peer",
            Subject::Interleaved => "small ones in between a large message of Tresse",
            Subject::InterleavedByPeer => "small ones in between a large message of the peer",
            Subject::ZeroChecksum => "packets without a checksum",
            Subject::ZeroChecksumOffered => "the same, offered by Tresse alone",
            Subject::Moves => "addresses of Tresse deleted, added, preferred",
            Subject::MovesByPeer => "addresses of the peer deleted, added, preferred",
            Subject::Marked => "data that the network marks",
            Subject::MtuSearch => "larger packets, searched by Tresse",
            Subject::MtuSearchByPeer => "larger packets, searched by the peer",
            Subject::NonRenegable => "what is kept for sure, both ways",
            Subject::Damaged => "damaged packets, reported by both ends",
            Subject::DamagedUnreported => "the same, offered by Tresse alone",
        }
    }

    /// The extension of the protocol that it is about.
    #[must_use]
    pub const fn extension(self) -> Option<&'static str> {
        match self {
            Subject::Reset
            | Subject::ResetByPeer
            | Subject::AskedReset
            | Subject::ResetAskedByPeer
            | Subject::AddStreams
            | Subject::AddStreamsByPeer
            | Subject::ResetAll
            | Subject::ResetAllByPeer => Some("RE-CONFIG, RFC 6525"),
            Subject::Timed
            | Subject::TimedByPeer
            | Subject::Limited
            | Subject::LimitedByPeer
            | Subject::Prioritized
            | Subject::PrioritizedByPeer => Some("PR-SCTP, RFC 3758 and RFC 7496"),
            Subject::LimitedInterleaved | Subject::LimitedInterleavedByPeer => {
                Some("PR-SCTP with I-DATA: I-FORWARD-TSN, RFC 8260 §2.3")
            }
            Subject::KeyChange | Subject::KeyChangeByPeer => Some("AUTH, RFC 4895"),
            Subject::Interleaved | Subject::InterleavedByPeer => Some("I-DATA, RFC 8260"),
            Subject::ZeroChecksum | Subject::ZeroChecksumOffered => Some("Zero checksum, RFC 9653"),
            Subject::Moves | Subject::MovesByPeer => Some("ASCONF, RFC 5061"),
            Subject::Marked => Some("ECN, RFC 4960 Appendix A"),
            Subject::MtuSearch | Subject::MtuSearchByPeer => {
                Some("DPLPMTUD and PAD, RFC 8899 and RFC 4820")
            }
            Subject::NonRenegable => Some("NR-SACK, draft-tuexen-tsvwg-sctp-multipath"),
            Subject::Damaged | Subject::DamagedUnreported => {
                Some("Packet drop reports, draft-stewart-sctp-pktdrprep")
            }
            _ => None,
        }
    }
}

/// One cell of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The other stack.
    pub peer: Stack,
    /// Tresse's part.
    pub role: Role,
    /// What about.
    pub subject: Subject,
}

impl Cell {
    /// A name for threads and files.
    fn label(self) -> String {
        [word(&self.peer), word(&self.role), word(&self.subject)].join("-")
    }
}

/// A value as it stands on the command line.
pub(crate) fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "detail")]
pub enum Outcome {
    /// Everything was as it should be.
    Pass,
    /// Something was not.
    Fail(String),
    /// The peer cannot do this: its limit.
    Unsupported(String),
    /// The peer is not on this machine.
    Skipped(String),
}

impl Outcome {
    /// That of a cell whose thread panicked.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Outcome {
        Stop::from_panic(panic).into()
    }
}

/// A line of the results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Which cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Whether with all data, or with less of it.
    pub full: bool,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}

/// How cells are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// With 100 MB and so on, not with a few.
    pub full: bool,
    /// How long a cell may take.
    pub limit: Duration,
    /// Cells that run at the same time, beside one against the kernel.
    pub jobs: usize,
    /// Where logs and captures of cells that fail go to.
    pub failures: PathBuf,
}

/// Runs cells, and tells `done` of each as it ends.
pub fn run(cells: &[Cell], lab: &Lab, settings: &Settings, done: &(dyn Fn(Record) + Sync)) {
    let (kernel, others): (Vec<Cell>, Vec<Cell>) =
        cells.iter().partition(|cell| cell.peer == Stack::Linux);
    let queues =
        [(Mutex::new(kernel.into_iter()), 1), (Mutex::new(others.into_iter()), settings.jobs)];
    std::thread::scope(|scope| {
        for (queue, workers) in &queues {
            for _ in 0..*workers {
                scope.spawn(move || {
                    loop {
                        let next = queue.lock().expect("nobody panics here").next();
                        let Some(cell) = next else { break };
                        done(run_cell(cell, lab, settings));
                    }
                });
            }
        }
    });
}

/// Runs one cell in a thread of its own, which may change its network namespace.
fn run_cell(cell: Cell, lab: &Lab, settings: &Settings) -> Record {
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(cell.label());
        let work = || {
            let scene = Scene::new(cell, lab, settings).map_err(Stop::Skipped)?;
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| cells::play(&scene)));
            result.map_err(|panic| {
                let why = Stop::from_panic(panic.as_ref());
                if let Stop::Failed(why) = &why {
                    let kept = keep(&scene, why, &settings.failures);
                    kept.unwrap_or_else(|e| eprintln!("{}: {e}", settings.failures.display()));
                }
                why
            })
        };
        let thread = thread.spawn_scoped(scope, work).expect("a thread can be had");
        match thread.join() {
            Ok(Ok(())) => Outcome::Pass,
            Ok(Err(stop)) => stop.into(),
            Err(panic) => Outcome::of_panic(panic.as_ref()),
        }
    });
    Record { cell, full: settings.full, outcome, seconds: start.elapsed().as_secs_f64() }
}

/// Why a cell was not played to its end.
enum Stop {
    Skipped(Unavailable),
    Unsupported(String),
    Failed(String),
}

impl Stop {
    fn from_panic(panic: &(dyn Any + Send)) -> Stop {
        if let Some(Unsupported(what)) = panic.downcast_ref() {
            return Stop::Unsupported(what.clone());
        }
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Stop::Failed(text.unwrap_or_else(|| "a panic without words".to_owned()))
    }
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Outcome {
        match stop {
            Stop::Skipped(why) => Outcome::Skipped(why.to_string()),
            Stop::Unsupported(what) => Outcome::Unsupported(what),
            Stop::Failed(why) => Outcome::Fail(why),
        }
    }
}

/// Keeps what explains a failure: the reason, what the peers said, the packets.
fn keep(scene: &Scene<'_>, why: &str, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = |extension| folder.join(scene.cell.label()).with_extension(extension);
    let words = scene.words.lock().expect("nobody panics here").join("\n");
    std::fs::write(file("txt"), format!("{why}\n\nThe peers said:\n{words}\n"))?;
    scene.recorder.write(&file("pcapng"))
}
