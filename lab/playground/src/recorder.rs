//! Writes the story down while it happens: what leaves a host, what the path does to it, what the sender tells of
//! itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tresse_core::wire::{Chunk, Packet as WirePacket, Tsn};
use tresse_core::{LossCause, Time, TraceEvent};
use tresse_sim::Packet as SimPacket;

use crate::chunks::{self, FirstTsns};
use crate::decisions::Decisions;
use crate::scenario::Way;
use crate::story::{LostBy, Packet, WindowPoint, millis};

/// The most packets of a side that are listed.
const MAX_PACKETS: usize = 40_000;

/// The most changes of the window that are listed.
const MAX_WINDOWS: usize = 40_000;

/// A packet between its host and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// Its place among all packets.
    index: usize,
    pub(crate) number: u64,
    pub(crate) data: Option<u64>,
}

/// A transmission of a chunk with user data.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    /// TSN, from 1.
    tsn: u32,
    /// 1 for the first.
    count: u32,
    /// Place of its packet.
    packet: usize,
    cause: Option<LossCause>,
}

/// One side, as far as it was played.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) packets: Vec<Packet>,
    pub(crate) windows: Vec<WindowPoint>,
    pub(crate) decisions: Decisions,
    first: FirstTsns,
    /// Packets of each direction that have left a host and not reached the middle, which takes no time.
    leaving: [VecDeque<Ticket>; 2],
    numbers: [u64; 2],
    data: u64,
    /// Whether each packet arrived, also of those that are not listed.
    arrived: Vec<bool>,
    /// Chunks with user data that left, by TSN, and of which the sender has told nothing yet: their packets. It tells
    /// of several packets at once, which may be before or after they leave.
    untold: BTreeMap<u32, usize>,
    /// What it told of chunks that have not left yet.
    told: BTreeMap<u32, (u32, Option<LossCause>)>,
    transmissions: Vec<Transmission>,
    pub(crate) lost: [u64; 3],
}

const fn side(way: Way) -> usize {
    matches!(way, Way::Back) as usize
}

impl Recorder {
    /// A packet leaves its host.
    pub(crate) fn sent(&mut self, now: Time, way: Way, packet: &SimPacket) {
        let index = self.arrived.len();
        self.arrived.push(false);
        self.numbers[side(way)] += 1;
        let number = self.numbers[side(way)];
        let there = way == Way::There;
        let tsns = if there { data_tsns(&packet.payload) } else { Vec::new() };
        let data = (!tsns.is_empty()).then(|| {
            self.data += 1;
            self.data
        });
        self.leaving[side(way)].push_back(Ticket { index, number, data });
        if index < MAX_PACKETS {
            self.packets.push(Packet {
                way,
                number,
                data,
                sent_ms: millis(now),
                arrived_ms: None,
                lost_by: None,
                held_ms: 0.0,
                bytes: packet.ip_size(),
                chunks: chunks::read(&packet.payload, there, &mut self.first),
                again: None,
                needless: false,
            });
        }
        for tsn in tsns {
            let tsn = self.first.there(tsn);
            match self.told.remove(&tsn) {
                Some((count, cause)) => self.transmitted(tsn, index, count, cause),
                None => drop(self.untold.insert(tsn, index)),
            }
        }
    }

    /// A chunk with user data left in this packet.
    fn transmitted(&mut self, tsn: u32, packet: usize, count: u32, cause: Option<LossCause>) {
        self.transmissions.push(Transmission { tsn, count, packet, cause });
        let Some(packet) = self.packets.get_mut(packet) else { return };
        packet.again = packet.again.or(cause.map(LossCause::name));
        if let Some(chunk) = packet.chunks.iter_mut().find(|chunk| chunk.tsn == Some(tsn)) {
            chunk.transmission = Some(count).filter(|count| *count > 1);
        }
    }

    /// The packet of `sent` that reaches the middle now.
    pub(crate) fn reaches_middle(&mut self, way: Way) -> Option<Ticket> {
        self.leaving[side(way)].pop_front()
    }

    /// An event holds a packet up.
    pub(crate) fn held(&mut self, ticket: Ticket, by_ms: f64) {
        if let Some(packet) = self.packets.get_mut(ticket.index) {
            packet.held_ms = by_ms;
        }
    }

    /// A packet is lost.
    pub(crate) fn lost(&mut self, ticket: Ticket, by: LostBy) {
        self.lost[by as usize] += 1;
        if let Some(packet) = self.packets.get_mut(ticket.index) {
            packet.lost_by = Some(by);
        }
    }

    /// A packet arrives.
    pub(crate) fn arrives(&mut self, now: Time, ticket: Ticket) {
        self.arrived[ticket.index] = true;
        if let Some(packet) = self.packets.get_mut(ticket.index) {
            packet.arrived_ms = Some(millis(now));
        }
    }

    /// The sender tells something.
    pub(crate) fn traced(&mut self, now: Time, event: &TraceEvent) {
        if let TraceEvent::Sent { tsn, transmission, cause, .. } = *event {
            let tsn = self.first.there(tsn);
            match self.untold.remove(&tsn) {
                Some(packet) => self.transmitted(tsn, packet, transmission, cause),
                None => drop(self.told.insert(tsn, (transmission, cause))),
            }
        }
        if let TraceEvent::Window { cwnd, flight, .. } = *event
            && self.windows.len() < MAX_WINDOWS
        {
            self.windows.push(WindowPoint { at_ms: millis(now), cwnd, flight });
        }
        self.decisions.note(now, event, |tsn| self.first.there(tsn));
    }

    /// How many packets are not listed.
    pub(crate) fn left_out(&self) -> u64 {
        (self.arrived.len() - self.packets.len()) as u64
    }

    /// Transmissions of user data: all, those of chunks sent before, and those of these of which an earlier one arrived.
    /// Marks the packets that were needless.
    pub(crate) fn count_transmissions(&mut self) -> [u64; 3] {
        let mut reached = BTreeSet::new();
        let (mut again, mut needless) = (0, 0);
        // Of each packet: whether all that is sent again in it was needless.
        let mut verdicts = BTreeMap::new();
        for transmission in &self.transmissions {
            if transmission.count > 1 || transmission.cause.is_some() {
                again += 1;
                let in_vain = reached.contains(&transmission.tsn);
                needless += u64::from(in_vain);
                *verdicts.entry(transmission.packet).or_insert(true) &= in_vain;
            }
            if self.arrived[transmission.packet] {
                reached.insert(transmission.tsn);
            }
        }
        for (packet, in_vain) in verdicts {
            if let Some(packet) = self.packets.get_mut(packet) {
                packet.needless = in_vain;
            }
        }
        [self.transmissions.len() as u64, again, needless]
    }
}

/// The TSNs of the user data in a packet.
fn data_tsns(packet: &[u8]) -> Vec<Tsn> {
    let Ok(packet) = WirePacket::parse_unverified(packet) else { return Vec::new() };
    let chunks = packet.chunks().map_while(Result::ok);
    let tsns = chunks.filter_map(|raw| match Chunk::parse(raw) {
        Ok(Chunk::Data(data)) => Some(data.tsn),
        Ok(Chunk::IData(data)) => Some(data.tsn),
        _ => None,
    });
    tsns.collect()
}
