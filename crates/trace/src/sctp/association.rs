//! One association, as packets of it pass by.

use std::net::{IpAddr, SocketAddr};

use tresse_wire::{Chunk, ChunkType, GapAckBlocks, Packet as SctpPacket, padded};

use super::direction::{Direction, Packet};
use crate::Skipped;
use crate::event::{Event, Head, Identity, Observer, Side};
use crate::flow::Flow;
use crate::statistics::Delays;
use crate::summary::{DirectionSummary, Ending, PathSummary, Summary, unknown};

const BAD_CHUNK: &str = "malformed chunks";
const CUT_CHUNK: &str = "chunks cut off by the snapshot length";
/// An association uses at most so many pairs of addresses; further ones are counted with the last.
const MOST_PATHS: usize = 256;

/// What both directions need to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) missing_reports: u32,
    pub(crate) rto_min_ms: f64,
}

#[derive(Debug)]
struct Path {
    from: Side,
    source: IpAddr,
    destination: IpAddr,
    packets: u64,
    bytes: u64,
    data: u64,
    rtt: Delays,
}

/// How soon a side answers, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    /// When the other side last asked for an answer.
    asked: Option<u64>,
    soonest: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Association {
    pub(super) identity: Identity,
    from_the_beginning: bool,
    pub(super) ending: Option<Ending>,
    first_at: u64,
    pub(super) last_at: u64,
    packets: u64,
    paths: Vec<Path>,
    /// Path of the last packet of each side.
    last_path: [usize; 2],
    directions: [Direction; 2],
    answers: [Answers; 2],
    /// Whether a packet of this side had a good checksum: then those without are damaged. (Where
    /// the network card computes them, none of them is good.)
    pub(super) checksums: [bool; 2],
}

/// An SCTP packet, filled up with zeros where it was cut off.
#[derive(Clone, Copy)]
pub(super) struct Captured<'a> {
    pub(super) sctp: SctpPacket<'a>,
    /// Its length.
    pub(super) length: usize,
    /// How much of it was captured.
    pub(super) kept: usize,
}

impl Association {
    pub(super) fn new(id: u64, at: u64, ends: [SocketAddr; 2], settings: &Settings) -> Association {
        let [a, b] = ends;
        Association {
            identity: Identity { association: id, protocol: "sctp", a, b },
            from_the_beginning: false,
            ending: None,
            first_at: at,
            last_at: at,
            packets: 0,
            paths: Vec::new(),
            last_path: [usize::MAX; 2],
            directions: [Direction::new(settings.rto_min_ms), Direction::new(settings.rto_min_ms)],
            answers: [Answers::default(); 2],
            checksums: [false; 2],
        }
    }

    /// Whether anything but its setup was seen.
    pub(super) fn has_data(&self) -> bool {
        self.directions.iter().any(|d| d.flow.units > 0)
    }

    fn path(&mut self, head: &Head) -> usize {
        let is = |path: &Path| {
            path.from == head.from
                && path.source == head.source
                && path.destination == head.destination
        };
        let last = self.last_path[head.from.index()];
        if self.paths.get(last).is_some_and(is) {
            return last;
        }
        let index = self.paths.iter().position(is).unwrap_or_else(|| {
            if self.paths.len() < MOST_PATHS {
                self.paths.push(Path {
                    from: head.from,
                    source: head.source,
                    destination: head.destination,
                    packets: 0,
                    bytes: 0,
                    data: 0,
                    rtt: Delays::default(),
                });
            }
            self.paths.len() - 1
        });
        self.last_path[head.from.index()] = index;
        index
    }

    /// A packet of this association.
    pub(super) fn packet(
        &mut self,
        head: &Head,
        captured: Captured<'_>,
        settings: &Settings,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        self.packets += 1;
        self.last_at = self.last_at.max(head.at);
        let path = self.path(head);
        self.paths[path].packets += 1;
        self.paths[path].bytes += captured.length as u64;
        let head = Head { path: path as u16, ..*head };
        let mut packet = Packet::default();
        let mut offset = tresse_wire::COMMON_HEADER_LEN;
        for raw in captured.sctp.chunks() {
            let chunk = raw.and_then(|raw| {
                offset += padded(raw.bytes.len());
                Ok((raw.chunk_type, Chunk::parse(raw)?))
            });
            let cut = offset.min(captured.length) > captured.kept;
            match chunk {
                // Of user data, the header is enough.
                Ok((_, Chunk::Data(data)))
                    if !cut || offset - padded(data.payload.len()) <= captured.kept =>
                {
                    self.paths[path].data += 1;
                    let direction = &mut self.directions[head.from.index()];
                    let missing = settings.missing_reports;
                    if let Err(reason) = direction.data(&head, &mut packet, &data, missing, out) {
                        skipped.add(reason);
                    }
                }
                _ if cut => {
                    skipped.add(CUT_CHUNK);
                    break;
                }
                Ok((_, Chunk::Timestamp(t))) => packet.timestamps = Some((t.tsval, t.tsecr)),
                Ok((_, Chunk::Sack(sack))) => {
                    let blocks = GapAckBlocks::default();
                    self.sack(&head, &sack, blocks, &packet, skipped, out);
                }
                Ok((_, Chunk::NrSack(nr))) => {
                    self.sack(&head, &nr.sack, nr.nr_gap_blocks(), &packet, skipped, out);
                }
                Ok((kind, chunk)) => self.control(&head, kind, &chunk, out),
                Err(_) => skipped.add(BAD_CHUNK),
            }
        }
    }

    fn sack(
        &mut self,
        head: &Head,
        sack: &tresse_wire::Sack<'_>,
        blocks: GapAckBlocks<'_>,
        packet: &Packet,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        let direction = &mut self.directions[head.from.other().index()];
        match direction.sack(head, sack, blocks, packet, out) {
            Ok(Some((path, rtt))) => {
                if let Some(path) = self.paths.get_mut(usize::from(path)) {
                    path.rtt.note(rtt);
                }
            }
            Ok(None) => {}
            Err(reason) => skipped.add(reason),
        }
    }

    fn control(&mut self, head: &Head, kind: ChunkType, chunk: &Chunk<'_>, out: &mut dyn Observer) {
        let name = kind.name().unwrap_or("unknown chunk");
        out.event(head, &Event::Control { name });
        match chunk {
            Chunk::Init(init) => {
                self.from_the_beginning = true;
                self.directions[head.from.index()].begins_at(init.initial_tsn.0);
            }
            Chunk::InitAck(ack) => {
                self.directions[head.from.index()].begins_at(ack.initial_tsn.0);
            }
            Chunk::Abort(_) => self.ending = Some(Ending::Aborted),
            Chunk::ShutdownComplete(_) => self.ending = Some(Ending::Closed),
            _ => {}
        }
        let (own, other) = (head.from.index(), head.from.other().index());
        match chunk {
            Chunk::Init(_) | Chunk::CookieEcho(_) | Chunk::Heartbeat(_) | Chunk::ShutdownAck => {
                self.answers[other].asked = Some(head.at);
            }
            _ => {}
        }
        match chunk {
            Chunk::InitAck(_)
            | Chunk::CookieAck
            | Chunk::HeartbeatAck(_)
            | Chunk::ShutdownComplete(_) => {
                if let Some(asked) = self.answers[own].asked.take() {
                    let soonest = &mut self.answers[own].soonest;
                    let time = head.at.saturating_sub(asked);
                    *soonest = Some(soonest.map_or(time, |soonest| soonest.min(time)));
                }
            }
            // RFC 9260 §5.1 D: the initiator answers the INIT ACK with a COOKIE ECHO.
            Chunk::CookieEcho(_) => {
                if let Some(asked) = self.answers[own].asked.take() {
                    self.answers[own].soonest = Some(head.at.saturating_sub(asked));
                }
            }
            _ => {}
        }
        if matches!(chunk, Chunk::InitAck(_)) {
            self.answers[other].asked = Some(head.at);
        }
    }

    /// Near whom it was captured: who answers much sooner than the other.
    fn near(&self) -> Option<Side> {
        let soonest = |side: Side| {
            let data = self.directions[side.other().index()].flow.rtt.min();
            let answers = self.answers[side.index()].soonest.map(|ns| ns as f64 / 1e6);
            data.into_iter().chain(answers).reduce(f64::min)
        };
        let (a, b) = (soonest(Side::A)?, soonest(Side::B)?);
        match () {
            () if 4.0 * a < b => Some(Side::A),
            () if 4.0 * b < a => Some(Side::B),
            () => None,
        }
    }

    /// What is counted in each direction.
    pub(super) fn flows(&self) -> [&Flow; 2] {
        [&self.directions[0].flow, &self.directions[1].flow]
    }

    /// What is left of it.
    pub(super) fn summary(&self, ending: Ending) -> Summary {
        let near = self.near();
        let direction = |side: Side| {
            let direction = &self.directions[side.index()];
            DirectionSummary {
                first_number: direction.first_tsn(),
                outstanding: direction.outstanding_chunks(),
                ..DirectionSummary::new(side, &direction.flow)
            }
        };
        let path = |path: &Path| PathSummary {
            from: path.from,
            source: path.source,
            destination: path.destination,
            packets: path.packets,
            bytes: path.bytes,
            data: path.data,
            rtt: path.rtt.summary(),
        };
        Summary {
            identity: self.identity.clone(),
            from_the_beginning: self.from_the_beginning,
            ending: self.ending.unwrap_or(ending),
            first_s: self.first_at as f64 / 1e9,
            duration_s: self.last_at.saturating_sub(self.first_at) as f64 / 1e9,
            packets: self.packets,
            near,
            unknown: unknown(near, self.from_the_beginning),
            paths: self.paths.iter().map(path).collect(),
            directions: [direction(Side::A), direction(Side::B)],
        }
    }
}
