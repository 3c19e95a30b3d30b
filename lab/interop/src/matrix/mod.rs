//! The interoperability matrix: Tresse as client and as server against every peer, in every cell.
//!
//! A cell passes, fails, or the peer cannot do what it is about. The latter is never a guess: the peer
//! program says so because its stack has no such call, or the packets show it.

mod added;
mod authenticated;
mod automatic;
mod cells;
mod crossing;
mod damaged;
mod denied;
mod destined;
mod ends;
mod forged;
mod interleaved;
mod kept;
mod keys;
mod lost_resets;
mod marked;
mod moving;
mod narrowed;
mod nats;
mod network;
mod partial;
mod parts;
mod plan;
mod prioritized;
mod recorder;
mod report;
mod resets;
mod run;
mod scene;
mod scheduled;
mod searched;
mod whole_reset;
mod wildcards;
mod zero_checksum;

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tresse_peers::Stack;

pub(crate) use recorder::Recorder;
pub use report::Report;
pub use run::run;

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
    /// As `reset`, and the first request and the first answer to it get lost.
    ResetLost,
    /// As `reset-by-peer`, with these losses.
    ResetLostByPeer,
    /// Both ends have their streams begin again at the same time, and the requests cross.
    ResetsCross,
    /// The peer denies what Tresse asks for.
    DeniedByPeer,
    /// Tresse denies what the peer asks for.
    Denied,
    /// What Tresse sends is given up when it is too old, through loss (RFC 3758).
    Timed,
    /// What the peer sends is.
    TimedByPeer,
    /// What Tresse sends is given up rather than sent again, through loss (RFC 7496).
    Limited,
    /// What the peer sends is.
    LimitedByPeer,
    /// As `limited`, and unordered.
    UnorderedLimited,
    /// As `limited-by-peer`, and unordered.
    UnorderedLimitedByPeer,
    /// As `timed`, with messages of several fragments.
    LargeTimed,
    /// As `timed-by-peer`, with messages of several fragments.
    LargeTimedByPeer,
    /// Messages of Tresse of several fragments are given up rather than sent again a second time.
    LargeLimited,
    /// Those of the peer are.
    LargeLimitedByPeer,
    /// What Tresse sends makes room for what matters more, where the send buffer is full (RFC 7496).
    Prioritized,
    /// What the peer sends does.
    PrioritizedByPeer,
    /// As `limited`, with I-DATA chunks and so with I-FORWARD-TSN (RFC 8260).
    LimitedInterleaved,
    /// As `limited-by-peer`, with I-DATA chunks.
    LimitedInterleavedByPeer,
    /// As `unordered-limited`, with I-DATA chunks.
    UnorderedInterleaved,
    /// As `unordered-limited-by-peer`, with I-DATA chunks.
    UnorderedInterleavedByPeer,
    /// Both ends authenticate their data, and Tresse changes the key in the middle (RFC 4895).
    KeyChange,
    /// The peer does.
    KeyChangeByPeer,
    /// Both ends change the key, and Tresse deletes the old one.
    KeyDeleted,
    /// The peer does.
    KeyDeletedByPeer,
    /// Both associations have a key in the place of one of their endpoints.
    KeyReplaced,
    /// Tresse takes HMACs with SHA-1 alone.
    Sha1,
    /// The peer does.
    Sha1ByPeer,
    /// Somebody on the way changes authenticated data, both ways.
    Forged,
    /// A large message of Tresse, and small ones that come in between its fragments (RFC 8260).
    Interleaved,
    /// One of the peer.
    InterleavedByPeer,
    /// Tresse sends with each of its stream schedulers (RFC 8260).
    Schedulers,
    /// The peer sends with each of its own.
    SchedulersByPeer,
    /// As `schedulers`, with I-DATA chunks.
    SchedulersInterleaved,
    /// As `schedulers-by-peer`, with I-DATA chunks.
    SchedulersInterleavedByPeer,
    /// Packets have no checksum, as both ends want it (RFC 9653).
    ZeroChecksum,
    /// Tresse alone wants that.
    ZeroChecksumOffered,
    /// Tresse's addresses change while data is under way (RFC 5061).
    Moves,
    /// Those of the peer do.
    MovesByPeer,
    /// The host of Tresse gets addresses and loses others (RFC 6458 §8.1.24).
    HostMoves,
    /// That of the peer does.
    HostMovesByPeer,
    /// Requests of Tresse name no address, as behind a NAT (RFC 6951 §5.7).
    Wildcards,
    /// One of them adds an address.
    WildcardAdds,
    /// The client is behind a NAT, which forgets under way (RFC 6951 §5.4).
    NatForgets,
    /// Tresse is, and its host gets another address there (RFC 6951 §5.7).
    NatMoves,
    /// It goes on behind another NAT.
    NatMovesOn,
    /// The network marks data, both ways (RFC 3168).
    Marked,
    /// The same, in UDP datagrams.
    MarkedInUdp,
    /// Tresse finds out with probes how large packets may be (RFC 8899).
    MtuSearch,
    /// The peer does.
    MtuSearchByPeer,
    /// A router on Tresse's way becomes narrower, and says so (RFC 1191, RFC 8201).
    TooBig,
    /// It says nothing (RFC 8899 §4.3).
    BlackHole,
    /// The same over IPv6, where no router fragments what is under way.
    BlackHoleIpv6,
    /// As `black-hole`, on the way of the peer.
    BlackHoleByPeer,
    /// Both ends say in NR-SACKs what they will keep, through loss.
    NonRenegable,
    /// The network damages packets, both ways, and both ends report them (draft-stewart-sctp-pktdrprep).
    Damaged,
    /// The same, and Tresse alone would report them.
    DamagedUnreported,
    /// The peer reads a large message of Tresse while it still comes (RFC 6458 §8.1.21).
    Parts,
    /// Tresse reads one of the peer.
    PartsByPeer,
    /// As `parts`, and Tresse gives the message up.
    PartsAbandoned,
    /// As `parts-by-peer`, and the peer does.
    PartsAbandonedByPeer,
    /// Messages of Tresse that are to go to the second address of the peer (RFC 6458 §5.3.4).
    Destination,
    /// Some of the peer.
    DestinationByPeer,
    /// Tresse asks one address of the peer only whether it is there (RFC 6458 §8.1.12).
    Heartbeats,
    /// The peer asks one of Tresse.
    HeartbeatsByPeer,
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
            Subject::ResetLost => "reset by Tresse, request and response lost",
            Subject::ResetLostByPeer => "reset by the peer, request and response lost",
            Subject::ResetsCross => "resets by both, whose requests cross",
            Subject::DeniedByPeer => "resets and streams denied by the peer",
            Subject::Denied => "resets and streams denied by Tresse",
            Subject::Timed => "timed, sent by Tresse",
            Subject::TimedByPeer => "timed, sent by the peer",
            Subject::Limited => "no retransmissions, sent by Tresse",
            Subject::LimitedByPeer => "no retransmissions, sent by the peer",
            Subject::UnorderedLimited => "unordered, no retransmissions, sent by Tresse",
            Subject::UnorderedLimitedByPeer => "unordered, no retransmissions, sent by the peer",
            Subject::LargeTimed => "4000 bytes, timed, sent by Tresse",
            Subject::LargeTimedByPeer => "4000 bytes, timed, sent by the peer",
            Subject::LargeLimited => "4000 bytes, one retransmission, sent by Tresse",
            Subject::LargeLimitedByPeer => "4000 bytes, one retransmission, sent by the peer",
            Subject::Prioritized => "the least important first, sent by Tresse",
            Subject::PrioritizedByPeer => "the least important first, sent by the peer",
            Subject::LimitedInterleaved => "in I-DATA chunks, sent by Tresse",
            Subject::LimitedInterleavedByPeer => "in I-DATA chunks, sent by the peer",
            Subject::UnorderedInterleaved => "unordered in I-DATA chunks, sent by Tresse",
            Subject::UnorderedInterleavedByPeer => "unordered in I-DATA chunks, sent by the peer",
            Subject::KeyChange => "authenticated data, another key by Tresse",
            Subject::KeyChangeByPeer => "authenticated data, another key by the peer",
            Subject::KeyDeleted => "the old key deleted by Tresse",
            Subject::KeyDeletedByPeer => "the old key deleted by the peer",
            Subject::KeyReplaced => "a key of the endpoints replaced by one of the association",
            Subject::Sha1 => "SHA-1 alone, listed by Tresse",
            Subject::Sha1ByPeer => "SHA-1 alone, listed by the peer",
            Subject::Forged => "data changed on the way",
            Subject::Interleaved => "small ones in between a large message of Tresse",
            Subject::InterleavedByPeer => "small ones in between a large message of the peer",
            Subject::Schedulers => "schedulers of Tresse",
            Subject::SchedulersByPeer => "schedulers of the peer",
            Subject::SchedulersInterleaved => "schedulers of Tresse, in I-DATA chunks",
            Subject::SchedulersInterleavedByPeer => "schedulers of the peer, in I-DATA chunks",
            Subject::ZeroChecksum => "packets without a checksum",
            Subject::ZeroChecksumOffered => "the same, offered by Tresse alone",
            Subject::Moves => "addresses of Tresse deleted, added, preferred",
            Subject::MovesByPeer => "addresses of the peer deleted, added, preferred",
            Subject::HostMoves => "addresses that the host of Tresse gets and loses",
            Subject::HostMovesByPeer => "addresses that the host of the peer gets and loses",
            Subject::Wildcards => "wildcards of Tresse: preferred, all others deleted",
            Subject::WildcardAdds => "wildcards of Tresse: added",
            Subject::NatForgets => "a NAT before the client, which forgets",
            Subject::NatMoves => "Tresse moves behind its NAT",
            Subject::NatMovesOn => "Tresse moves behind another NAT",
            Subject::Marked => "data that the network marks",
            Subject::MarkedInUdp => "the same, in UDP datagrams",
            Subject::MtuSearch => "larger packets, searched by Tresse",
            Subject::MtuSearchByPeer => "larger packets, searched by the peer",
            Subject::TooBig => "a router becomes narrower and says so, sent by Tresse",
            Subject::BlackHole => "the same without a word, sent by Tresse",
            Subject::BlackHoleIpv6 => "the same without a word, over IPv6, sent by Tresse",
            Subject::BlackHoleByPeer => "the same without a word, sent by the peer",
            Subject::NonRenegable => "what is kept for sure, both ways",
            Subject::Damaged => "damaged packets, reported by both ends",
            Subject::DamagedUnreported => "the same, offered by Tresse alone",
            Subject::Parts => "1 MB of Tresse, read in parts",
            Subject::PartsByPeer => "1 MB of the peer, read in parts",
            Subject::PartsAbandoned => "1 MB of Tresse, read in parts and given up",
            Subject::PartsAbandonedByPeer => "1 MB of the peer, read in parts and given up",
            Subject::Destination => "messages of Tresse to the second address",
            Subject::DestinationByPeer => "messages of the peer to the second address",
            Subject::Heartbeats => "heartbeats of Tresse to one address alone",
            Subject::HeartbeatsByPeer => "heartbeats of the peer to one address alone",
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
            | Subject::ResetAllByPeer
            | Subject::ResetLost
            | Subject::ResetLostByPeer
            | Subject::ResetsCross
            | Subject::DeniedByPeer
            | Subject::Denied => Some("RE-CONFIG, RFC 6525"),
            Subject::Timed
            | Subject::TimedByPeer
            | Subject::Limited
            | Subject::LimitedByPeer
            | Subject::UnorderedLimited
            | Subject::UnorderedLimitedByPeer
            | Subject::LargeTimed
            | Subject::LargeTimedByPeer
            | Subject::LargeLimited
            | Subject::LargeLimitedByPeer
            | Subject::Prioritized
            | Subject::PrioritizedByPeer => Some("PR-SCTP, RFC 3758 and RFC 7496"),
            Subject::LimitedInterleaved
            | Subject::LimitedInterleavedByPeer
            | Subject::UnorderedInterleaved
            | Subject::UnorderedInterleavedByPeer => {
                Some("PR-SCTP with I-DATA: I-FORWARD-TSN, RFC 8260 §2.3")
            }
            Subject::KeyChange
            | Subject::KeyChangeByPeer
            | Subject::KeyDeleted
            | Subject::KeyDeletedByPeer
            | Subject::KeyReplaced
            | Subject::Sha1
            | Subject::Sha1ByPeer
            | Subject::Forged => Some("AUTH, RFC 4895"),
            Subject::Interleaved | Subject::InterleavedByPeer => Some("I-DATA, RFC 8260"),
            Subject::Schedulers
            | Subject::SchedulersByPeer
            | Subject::SchedulersInterleaved
            | Subject::SchedulersInterleavedByPeer => Some("Stream schedulers, RFC 8260 §3"),
            Subject::ZeroChecksum | Subject::ZeroChecksumOffered => Some("Zero checksum, RFC 9653"),
            Subject::Moves
            | Subject::MovesByPeer
            | Subject::HostMoves
            | Subject::HostMovesByPeer
            | Subject::Wildcards
            | Subject::WildcardAdds => Some("ASCONF, RFC 5061"),
            Subject::NatForgets | Subject::NatMoves | Subject::NatMovesOn => {
                Some("NATs, RFC 6951 and RFC 5061")
            }
            Subject::Marked | Subject::MarkedInUdp => Some("ECN, RFC 4960 Appendix A"),
            Subject::MtuSearch
            | Subject::MtuSearchByPeer
            | Subject::TooBig
            | Subject::BlackHole
            | Subject::BlackHoleIpv6
            | Subject::BlackHoleByPeer => Some("DPLPMTUD and PAD, RFC 8899 and RFC 4820"),
            Subject::NonRenegable => Some("NR-SACK, draft-tuexen-tsvwg-sctp-multipath"),
            Subject::Damaged | Subject::DamagedUnreported => {
                Some("Packet drop reports, draft-stewart-sctp-pktdrprep")
            }
            Subject::Parts
            | Subject::PartsByPeer
            | Subject::PartsAbandoned
            | Subject::PartsAbandonedByPeer => Some("Partial delivery, RFC 9260 §6.9"),
            Subject::Destination
            | Subject::DestinationByPeer
            | Subject::Heartbeats
            | Subject::HeartbeatsByPeer => Some("Single addresses, RFC 6458 §5.3.4 and §8.1.12"),
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
