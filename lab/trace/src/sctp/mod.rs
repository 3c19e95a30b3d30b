//! SCTP: which association a packet belongs to, and what is in it.

mod answers;
mod assembly;
mod association;
mod delivery;
mod direction;
mod fates;
mod last_reset;
mod order;
pub(crate) mod spurious;
mod user_data;
mod ways;
mod zero_checksum;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use association::{Association, Captured};
use tresse_wire::{
    Chunk, ChunkType, CommonHeader, Packet as SctpPacket, VerificationTag, checksum,
};

use crate::Skipped;
use crate::causes::Causes;
use crate::datagram::Datagram;
use crate::event::{Head, Observer};
use crate::flow::Flow;
use crate::key::Key;
use crate::sender::Note;
use crate::settings::Settings;
use crate::summary::Ending;
use crate::terms::{Place, Side};
use zero_checksum::ZeroChecksums;

/// Of SCTP and TCP.
pub(crate) const GIVEN_UP: &str =
    "associations and connections that were ended early, as too many were open";
const SHORT: &str = "SCTP packets shorter than their header";
const BAD_CHECKSUM: &str = "SCTP packets with a wrong checksum";
const NOT_CAPTURED: &str =
    "lines of senders' logs about associations that the captures do not have";
const STRAY: &str = "SCTP packets that belong to no association";
/// This many senders are remembered whose checksums were good.
const MOST_VERIFIED: usize = 1 << 14;
/// This many associations are followed at a time, of some 5 KiB each.
const MOST_LIVE: usize = 1 << 15;
/// This many chunks and messages are kept of all of them together, of some 100 bytes each; one association
/// has room for half of them.
const MOST_HELD: usize = 1 << 21;

/// What leads to an association.
#[derive(Debug, Default)]
struct Known {
    keys: Vec<Key>,
    half: Option<(SocketAddr, SocketAddr)>,
}

/// Follows all associations of a capture.
#[derive(Debug)]
pub(crate) struct Tracker {
    settings: Settings,
    /// What senders say in their logs.
    pub(crate) causes: Causes,
    /// In boxes: the map keeps room for as many again.
    live: BTreeMap<u64, Box<Association>>,
    /// What they keep, as [`Association::held`] counts it.
    held: usize,
    by_key: HashMap<Key, (u64, Side)>,
    /// Packets of the other side of associations of which only one tag is known: from, to.
    half_known: HashMap<(SocketAddr, SocketAddr), u64>,
    /// What leads to each association, to be forgotten with it.
    known: HashMap<u64, Known>,
    /// What is counted over all that have ended.
    pub(crate) total: Flow,
    /// Who sent a packet with a good checksum, as that place saw it: then those without are damaged.
    /// (Where the network card computes them, none of them is good as it leaves.)
    verified: HashSet<(Place, IpAddr)>,
    /// Who takes packets without a checksum.
    zero_checksums: ZeroChecksums,
    /// Where packets are filled up that were cut off.
    buffer: Vec<u8>,
}

impl Tracker {
    pub(crate) fn new(settings: Settings) -> Tracker {
        Tracker {
            settings,
            causes: Causes::default(),
            live: BTreeMap::new(),
            held: 0,
            by_key: HashMap::new(),
            half_known: HashMap::new(),
            known: HashMap::new(),
            total: Flow::new(settings.rto_min_ms),
            verified: HashSet::new(),
            zero_checksums: ZeroChecksums::default(),
            buffer: Vec::new(),
        }
    }

    /// Whether the captures that follow are of both ends.
    pub(crate) fn both_ends(&mut self, both_ends: bool) {
        self.settings.both_ends = both_ends;
    }

    /// A packet; of `head`, association and sender are found here. `next_id` is the number of the
    /// next association.
    pub(crate) fn packet(
        &mut self,
        head: &Head,
        datagram: &Datagram<'_>,
        next_id: &mut u64,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        let kept = datagram.bytes.len();
        let length = datagram.original.min(tresse_wire::MAX_PACKET_LEN).max(kept);
        let mut buffer = std::mem::take(&mut self.buffer);
        let bytes = if length > kept {
            // What was cut off is filled up, so that lengths of chunks agree with the packet's.
            buffer.clear();
            buffer.extend_from_slice(datagram.bytes);
            buffer.resize(length, 0);
            &buffer
        } else {
            datagram.bytes
        };
        match SctpPacket::parse_unverified(bytes) {
            Ok(_) if kept < tresse_wire::COMMON_HEADER_LEN => skipped.add(SHORT),
            Ok(sctp) => {
                let whole = length == kept;
                // Without its own field, so that it does not matter who computes it.
                let sum = (whole || self.settings.both_ends).then(|| checksum(bytes)).flatten();
                let good = match sctp.received_checksum() {
                    0 if sum != Some(0) => self.zero_checksums.judge(&sctp),
                    received => Some(sum == Some(received)),
                };
                let good = good.filter(|_| whole);
                let (sum, bound) = (sum.unwrap_or(0), datagram.bound);
                let captured = Captured { sctp, length, kept, sum, bound, told: None };
                self.dispatch(head, captured, good, next_id, skipped, out);
            }
            Err(_) => skipped.add(SHORT),
        }
        self.buffer = buffer;
    }

    /// A sender says something of itself.
    pub(crate) fn note(
        &mut self,
        place: Place,
        at: u64,
        note: &Note,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        let (source_port, destination_port) = note.ports;
        let key = Key { tag: VerificationTag(note.tag), source_port, destination_port };
        let Some((id, from)) = self.by_key.get(&key).copied() else {
            skipped.add(NOT_CAPTURED);
            return;
        };
        if let Some(association) = self.live.get_mut(&id) {
            association.note(place, at, from, note, out);
        }
    }

    fn dispatch(
        &mut self,
        head: &Head,
        captured: Captured<'_>,
        good: Option<bool>,
        next_id: &mut u64,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        let sender = (head.place, head.source);
        match good {
            Some(true) => {
                if self.verified.len() >= MOST_VERIFIED {
                    self.verified.clear();
                }
                self.verified.insert(sender);
            }
            // Damaged; a tag that is damaged makes no association either.
            Some(false) if self.verified.contains(&sender) => {
                skipped.add(BAD_CHECKSUM);
                return;
            }
            _ => {}
        }
        let Some((id, from)) = self.find(head, &captured.sctp, next_id, out) else {
            skipped.add(STRAY);
            return;
        };
        let Some(association) = self.live.get_mut(&id) else { return };
        let head = Head { association: id, from, ..*head };
        let before = association.held();
        let told = self.causes.of(&Key::of(&captured.sctp.header()));
        association.packet(&head, Captured { told, ..captured }, skipped, out);
        self.held = self.held + association.held() - before;
        if self.held > MOST_HELD || self.live.len() > MOST_LIVE {
            self.give_up(skipped, out);
        }
    }

    /// Ends associations of which nothing was seen for longest, an eighth of them at a time, until
    /// there is room for others.
    fn give_up(&mut self, skipped: &mut Skipped, out: &mut dyn Observer) {
        let mut all: Vec<(u64, u64)> = self.live.iter().map(|(id, a)| (a.last_at, *id)).collect();
        all.sort_unstable();
        let some = all.len().div_ceil(8);
        for (n, (_, id)) in all.into_iter().enumerate() {
            if n >= some && self.held <= MOST_HELD {
                break;
            }
            skipped.add(GIVEN_UP);
            self.end(id, Ending::Idle, u64::MAX, out);
        }
    }

    /// The association of a packet, and who sent it.
    fn find(
        &mut self,
        head: &Head,
        sctp: &SctpPacket<'_>,
        next_id: &mut u64,
        out: &mut dyn Observer,
    ) -> Option<(u64, Side)> {
        let header = sctp.header();
        let key = Key::of(&header);
        let first = sctp.chunks().next()?.ok();
        let kind = first.map(|raw| raw.chunk_type);
        if kind == Some(ChunkType::INIT) {
            let Ok(Chunk::Init(init)) = Chunk::parse(first?) else { return None };
            // It chooses the tag of what is sent to it.
            let to_it = Key { tag: init.initiate_tag, ..key.reversed() };
            self.zero_checksums.offer(to_it, init.parameters);
            return Some(match self.by_key.get(&to_it) {
                Some((id, from)) => (*id, from.other()),
                None => {
                    let id = self.begin(head, &header, next_id, out);
                    self.learn(to_it, id, Side::B);
                    (id, Side::A)
                }
            });
        }
        if let Some((id, from)) = self.by_key.get(&key).copied() {
            if kind == Some(ChunkType::INIT_ACK)
                && let Some(Ok(Chunk::InitAck(ack))) = first.map(Chunk::parse)
            {
                let to_it = Key { tag: ack.initiate_tag, ..key.reversed() };
                self.zero_checksums.offer(to_it, ack.parameters);
                self.learn(to_it, id, from.other());
            }
            return Some((id, from));
        }
        // RFC 9260 §8.5.1: with the T bit, the tag is that of the sender's own packets.
        let reflected = matches!(kind, Some(ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE))
            && first.is_some_and(|raw| raw.flags & 1 != 0);
        if reflected && let Some((id, from)) = self.by_key.get(&key.reversed()) {
            return Some((*id, from.other()));
        }
        // RFC 9260 §8.5.1: only a packet with an INIT has the tag 0.
        if header.source_port == 0 || header.verification_tag.0 == 0 || reflected {
            return None;
        }
        let source = SocketAddr::new(head.source, header.source_port);
        let destination = SocketAddr::new(head.destination, header.destination_port);
        if let Some(id) = self.half_known.remove(&(source, destination)) {
            // The opposite of what is known: B's packets, since A's were seen first.
            self.learn(key, id, Side::B);
            return Some((id, Side::B));
        }
        let id = self.begin(head, &header, next_id, out);
        self.learn(key, id, Side::A);
        let half = (destination, source);
        self.half_known.insert(half, id);
        self.known.entry(id).or_default().half = Some(half);
        Some((id, Side::A))
    }

    /// An association appears, opened by the sender of a packet.
    fn begin(
        &mut self,
        head: &Head,
        header: &CommonHeader,
        next_id: &mut u64,
        out: &mut dyn Observer,
    ) -> u64 {
        let id = *next_id;
        *next_id += 1;
        let a = SocketAddr::new(head.source, header.source_port);
        let b = SocketAddr::new(head.destination, header.destination_port);
        let association = Association::new(id, head, [a, b], &self.settings);
        out.begins(&association.identity);
        self.live.insert(id, Box::new(association));
        id
    }

    /// Packets with this key are sent by that side.
    fn learn(&mut self, key: Key, id: u64, from: Side) {
        let before = self.by_key.insert(key, (id, from));
        let keys = &mut self.known.entry(id).or_default().keys;
        if !keys.contains(&key) {
            keys.push(key);
        }
        // Both sides sent an INIT: what looked like two associations is one (RFC 9260 §5.2.1).
        if let Some((other, _)) = before.filter(|(other, _)| *other != id)
            && self.live.get(&other).is_some_and(|association| !association.has_data())
        {
            self.held -= self.live.remove(&other).map_or(0, |association| association.held());
            for key in self.known.remove(&other).unwrap_or_default().keys {
                self.forget_key(key, other);
            }
        }
    }

    fn forget_key(&mut self, key: Key, id: u64) {
        if self.by_key.get(&key).is_some_and(|(owner, _)| *owner == id) {
            self.by_key.remove(&key);
            self.zero_checksums.forget(key);
        }
    }

    /// Ends the associations of which nothing was seen since `idle`, and those that have ended
    /// and of which nothing was seen since `ended`, as times of the capture.
    pub(crate) fn flush(&mut self, idle: u64, ended: u64, out: &mut dyn Observer) {
        let due = |association: &Association| {
            association.last_at < if association.ending.is_some() { ended } else { idle }
        };
        let ids: Vec<u64> = self
            .live
            .iter()
            .filter(|(_, association)| due(association))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            // That is long ago: nothing is under way any more.
            self.end(id, Ending::Idle, u64::MAX, out);
        }
    }

    /// The capture has ended at `now`.
    pub(crate) fn finish(&mut self, now: u64, out: &mut dyn Observer) {
        let ids: Vec<u64> = self.live.keys().copied().collect();
        for id in ids {
            self.end(id, Ending::Open, now, out);
        }
    }

    fn end(&mut self, id: u64, ending: Ending, now: u64, out: &mut dyn Observer) {
        let Some(mut association) = self.live.remove(&id) else { return };
        self.held -= association.held();
        association.finish(now, out);
        for flow in association.flows() {
            self.total.merge(flow);
        }
        let known = self.known.remove(&id).unwrap_or_default();
        for key in known.keys {
            self.forget_key(key, id);
        }
        if let Some(half) = known.half.filter(|half| self.half_known.get(half) == Some(&id)) {
            self.half_known.remove(&half);
        }
        out.ends(&association.summary(ending));
    }
}
