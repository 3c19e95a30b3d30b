//! What an analyser on the sender's interface sees: which chunk was sent when, how often, and
//! which SACKs reported it missing. It knows nothing of the sender's state, as the programs
//! `sctp_trace` (Pedersen, appendix B) and tcptrace do not.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;

use tresse_core::wire::{Chunk, Packet as SctpPacket, Sack};
use tresse_core::{Profile, Time};
use tresse_sim::Packet;
use tresse_sim::tcp::Delays;

use super::retransmissions::{Kind, Retransmissions, put_resends};
use crate::flow::Observe;
use crate::flow::record::{Step, StepKind, Traces};

/// The most steps that are kept for a sequence plot: some minutes at 1 Mbit/s.
const MOST_STEPS: usize = 60_000;

/// How many reports make a chunk missing for the profile under test: what tells a fast retransmit
/// from a timeout for an observer on the wire.
pub(super) fn missing_reports(profile: &Profile) -> u32 {
    let parameters: toml::Table = profile.to_toml().parse().unwrap_or_default();
    let thin = parameters
        .get("thin_fast_retransmit")
        .and_then(|t| t.get("enabled"))
        .and_then(toml::Value::as_bool);
    if thin == Some(true) { 1 } else { profile.fast_retransmit.threshold }
}

/// Packets on their way, as both hosts see them: which of them arrive. The bytes of a packet stay at
/// their address until it has arrived or is lost, which tells it from every other packet on the way,
/// equal ones included.
#[derive(Debug, Default)]
pub(super) struct Underway {
    /// The latest packet at each address.
    latest: HashMap<usize, usize>,
    /// For each packet, whether it has arrived.
    arrived: Vec<bool>,
}

/// Both hosts hold it.
pub(super) type SharedUnderway = Rc<RefCell<Underway>>;

impl Underway {
    fn departs(&mut self, packet: &Packet) {
        self.latest.insert(packet.payload.as_ptr().addr(), self.arrived.len());
        self.arrived.push(false);
    }

    /// `packet` has reached the receiver. A corrupted one is as good as lost.
    pub(super) fn arrives(&mut self, packet: &Packet) {
        let index = self.latest.get(&packet.payload.as_ptr().addr());
        if let Some(index) = index
            && SctpPacket::parse_zero_checksum(&packet.payload).is_ok()
        {
            self.arrived[*index] = true;
        }
    }

    /// Index of the packet that left last.
    fn last(&self) -> Option<usize> {
        self.arrived.len().checked_sub(1)
    }

    /// For each packet, whether it was lost: it has not arrived, although one that was sent later
    /// has. (What is on the way when the run ends is not lost.)
    fn lost(&self) -> Vec<bool> {
        let latest = self.arrived.iter().rposition(|arrived| *arrived).unwrap_or(0);
        self.arrived.iter().enumerate().map(|(i, arrived)| !arrived && i < latest).collect()
    }
}

/// Something that happened to a chunk.
#[derive(Clone, Copy, Debug)]
struct Noted {
    at: Time,
    number: u64,
    path: u8,
    kind: StepKind,
    /// Index of the packet that it was sent in.
    packet: Option<usize>,
}

/// A DATA chunk that is not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    first: Time,
    last: Time,
    /// How often it was sent again.
    again: u32,
    /// SACKs that reported it missing since it was last sent.
    missing: u32,
}

/// Watches the packets of the data sender.
#[derive(Debug)]
pub(super) struct WireObserver {
    observe: Observe,
    missing_reports: u32,
    /// TSN of the first DATA chunk ever.
    first_tsn: Option<u32>,
    /// Chunks from number `base` on (counted from 0); those before are acknowledged.
    base: u64,
    chunks: VecDeque<Sent>,
    /// Addresses of the peer in the order in which data was sent to them.
    paths: Vec<IpAddr>,
    retransmissions: Retransmissions,
    /// Time since the transmission before.
    resends: Delays,
    underway: SharedUnderway,
    steps: Vec<Noted>,
}

impl WireObserver {
    /// A chunk that `missing_reports` SACKs have reported missing counts as fast retransmitted.
    pub(super) fn new(
        observe: Observe,
        missing_reports: u32,
        underway: SharedUnderway,
    ) -> WireObserver {
        WireObserver {
            observe,
            missing_reports,
            first_tsn: None,
            base: 0,
            chunks: VecDeque::new(),
            paths: Vec::new(),
            retransmissions: Retransmissions::default(),
            resends: Delays::default(),
            underway,
            steps: Vec::new(),
        }
    }

    pub(super) fn on_packet(&mut self, now: Time, outgoing: bool, packet: &Packet) {
        let Ok(sctp) = SctpPacket::parse_unverified(&packet.payload) else { return };
        if outgoing && self.observe.sequence {
            self.underway.borrow_mut().departs(packet);
        }
        let mut cause = None;
        for chunk in sctp.chunks().map_while(Result::ok) {
            match Chunk::parse(chunk) {
                Ok(Chunk::Data(data)) if outgoing => {
                    self.data(now, data.tsn.0, packet.destination, &mut cause);
                }
                Ok(Chunk::IData(data)) if outgoing => {
                    self.data(now, data.tsn.0, packet.destination, &mut cause);
                }
                Ok(Chunk::Sack(sack)) if !outgoing => self.sack(now, &sack, packet.source),
                Ok(Chunk::NrSack(nr)) if !outgoing => self.sack(now, &nr.sack, packet.source),
                _ => {}
            }
        }
    }

    /// A chunk leaves. `cause` is what made the first retransmission in its packet.
    fn data(&mut self, now: Time, tsn: u32, destination: IpAddr, cause: &mut Option<Kind>) {
        let path = self.path(destination);
        let first = *self.first_tsn.get_or_insert(tsn);
        let number = self.number(tsn.wrapping_sub(first));
        let next = self.base + self.chunks.len() as u64;
        if number >= next {
            // Numbers are given in order; should one be skipped, it has not been sent.
            let sent = Sent { first: now, last: now, again: 0, missing: 0 };
            self.chunks.resize(usize::try_from(number + 1 - self.base).unwrap_or(0), sent);
            self.step(now, number, path, StepKind::Sent);
            return;
        }
        self.step(now, number, path, StepKind::Again);
        let Some(index) = number.checked_sub(self.base) else { return };
        let Some(chunk) = self.chunks.get_mut(index as usize) else { return };
        chunk.again += 1;
        // sctp_trace: the first chunk of a packet tells what caused it. What else is in a packet
        // after a timeout was bundled; what else is in a fast retransmit was one itself, unless
        // no SACK had reported it.
        let kind = match *cause {
            None if chunk.missing < self.missing_reports => Kind::Timeout,
            None => Kind::Fast,
            Some(_) if chunk.missing == 0 => Kind::InFlight,
            Some(Kind::Timeout) => Kind::ReportedMissing,
            Some(_) => Kind::Fast,
        };
        let bundled = cause.is_some();
        cause.get_or_insert(kind);
        if !(bundled && self.observe.bundled_keep_reports) {
            chunk.missing = 0;
        }
        if self.observe.retransmissions {
            let ms = |since: Time| now.since(since).as_nanos() as f64 / 1e6;
            self.retransmissions.note(chunk.again, kind, ms(chunk.first));
            self.resends.note(ms(chunk.last));
            chunk.last = now;
        }
    }

    /// A SACK arrives.
    fn sack(&mut self, now: Time, sack: &Sack<'_>, source: IpAddr) {
        let Some(first) = self.first_tsn else { return };
        // The chunk after the cumulative one; before the first chunk it is that.
        let next = self.number(sack.cumulative_tsn_ack.0.wrapping_sub(first).wrapping_add(1));
        let end = self.base + self.chunks.len() as u64;
        if next > end {
            return; // Acknowledges what was never sent.
        }
        if next > self.base {
            self.chunks.drain(..(next - self.base) as usize);
            self.base = next;
            let path = self.path(source);
            self.step(now, next - 1, path, StepKind::Acked);
        }
        if !self.observe.retransmissions {
            return;
        }
        // Whatever is not in a block below the last one is reported missing. Offsets count from
        // the cumulative TSN, so offset 1 is number `next`.
        let mut missing_from = next;
        for block in sack.gap_blocks() {
            let (start, stop) = (u64::from(block.start), u64::from(block.end));
            for number in missing_from..next + start.saturating_sub(1) {
                let index = number.checked_sub(self.base);
                if let Some(chunk) = index.and_then(|i| self.chunks.get_mut(i as usize)) {
                    chunk.missing += 1;
                }
            }
            missing_from = next + stop;
        }
    }

    /// The number, counted from 0 without wrapping around, of the chunk whose TSN is `offset`
    /// after the first one: the one nearest to what is outstanding.
    fn number(&self, offset: u32) -> u64 {
        let distance = offset.wrapping_sub(self.base as u32).cast_signed();
        self.base.saturating_add_signed(i64::from(distance))
    }

    fn path(&mut self, address: IpAddr) -> u8 {
        let known = self.paths.iter().position(|p| *p == address);
        let index = known.unwrap_or_else(|| {
            self.paths.push(address);
            self.paths.len() - 1
        });
        u8::try_from(index + 1).unwrap_or(u8::MAX)
    }

    fn step(&mut self, now: Time, number: u64, path: u8, kind: StepKind) {
        if self.observe.sequence && self.steps.len() < MOST_STEPS {
            let sent = matches!(kind, StepKind::Sent | StepKind::Again);
            let packet = if sent { self.underway.borrow().last() } else { None };
            self.steps.push(Noted { at: now, number, path, kind, packet });
        }
    }

    /// Adds what only the receiver knows to the steps, and puts all of them in the order of time.
    fn complete(&mut self, deliveries: &[(Time, u32)]) {
        let lost = self.underway.borrow().lost();
        let is_lost = |step: &&Noted| step.packet.is_some_and(|i| lost.get(i) == Some(&true));
        let losses: Vec<Noted> = self.steps.iter().filter(is_lost).copied().collect();
        let first = self.first_tsn.unwrap_or_default();
        let deliveries = deliveries.iter().take(MOST_STEPS).map(|(at, tsn)| Noted {
            at: *at,
            number: tsn.wrapping_sub(first).into(),
            path: 1,
            kind: StepKind::Delivered,
            packet: None,
        });
        self.steps.extend(losses.into_iter().map(|step| Noted { kind: StepKind::Lost, ..step }));
        self.steps.extend(deliveries);
        self.steps.sort_by_key(|step| step.at);
    }

    /// Metrics into `values`, and the steps. `deliveries`: when a message was delivered, and the TSN
    /// that it begins with.
    pub(super) fn finish(
        mut self,
        origin: Time,
        deliveries: &[(Time, u32)],
        values: &mut BTreeMap<String, f64>,
        traces: &mut Traces,
    ) {
        if self.observe.retransmissions {
            self.retransmissions.finish(values);
            put_resends(&self.resends, values);
        }
        if self.observe.sequence {
            self.complete(deliveries);
        }
        let seconds = |at: Time| (at.since(origin).as_secs_f64() * 1e6).round() / 1e6;
        let step = |s: Noted| {
            let tsn = u32::try_from(s.number + 1).unwrap_or(u32::MAX);
            Step(seconds(s.at), tsn, s.path, s.kind)
        };
        traces.sequence = self.steps.into_iter().map(step).collect();
    }
}
