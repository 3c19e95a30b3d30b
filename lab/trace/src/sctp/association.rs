//! One association, as packets of it pass by.

mod forward;
mod near;
mod reset;
mod words;

use std::net::{IpAddr, SocketAddr};

use tresse_wire::{Chunk, ChunkType, GapAckBlocks, Packet as SctpPacket, Tsn, padded};
use words::Tsns;

use super::answers::Answers;
use super::delivery::{Delivered, Delivery, decided};
use super::direction::{Direction, Packet, Role};
use super::fates::Sighting;
use super::user_data::UserData;
use crate::Skipped;
use crate::capture::Bound;
use crate::causes::Told;
use crate::event::{Event, Head, Observer};
use crate::flow::Flow;
use crate::numbers::shown;
use crate::sender::{Note, SenderLog, SenderState};
use crate::settings::Settings;
use crate::statistics::Delays;
use crate::summary::{DirectionSummary, Ending, PathSummary, Summary, unknown};
use crate::terms::{Identity, Place, Side, Until};

const BAD_CHUNK: &str = "malformed chunks";
const TWICE: &str = "packets that arrived where they had left (told as they left)";
const CUT_CHUNK: &str = "chunks cut off by the snapshot length";
/// An association uses at most this many pairs of addresses; further ones are counted with the last.
const MOST_PATHS: usize = 256;
const ONE_END: &str = "Only one of the two ends captured it: what this end sent is told, and of what it got only that it came; nothing is known of losses.";

#[derive(Debug)]
struct Path {
    from: Side,
    source: IpAddr,
    destination: IpAddr,
    packets: u64,
    bytes: u64,
    data: u64,
    arrived: u64,
    rtt: Delays,
}

#[derive(Debug)]
pub(super) struct Association {
    pub(super) identity: Identity,
    from_the_beginning: bool,
    /// Where A is, if both ends are captured: its first packet is seen there first.
    place_of_a: Option<Place>,
    /// Whether packets of it were captured here, and there.
    seen: [bool; 2],
    /// Of each side, whether its packets were captured as they left, here and there.
    leaves: [[bool; 2]; 2],
    pub(super) ending: Option<Ending>,
    first_at: u64,
    pub(super) last_at: u64,
    packets: u64,
    paths: Vec<Path>,
    /// Path of the last packet of each side.
    last_path: [usize; 2],
    directions: [Direction; 2],
    deliveries: [Delivery; 2],
    resets: [super::last_reset::Reset; 2],
    logs: [SenderLog; 2],
    /// The last packet, by its number.
    last_packet: u64,
    answers: [Answers; 2],
}

/// An SCTP packet, filled up with zeros where it was cut off.
#[derive(Clone, Copy)]
pub(super) struct Captured<'a> {
    pub(super) sctp: SctpPacket<'a>,
    /// Its length.
    pub(super) length: usize,
    /// How much of it was captured.
    pub(super) kept: usize,
    /// Its checksum, as computed.
    pub(super) sum: u32,
    pub(super) bound: Option<Bound>,
    /// What its sender's log says of its transmissions.
    pub(super) told: Option<&'a Told>,
}

impl Association {
    /// With the number `id`, opened by the sender of a packet, between these ends.
    pub(super) fn new(
        id: u64,
        head: &Head,
        [a, b]: [SocketAddr; 2],
        settings: &Settings,
    ) -> Association {
        let at = head.at;
        Association {
            identity: Identity { association: id, protocol: "sctp", a, b },
            from_the_beginning: false,
            place_of_a: settings.both_ends.then_some(head.place),
            seen: [false; 2],
            leaves: [[false; 2]; 2],
            ending: None,
            first_at: at,
            last_at: at,
            packets: 0,
            paths: Vec::new(),
            last_path: [usize::MAX; 2],
            directions: [Direction::new(settings), Direction::new(settings)],
            deliveries: [Delivery::default(), Delivery::default()],
            resets: Default::default(),
            logs: [SenderLog::default(), SenderLog::default()],
            last_packet: 0,
            answers: [Answers::default(); 2],
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
                    arrived: 0,
                    rtt: Delays::default(),
                });
            }
            self.paths.len() - 1
        });
        self.last_path[head.from.index()] = index;
        index
    }

    /// What the place of capture sees of a packet.
    fn role(&self, head: &Head) -> Role {
        match (self.place_of_a, head.from) {
            (None, _) => Role::Only,
            (Some(place), Side::A) if head.place == place => Role::Departure,
            (Some(place), Side::B) if head.place != place => Role::Departure,
            _ => Role::Arrival,
        }
    }

    /// A packet of this association.
    pub(super) fn packet(
        &mut self,
        head: &Head,
        captured: Captured<'_>,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        self.last_at = self.last_at.max(head.at);
        let place = usize::from(head.place == Place::There);
        self.seen[place] = true;
        let leaves = &mut self.leaves[head.from.index()][place];
        *leaves |= captured.bound == Some(Bound::Out);
        if *leaves && captured.bound == Some(Bound::In) {
            skipped.add(TWICE);
            return;
        }
        let role = self.role(head);
        let index = self.path(head);
        let path = &mut self.paths[index];
        if role == Role::Arrival {
            path.arrived += 1;
        } else {
            self.packets += 1;
            path.packets += 1;
            path.bytes += captured.length as u64;
        }
        let head = Head { path: index as u16, ..*head };
        self.last_packet = head.packet;
        let Captured { sum: checksum, told, sctp, .. } = captured;
        let mut packet = Packet { role, checksum, told, sctp: Some(sctp), ..Packet::default() };
        let mut offset = tresse_wire::COMMON_HEADER_LEN;
        for raw in captured.sctp.chunks() {
            let chunk = raw.and_then(|raw| {
                offset += padded(raw.bytes.len());
                Ok((raw.chunk_type, Chunk::parse(raw)?))
            });
            let cut = offset.min(captured.length) > captured.kept;
            let data = match &chunk {
                Ok((_, Chunk::Data(data))) => Some(UserData::from(data)),
                Ok((_, Chunk::IData(data))) => Some(UserData::from(data)),
                _ => None,
            };
            match (data, chunk) {
                // Of user data, the header is enough.
                (Some(data), _)
                    if !cut || offset - padded(data.bytes as usize) <= captured.kept =>
                {
                    if let Err(reason) = self.user_data(&head, &mut packet, &data, out) {
                        skipped.add(reason);
                    }
                }
                _ if cut => {
                    skipped.add(CUT_CHUNK);
                    break;
                }
                (_, Ok((_, Chunk::Timestamp(t)))) => packet.timestamps = Some((t.tsval, t.tsecr)),
                // What an acknowledgement says is told where it arrives.
                (_, Ok((_, Chunk::Sack(_) | Chunk::NrSack(_)))) if role == Role::Departure => {}
                (_, Ok((_, Chunk::Sack(sack)))) => {
                    let blocks = GapAckBlocks::default();
                    self.sack(&head, &sack, blocks, &packet, skipped, out);
                }
                (_, Ok((_, Chunk::NrSack(nr)))) => {
                    self.sack(&head, &nr.sack, nr.nr_gap_blocks(), &packet, skipped, out);
                }
                (_, Ok((kind, chunk))) => self.control(&head, role, kind, &chunk, out),
                (_, Err(_)) => skipped.add(BAD_CHUNK),
            }
        }
    }

    /// A side says something of itself.
    pub(super) fn note(
        &mut self,
        place: Place,
        at: u64,
        from: Side,
        note: &Note,
        out: &mut dyn Observer,
    ) {
        let side = from.index();
        self.logs[side].note(&note.state);
        let number = match note.state {
            SenderState::Lost { tsn, .. } | SenderState::SentAgain { tsn, .. } => {
                Some(shown(self.directions[side].number(Tsn(tsn))))
            }
            _ => None,
        };
        let head = Head { at, path: note.path, place, ..self.afterwards(from) };
        out.event(&head, &Event::Sender { path: note.path, number, state: &note.state });
    }

    /// For what is told of a side after the last packet.
    fn afterwards(&self, from: Side) -> Head {
        let ends = [self.identity.a.ip(), self.identity.b.ip()];
        Head {
            at: self.last_at,
            packet: self.last_packet,
            association: self.identity.association,
            from,
            path: 0,
            source: ends[from.index()],
            destination: ends[from.other().index()],
            place: Place::default(),
            id: 0,
        }
    }

    /// A chunk with user data is sent, or arrives, or both are one.
    fn user_data(
        &mut self,
        head: &Head,
        packet: &mut Packet<'_>,
        data: &UserData,
        out: &mut dyn Observer,
    ) -> Result<(), &'static str> {
        let side = head.from.index();
        let sighting = Sighting {
            at: head.at,
            id: head.id,
            checksum: packet.checksum,
            path: head.path,
            addressed: !head.destination.is_unspecified(),
        };
        let number = self.directions[side].number(data.tsn);
        let delivery = &mut self.deliveries[side];
        if packet.role != Role::Arrival {
            self.paths[usize::from(head.path)].data += 1;
            packet.earlier = delivery.fates.earlier(number);
            self.directions[side].data(head, packet, data, out)?;
        }
        if packet.role == Role::Departure {
            delivery.fates.sent(number, sighting);
            return Ok(());
        }
        let mut delivered = Delivered::new();
        let beginning = self.from_the_beginning;
        delivery.arrived(number, data, sighting, beginning, &mut delivered);
        self.delivered(head, packet.role, delivered, out);
        self.judge(head, out);
        Ok(())
    }

    /// Messages of the sender of this packet can be delivered.
    fn delivered(&mut self, head: &Head, role: Role, delivered: Delivered, out: &mut dyn Observer) {
        // With one place only, messages are through when they are acknowledged.
        if role != Role::Arrival {
            return;
        }
        let flow = &mut self.directions[head.from.index()].flow;
        for message in delivered {
            let transfer_ms = message.through(flow, head.at);
            out.event(head, &message.event(head.from, transfer_ms, Until::Delivery));
        }
    }

    /// Decides about what the sender of this packet sent long ago.
    fn judge(&mut self, head: &Head, out: &mut dyn Observer) {
        let side = head.from.index();
        let base = self.directions[side].base();
        let flow = &mut self.directions[side].flow;
        let tell = &mut |verdict| decided(flow, head, verdict, out);
        self.deliveries[side].fates.acknowledged(base, head.at, tell);
    }

    /// The captures have ended at `now`.
    pub(super) fn finish(&mut self, now: u64, out: &mut dyn Observer) {
        for side in [Side::A, Side::B] {
            let head = self.afterwards(side);
            let flow = &mut self.directions[side.index()].flow;
            let tell = &mut |verdict| decided(flow, &head, verdict, out);
            self.deliveries[side.index()].fates.finish(now, tell);
        }
    }

    fn sack(
        &mut self,
        head: &Head,
        sack: &tresse_wire::Sack<'_>,
        blocks: GapAckBlocks<'_>,
        packet: &Packet<'_>,
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

    fn control(
        &mut self,
        head: &Head,
        role: Role,
        kind: ChunkType,
        chunk: &Chunk<'_>,
        out: &mut dyn Observer,
    ) {
        if role != Role::Arrival {
            let [own, other] = [head.from, head.from.other()].map(|side| side.index());
            let sent = |tsn| self.directions[own].told(tsn);
            let arrived = |tsn| self.directions[other].told(tsn);
            let name = &*words::words(kind, chunk, &Tsns { sent: &sent, arrived: &arrived });
            out.event(head, &Event::Control { name });
        }
        self.reset(head, role, chunk, out);
        if role != Role::Departure {
            self.forward(head, role, chunk, out);
        }
        match chunk {
            Chunk::Init(init) => {
                self.from_the_beginning = true;
                self.directions[head.from.index()].begins_at(init.initial_tsn.0);
            }
            Chunk::InitAck(ack) => self.directions[head.from.index()].begins_at(ack.initial_tsn.0),
            Chunk::Shutdown(shutdown) if role != Role::Departure => {
                let acknowledged = &mut self.directions[head.from.other().index()];
                acknowledged.shutdown(head, shutdown.cumulative_tsn_ack, out);
            }
            Chunk::Abort(_) => self.ending = Some(Ending::Aborted),
            Chunk::ShutdownComplete(_) => self.ending = Some(Ending::Closed),
            _ => {}
        }
        if role == Role::Only {
            self.answered(head, chunk);
        }
    }

    /// How many chunks, messages and streams are kept, of some 100 bytes each.
    pub(super) fn held(&self) -> usize {
        self.directions.iter().zip(&self.deliveries).map(|(a, b)| a.held() + b.held()).sum()
    }

    /// What is counted in each direction.
    pub(super) fn flows(&self) -> [&Flow; 2] {
        [&self.directions[0].flow, &self.directions[1].flow]
    }

    /// Whether both ends captured it. What only one of them saw, or the other began to capture too late for, has no
    /// arrivals: that says nothing of losses.
    fn both_ends(&self) -> bool {
        self.place_of_a.is_some() && self.seen == [true; 2]
    }

    /// What is left of it.
    pub(super) fn summary(&self, ending: Ending) -> Summary {
        let near = self.near();
        let both = self.both_ends();
        let direction = |side: Side| {
            let direction = &self.directions[side.index()];
            let delivery = &self.deliveries[side.index()];
            let until = if both { Until::Delivery } else { Until::Acknowledgement };
            // Near the receiver, what is seen is what arrives.
            let receiver = both || near == Some(side.other());
            DirectionSummary {
                first_number: direction.first_tsn(),
                outstanding: direction.outstanding_chunks(),
                transfer_until: (direction.flow.transfer.count() > 0).then_some(until),
                arrivals: both.then(|| delivery.arrivals()),
                sender: self.logs[side.index()].summary(),
                streams: if receiver { delivery.streams() } else { Vec::new() },
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
            arrived: both.then_some(path.arrived),
            rtt: path.rtt.summary(),
        };
        let directions = [direction(Side::A), direction(Side::B)];
        let logged = directions.iter().any(|d| d.sender.is_some());
        let mut unknown = unknown(near, both, self.from_the_beginning, logged);
        if self.place_of_a.is_some() && !both {
            unknown.push(ONE_END);
        }
        Summary {
            identity: self.identity.clone(),
            from_the_beginning: self.from_the_beginning,
            ending: self.ending.unwrap_or(ending),
            first_s: self.first_at as f64 / 1e9,
            duration_s: self.last_at.saturating_sub(self.first_at) as f64 / 1e9,
            packets: self.packets,
            both_ends: both,
            near,
            unknown,
            paths: self.paths.iter().map(path).collect(),
            directions,
        }
    }
}
