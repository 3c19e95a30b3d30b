//! A host that follows the protocol as far as it needs to for a valid tag, and then does what costs the other
//! end most.

use std::net::IpAddr;

use tresse_core::wire::{
    CauseWriter, Chunk, CommonHeader, DataFlags, GapAckBlock, InitFields, Packet, PacketWriter,
    Parameter, Ppid, Ssn, StreamId, Tsn, VerificationTag, write_checksum,
};

use super::extended::{Course, offer};
use super::wandering::{Wanderer, third_party};
use super::{PORT, Plan};
use super::{forged, interleaved};
use tresse_sim::Draw;

/// What an association of the attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A chunk as far ahead as may be, and the beginning of a message that never ends.
    Camping,
    /// Messages on all streams, as many as the window takes.
    Filling,
    /// A window that stays closed.
    ZeroWindow,
    /// Restarts without end, with data before each.
    Restarting,
    /// SACKs that take back what they reported.
    Reneging,
    /// ERROR chunks, heartbeats, unknown chunks, duplicates.
    Flooding,
    /// Ended and opened again.
    Churning,
    /// Shut down or aborted with data that may never be read, and on to the next port.
    Leaving,
    /// Requests to change streams, right and wrong, with data between them.
    Reconfiguring,
    /// Pieces of messages, and leave to pass over them.
    Forwarding,
    /// AUTH chunks that are none, and what they claim to authenticate.
    Forging,
    /// I-DATA chunks of messages that are never whole.
    Interleaving,
    /// Addresses of others, come and gone.
    Wandering,
}

const WAYS: [Way; 8] = [
    Way::Camping,
    Way::Filling,
    Way::ZeroWindow,
    Way::Restarting,
    Way::Reneging,
    Way::Flooding,
    Way::Churning,
    Way::Leaving,
];

/// Of extensions.
const MORE_WAYS: [Way; 2] = [Way::Reconfiguring, Way::Forwarding];

/// One association of the attacker.
#[derive(Debug)]
struct Peer {
    address: IpAddr,
    port: u16,
    way: Way,
    tag: u32,
    /// The victim's tag and first TSN, once it has answered.
    theirs: Option<(u32, Tsn)>,
    /// The highest TSN of the victim.
    highest: Tsn,
    first: Tsn,
    moves: u32,
    established: bool,
    course: Course,
    wanderer: Wanderer,
}

#[derive(Debug)]
pub(super) struct Attacker {
    draw: Draw,
    /// It offers extensions, and what it sends of them comes in any state.
    extended: bool,
    /// It wants chunks authenticated, and authenticates none.
    forges: bool,
    /// It has I-DATA chunks.
    interleaves: bool,
    /// It has ASCONF chunks, and authenticates them.
    wanders: bool,
    ways: Vec<Way>,
    addresses: Vec<IpAddr>,
    /// Associations at most.
    most: usize,
    /// Packets in a tick.
    pace: u64,
    /// INITs in a tick from sources that do not exist.
    forged: u64,
    peers: Vec<Peer>,
    outbox: Vec<(IpAddr, Vec<u8>)>,
}

impl Attacker {
    /// It offers what the victim does.
    pub(super) fn new(plan: &Plan) -> Attacker {
        let (seed, extended, forges) = (plan.seed, plan.extended(), plan.authenticated());
        let (interleaves, wanders) = (plan.interleaved(), plan.wandering());
        let mut draw = Draw::new(seed ^ 0xbad);
        let mut ways: Vec<Way> = WAYS.into_iter().filter(|_| draw.chance(0.5)).collect();
        if extended {
            // Others beside them now and then.
            ways.retain(|_| draw.chance(0.5));
            ways.extend(MORE_WAYS.into_iter().filter(|_| draw.chance(0.8)));
        }
        if forges {
            ways.retain(|_| draw.chance(0.3));
            ways.extend([Way::Forging; 3]);
        }
        if interleaves {
            ways = vec![Way::Interleaving];
        }
        if wanders {
            ways.retain(|_| draw.chance(0.3));
            ways.extend([Way::Wandering; 3]);
        }
        let ways = if ways.is_empty() { vec![WAYS[draw.index(WAYS.len())]] } else { ways };
        // The first one is behind the same address as an honest host.
        let mut addresses = vec![IpAddr::from([10, 1, 0, 0])];
        let count = draw.between(0, 8) as u8;
        addresses.extend((0..count).map(|n| IpAddr::from([10, 2, 0, n])));
        Attacker {
            extended,
            forges,
            interleaves,
            wanders,
            ways,
            addresses,
            most: draw.log(2.0, 600.0) as usize,
            pace: draw.between(1, 4),
            forged: if draw.chance(0.3) { draw.between(1, 4) } else { 0 },
            peers: Vec::new(),
            outbox: Vec::new(),
            draw,
        }
    }

    /// What it sends now.
    pub(super) fn act(&mut self) -> Vec<(IpAddr, Vec<u8>)> {
        for _ in 0..self.forged {
            let source = IpAddr::from((self.draw.next() as u32 | 0x4000_0000).to_be_bytes());
            let fields = init(self.draw.next() as u32 | 1, Tsn(1));
            let port = 1024 + (self.draw.next() % 60_000) as u16;
            self.outbox.push((source, packet(port, 0, |w| w.init(&fields, &[]))));
        }
        for _ in 0..self.pace {
            if self.peers.len() < self.most && self.draw.chance(0.3) {
                self.open();
            } else if !self.peers.is_empty() {
                let peer = self.draw.index(self.peers.len());
                self.play(peer);
            }
        }
        std::mem::take(&mut self.outbox)
    }

    fn open(&mut self) {
        let n = self.peers.len();
        let peer = Peer {
            address: self.addresses[self.draw.index(self.addresses.len())],
            port: 10_000 + n as u16,
            way: self.ways[self.draw.index(self.ways.len())],
            tag: 0,
            theirs: None,
            highest: Tsn(0),
            first: Tsn(0),
            moves: 0,
            established: false,
            course: Course::new(Tsn(0)),
            wanderer: Wanderer::default(),
        };
        self.peers.push(peer);
        self.call(n);
    }

    /// Sends an INIT, as after a crash if there is an association.
    fn call(&mut self, n: usize) {
        let (tag, first) = (self.draw.next() as u32 | 1, Tsn(self.draw.next() as u32));
        let peer = &mut self.peers[n];
        (peer.tag, peer.first, peer.theirs, peer.established) = (tag, first, None, false);
        peer.moves = 0;
        peer.course = Course::new(first);
        let offer = match (self.extended, self.forges) {
            (true, _) => offer(),
            (_, true) => forged::offer(&mut self.draw),
            _ if self.wanders => peer.wanderer.offer(&mut self.draw, first),
            _ if self.interleaves => interleaved::offer(),
            _ => Vec::new(),
        };
        let fields = init(tag, first);
        self.outbox.push((peer.address, packet(peer.port, 0, |w| w.init(&fields, &offer))));
    }

    /// The victim has sent this.
    pub(super) fn hear(&mut self, to: IpAddr, bytes: &[u8]) {
        let Ok(parsed) = Packet::parse(bytes) else { return };
        let header = parsed.header();
        let mine = |p: &&mut Peer| p.address == to && p.port == header.destination_port;
        let (draw, extended) = (&mut self.draw, self.extended);
        let (interleaves, wanders) = (self.interleaves, self.wanders);
        let Some(peer) = self.peers.iter_mut().find(mine) else { return };
        for chunk in parsed.chunks().map_while(Result::ok).filter_map(|raw| Chunk::parse(raw).ok())
        {
            match chunk {
                Chunk::InitAck(ack) => {
                    let fields = ack.fields();
                    let cookie = ack.parameters.parsed().find_map(|p| match p {
                        Ok(Parameter::StateCookie(cookie)) => Some(cookie.to_vec()),
                        _ => None,
                    });
                    let Some(cookie) = cookie else { continue };
                    peer.wanderer.answered(&ack.parameters);
                    let tag = fields.initiate_tag.0;
                    peer.theirs = Some((tag, fields.initial_tsn));
                    peer.highest = fields.initial_tsn.wrapping_sub(1);
                    let echo = packet(peer.port, tag, |w| {
                        w.cookie_echo(&cookie);
                        if extended {
                            either(&mut peer.course, draw, w);
                        }
                    });
                    self.outbox.push((to, echo));
                }
                Chunk::CookieAck => peer.established = true,
                // It was too much; once more.
                Chunk::Abort(_) if extended || interleaves || wanders => {
                    (peer.theirs, peer.established, peer.moves) = (None, false, 20);
                }
                Chunk::ShutdownAck => {
                    let Some((tag, _)) = peer.theirs else { continue };
                    let complete = packet(peer.port, tag, |w| w.shutdown_complete(false));
                    self.outbox.push((to, complete));
                }
                Chunk::Data(data) if data.tsn.distance(peer.highest) > 0 => peer.highest = data.tsn,
                _ => {}
            }
        }
    }

    /// One move of an association.
    fn play(&mut self, n: usize) {
        let (draw, extended) = (&mut self.draw, self.extended);
        let peer = &mut self.peers[n];
        let Some((tag, begin)) = peer.theirs.filter(|_| peer.established) else {
            // Refused, limited or lost: once more.
            peer.moves += 1;
            if peer.moves > 20 {
                self.call(n);
            }
            return;
        };
        peer.moves += 1;
        let (moves, first, before) = (peer.moves, peer.first, begin.wrapping_sub(1));
        let outstanding = peer.highest.distance(before).clamp(0, 60_000) as u16;
        let (port, address, highest) = (peer.port, peer.address, peer.highest);
        let far = first.wrapping_add(65_534);
        let flags = |beginning| DataFlags { beginning, ..DataFlags::UNFRAGMENTED };
        let gaps = |n: u16| (n > 1).then_some(GapAckBlock { start: 2, end: n });
        let made = match peer.way {
            Way::Camping if moves == 1 => {
                packet(port, tag, |w| data(w, far, 1, DataFlags::UNFRAGMENTED, 1))
            }
            Way::Camping => {
                let part = DataFlags { ending: false, ..flags(moves == 2) };
                packet(port, tag, |w| data(w, first.wrapping_add(moves), 0, part, 1000))
            }
            Way::Filling => packet(port, tag, |w| {
                let len = if moves % 2 == 0 { 1 } else { 1200 };
                let whole = DataFlags { unordered: true, ..DataFlags::UNFRAGMENTED };
                data(w, first.wrapping_add(moves - 1), (moves as u16).wrapping_mul(97), whole, len);
            }),
            Way::ZeroWindow => {
                packet(port, tag, |w| w.sack(highest, 0, std::iter::empty(), std::iter::empty()))
            }
            Way::Restarting if moves > 8 => return self.call(n),
            Way::Restarting => packet(port, tag, |w| {
                data(w, first.wrapping_add(moves - 1), 0, DataFlags::UNFRAGMENTED, 1200);
            }),
            Way::Reneging => packet(port, tag, |w| {
                let block = gaps(outstanding).filter(|_| moves % 2 == 0);
                w.sack(before, 1 << 20, block.into_iter(), std::iter::empty());
            }),
            Way::Flooding => packet(port, tag, |w| match moves % 4 {
                0 => w.error(&CauseWriter::new().protocol_violation(&[b'x'; 900]).finish()),
                1 => w.heartbeat(&[1; 1000]),
                2 => w.raw(&[&[0xc1, 0, 3, 0xe8][..], &[0; 996]].concat()),
                _ => data(w, first, 0, DataFlags::UNFRAGMENTED, 900),
            }),
            Way::Churning if moves > 4 => {
                self.outbox.push((address, packet(port, tag, |w| w.abort(false, &[]))));
                return self.call(n);
            }
            Way::Churning => packet(port, tag, |w| {
                data(w, first.wrapping_add(moves), 0, DataFlags::UNFRAGMENTED, 1200);
            }),
            Way::Leaving if moves > 24 => {
                peer.port = peer.port.wrapping_add(1000).max(1024);
                return self.call(n);
            }
            Way::Leaving if moves > 20 && port % 2 == 0 => packet(port, tag, |w| {
                w.shutdown(highest);
                if extended {
                    either(&mut peer.course, draw, w);
                }
            }),
            // It may have ended the association itself.
            Way::Reconfiguring | Way::Forwarding if moves > 200 => return self.call(n),
            Way::Reconfiguring => packet(port, tag, |w| {
                peer.course.re_config(draw, w);
                let stream = draw.next() as u16;
                data(w, first.wrapping_add(moves - 1), stream, DataFlags::UNFRAGMENTED, 100);
            }),
            Way::Forwarding => packet(port, tag, |w| {
                peer.course.fragment(draw, w);
                peer.course.fragment(draw, w);
                if moves % 4 == 0 {
                    peer.course.forward(draw, w);
                }
            }),
            Way::Interleaving if moves > 2000 => return self.call(n),
            Way::Interleaving => packet(port, tag, |w| interleaved::chunks(draw, w, first, moves)),
            Way::Wandering if moves > 3000 => return self.call(n),
            Way::Wandering => {
                let sent = wander(draw, &mut peer.wanderer, (address, port), tag);
                self.outbox.push(sent);
                return;
            }
            Way::Forging if moves > 500 => return self.call(n),
            Way::Forging => packet(port, tag, |w| {
                if draw.chance(0.3) {
                    w.heartbeat(&[1; 500]);
                }
                forged::auth(draw, w);
                forged::auth(draw, w);
                data(w, first.wrapping_add(moves - 1), 0, DataFlags::UNFRAGMENTED, 900);
            }),
            Way::Leaving if moves > 20 => packet(port, tag, |w| w.abort(false, &[])),
            Way::Leaving => packet(port, tag, |w| {
                data(w, first.wrapping_add(moves - 1), 0, DataFlags::UNFRAGMENTED, 1200);
            }),
        };
        self.outbox.push((address, made));
    }
}

/// A packet that changes addresses: from where it says that it is.
fn wander(
    draw: &mut Draw,
    wanderer: &mut Wanderer,
    (address, port): (IpAddr, u16),
    tag: u32,
) -> (IpAddr, Vec<u8>) {
    let mut made = packet(port, tag, |w| wanderer.chunk(draw, w, address));
    // What is not signed, or signed and changed, is a stranger's.
    let stranger = draw.chance(0.1);
    if !stranger || draw.chance(0.5) {
        wanderer.sign(&mut made);
    }
    if stranger && let Some(last) = made.last_mut() {
        *last ^= 1;
        write_checksum(&mut made);
    }
    (if draw.chance(0.1) { third_party(draw) } else { address }, made)
}

/// A chunk of one of the extensions.
fn either(course: &mut Course, draw: &mut Draw, w: &mut PacketWriter<'_>) {
    if draw.chance(0.5) { course.re_config(draw, w) } else { course.forward(draw, w) }
}

fn init(tag: u32, first: Tsn) -> InitFields {
    InitFields {
        initiate_tag: VerificationTag(tag),
        a_rwnd: 1 << 20,
        outbound_streams: 65_535,
        inbound_streams: 65_535,
        initial_tsn: first,
    }
}

fn data(w: &mut PacketWriter<'_>, tsn: Tsn, stream: u16, flags: DataFlags, len: usize) {
    w.data(tsn, StreamId(stream), Ssn(0), Ppid(0), flags, &vec![b'x'; len]);
}

fn packet(port: u16, tag: u32, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let header = CommonHeader {
        source_port: port,
        destination_port: PORT,
        verification_tag: VerificationTag(tag),
    };
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, header);
    write(&mut writer);
    writer.finish();
    bytes
}
