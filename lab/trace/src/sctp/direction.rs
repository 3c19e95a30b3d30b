//! The DATA chunks of one direction, as an analyser sees them that knows nothing of the sender's
//! state: what was sent when, how often, which SACKs reported it missing, what that says of the
//! causes (Pedersen, appendix B).

mod class;

use std::collections::{BTreeMap, VecDeque};

use tresse_wire::{GapAckBlock, GapAckBlocks, Packet as SctpPacket, Sack, Tsn};

use super::assembly::{Assembly, Message, Piece};
use super::fates::Earlier;
use super::spurious::{Answer, Resent, Spurious};
use super::user_data::{Fragment, UserData};
use crate::causes::Told;
use crate::event::{Again, Event, Head, Observer};
use crate::flow::{Flow, ms};
use crate::numbers::{ORIGIN, shown};
use crate::settings::Settings;
use crate::statistics::Class;
use crate::terms::{Proof, Until};

/// More chunks are never outstanding: the oldest are forgotten, if no SACK is ever captured.
const MOST_OUTSTANDING: usize = 1 << 18;
/// A TSN this far beyond the last one is damaged.
const FARTHEST: u64 = 1 << 17;

pub(super) const FAR_TSN: &str = "chunks with a TSN far from those that are outstanding";

/// What the place of capture sees of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// There is one place only, which sees all that is seen.
    #[default]
    Only,
    /// That it is sent.
    Departure,
    /// That it arrives.
    Arrival,
}

/// What holds for all chunks of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'a> {
    /// What passes by where it was captured.
    pub(super) role: Role,
    /// Its checksum.
    pub(super) checksum: u32,
    /// What made the first retransmission in it.
    pub(super) cause: Option<Class>,
    /// Time that it carries, and the one that it echoes.
    pub(super) timestamps: Option<(u32, u32)>,
    /// Of the chunk at hand, the transmissions before it, where both ends are captured.
    pub(super) earlier: Option<Earlier>,
    /// What its sender's log says of its transmissions.
    pub(super) told: Option<&'a Told>,
    /// All that is in it.
    pub(super) sctp: Option<SctpPacket<'a>>,
    /// Whether user data was seen in it that was never sent before.
    pub(super) fresh: bool,
}

/// A DATA chunk that is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    first: u64,
    last: u64,
    bytes: u32,
    again: u32,
    /// SACKs that reported it missing since it was last sent.
    missing: u32,
    /// Where it was sent to last.
    path: u16,
    /// Whether it was captured, or one with a higher TSN only.
    seen: bool,
    gap_acked: bool,
    fragment: Fragment,
}

#[derive(Debug)]
pub(super) struct Direction {
    /// TSN of the chunk with the number [`ORIGIN`].
    first_tsn: Option<u32>,
    /// Where the numbers begin is a guess: neither INIT nor SACK was captured.
    guessed: bool,
    /// The lowest number that was seen.
    lowest: u64,
    /// Chunks from number `base` on; those before are acknowledged.
    base: u64,
    chunks: VecDeque<Chunk>,
    in_flight: u64,
    pub(super) flow: Flow,
    missing_reports: u32,
    early: bool,
    /// When a timer last expired for what was sent this way, by path.
    timed_out: BTreeMap<u16, u64>,
    spurious: Spurious,
    /// Gap blocks of the last SACK, kept to save allocations.
    gaps: Vec<(i64, i64)>,
    blocks: Vec<GapAckBlock>,
    /// User data that the last SACK acknowledges for the first time.
    newly: u64,
    /// Messages of which all that is acknowledged is put together, unless their delivery is seen.
    acknowledged: Option<Assembly>,
    /// Everything before this number was passed over, or had arrived.
    passed: u64,
    /// Those that the last SACK completes.
    complete: Vec<Message>,
}

impl Direction {
    pub(super) fn new(settings: &Settings) -> Direction {
        Direction {
            first_tsn: None,
            guessed: true,
            lowest: u64::MAX,
            base: ORIGIN,
            chunks: VecDeque::new(),
            in_flight: 0,
            flow: Flow::new(settings.rto_min_ms),
            missing_reports: settings.missing_reports,
            early: settings.early,
            timed_out: BTreeMap::new(),
            spurious: Spurious::default(),
            gaps: Vec::new(),
            blocks: Vec::new(),
            newly: 0,
            acknowledged: (!settings.both_ends).then(Assembly::default),
            passed: 0,
            complete: Vec::new(),
        }
    }

    /// The first TSN is announced.
    pub(super) fn begins_at(&mut self, tsn: u32) {
        if self.flow.units == 0 && self.flow.sacks == 0 {
            self.first_tsn = Some(tsn);
            self.guessed = false;
        }
    }

    /// TSNs go on with this one (RFC 6525 §5.2.4): the next number has it, and nothing before is outstanding.
    pub(super) fn begins_again(&mut self, tsn: Tsn) {
        while self.pop().is_some() {}
        self.first_tsn = Some(tsn.0.wrapping_sub(shown(self.base) as u32));
    }

    /// TSN of the chunk with the number 0 in listings; after a reset of everything, the one that it would have now.
    pub(super) fn first_tsn(&self) -> Option<u32> {
        self.first_tsn
    }

    /// The number of a TSN: the one nearest to what is outstanding.
    pub(super) fn number(&mut self, tsn: Tsn) -> u64 {
        let first = *self.first_tsn.get_or_insert(tsn.0);
        self.number_from(first, tsn)
    }

    /// The same, as numbers begin with the TSN `first`.
    fn number_from(&self, first: u32, Tsn(tsn): Tsn) -> u64 {
        let near = first.wrapping_add(shown(self.base) as u32);
        self.base.saturating_add_signed(i64::from(tsn.wrapping_sub(near).cast_signed()))
    }

    /// The number of a TSN that no chunk of user data names, as listings have it; before there is any, the TSN itself.
    pub(super) fn told(&self, tsn: Tsn) -> String {
        match self.first_tsn {
            Some(first) => shown(self.number_from(first, tsn)).to_string(),
            None => format!("{} (absolute)", tsn.0),
        }
    }

    /// The number of a TSN up to which the sender has its peer pass; `None` of one that no receiver would take: of before a
    /// reset, or damaged.
    pub(super) fn passes(&self, tsn: Tsn) -> Option<u64> {
        let number = self.number_from(self.first_tsn?, tsn);
        (number <= self.next() + FARTHEST).then_some(number)
    }

    /// The sender has its peer pass over what it lacks before this number (RFC 3758 §3.5): what is not reported by then is not
    /// taken to be through once everything is acknowledged.
    pub(super) fn pass_over(&mut self, number: u64) {
        self.passed = self.passed.max(number);
    }

    /// Everything before this number is acknowledged.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// How many chunks are kept, also those that were not seen.
    pub(super) fn held(&self) -> usize {
        self.chunks.len() + self.acknowledged.as_ref().map_or(0, Assembly::held)
    }

    fn next(&self) -> u64 {
        self.base + self.chunks.len() as u64
    }

    /// A chunk is sent.
    pub(super) fn data(
        &mut self,
        head: &Head,
        packet: &mut Packet<'_>,
        data: &UserData,
        out: &mut dyn Observer,
    ) -> Result<(), &'static str> {
        let number = self.number(data.tsn);
        if number > self.next() + FARTHEST || number + FARTHEST < self.base {
            return Err(FAR_TSN);
        }
        let bytes = data.bytes;
        self.flow.sent(head.at, bytes.into());
        if self.guessed && number < self.base {
            let unseen = self.unseen(head);
            for _ in number..self.base {
                self.chunks.push_front(unseen);
            }
            self.base = number;
        }
        let again = if number < self.base {
            // What is acknowledged was seen, unless it was sent before the capture began.
            (number >= self.lowest).then(|| {
                self.flow.after_ack += 1;
                let Earlier { count, first, last } =
                    packet.earlier.unwrap_or(Earlier { count: 0, first: head.at, last: head.at });
                let (delay_ms, since_last_ms) = (ms(first, head.at), ms(last, head.at));
                Again { count, class: None, delay_ms, since_last_ms }
            })
        } else {
            self.outstanding(head, number, data, packet)
        };
        self.lowest = self.lowest.min(number);
        if let Some(again) = again {
            self.flow.again += 1;
            self.flow.again_bytes += u64::from(bytes);
            if let Some(class) = again.class {
                let (delay, last) = (again.delay_ms, again.since_last_ms);
                self.flow.sent_again(again.count, class, delay, last);
                let value = packet.timestamps.map(|(value, _)| value);
                let (count, bit) = (again.count, data.retransmission);
                self.spurious.sent_again(Resent { number, last: number, count, value, bit });
            }
        }
        self.flow.flight(self.in_flight);
        let stream = Some((data.fragment.stream, data.fragment.sequence));
        let number = shown(number);
        let (end, flight) = (number + 1, self.in_flight);
        let interleaved = data.fragment.index.is_some();
        out.event(head, &Event::Data { number, end, bytes, stream, interleaved, again, flight });
        Ok(())
    }

    fn unseen(&self, head: &Head) -> Chunk {
        Chunk {
            first: head.at,
            last: head.at,
            bytes: 0,
            again: 0,
            missing: 0,
            path: head.path,
            seen: false,
            gap_acked: false,
            fragment: Fragment::default(),
        }
    }

    /// Sends a chunk that is not acknowledged.
    fn outstanding(
        &mut self,
        head: &Head,
        number: u64,
        data: &UserData,
        packet: &mut Packet<'_>,
    ) -> Option<Again> {
        let UserData { bytes, fragment, .. } = *data;
        if number >= self.next() {
            // Should numbers be skipped, then those were not captured.
            let length = (number - self.base) as usize;
            let unseen = self.unseen(head);
            self.chunks.resize(length, unseen);
            self.chunks.push_back(Chunk { bytes, fragment, seen: true, ..unseen });
            self.in_flight += u64::from(bytes);
            packet.fresh = true;
            while self.chunks.len() > MOST_OUTSTANDING {
                self.pop();
            }
            return None;
        }
        let index = (number - self.base) as usize;
        let chunk = self.chunks[index];
        if !chunk.seen {
            let gap_acked = chunk.gap_acked;
            self.chunks[index] =
                Chunk { bytes, fragment, seen: true, gap_acked, ..self.unseen(head) };
            self.in_flight += if chunk.gap_acked { 0 } else { u64::from(bytes) };
            return None;
        }
        let class = self.class(head.at, index, data.tsn, packet);
        let count = chunk.again + 1;
        let again = Again {
            count,
            class: Some(class),
            delay_ms: ms(chunk.first, head.at),
            since_last_ms: ms(chunk.last, head.at),
        };
        let sent =
            Chunk { again: again.count, missing: 0, last: head.at, path: head.path, ..chunk };
        self.chunks[index] = sent;
        Some(again)
    }

    fn pop(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.pop_front()?;
        self.base += 1;
        if !chunk.gap_acked {
            self.in_flight -= u64::from(chunk.bytes);
        }
        Some(chunk)
    }

    /// A SACK of the other side, with these non-renegable blocks besides its own. The round-trip
    /// time that it measures in milliseconds, and over which path.
    pub(super) fn sack(
        &mut self,
        head: &Head,
        sack: &Sack<'_>,
        non_renegable: GapAckBlocks<'_>,
        packet: &Packet<'_>,
        out: &mut dyn Observer,
    ) -> Result<Option<(u16, f64)>, &'static str> {
        // The chunk after the cumulative one; before the first chunk it is that.
        let next = self.number(Tsn(sack.cumulative_tsn_ack.0.wrapping_add(1)));
        if next > self.next() + FARTHEST {
            return Err(FAR_TSN);
        }
        self.guessed = false;
        self.newly = 0;
        let mut newest = self.acknowledge(head, next);
        self.blocks.clear();
        self.blocks.extend(sack.gap_blocks());
        if non_renegable.len() > 0 {
            self.blocks.extend(non_renegable);
            self.blocks.sort_unstable_by_key(|block| (block.start, block.end));
        }
        let reported = self.report(head, next, &mut newest);
        let rtt = newest.map(|(sent, path)| (path, self.flow.round_trip(head.at, sent)));
        let duplicates = sack.duplicates().len() as u32;
        self.flow.sack(self.blocks.len() as u32, reported, duplicates.into());
        self.flow.flight(self.in_flight);
        let echo = packet.timestamps.map(|(_, echo)| echo);
        let answer = Answer { bit: sack.flags.retransmission, echo };
        let gaps = std::mem::take(&mut self.gaps);
        let event = Event::Sack {
            cumulative: shown(next) - 1,
            gaps: &gaps,
            duplicates,
            window: sack.a_rwnd.into(),
            flight: self.in_flight,
            newly: self.newly,
            rtt_ms: rtt.map(|(_, ms)| ms),
            rto_ms: self.flow.rto.ms(),
        };
        out.event(head, &event);
        self.gaps = gaps;
        self.tell_complete(head, out);
        let spurious = &mut self.flow.spurious;
        let mut tell = |number: u64, count: u32, proof: Proof| {
            *spurious.entry(proof).or_default() += 1;
            out.event(head, &Event::Spurious { number: shown(number), count, proof });
        };
        self.spurious.acknowledged(next, answer, &mut tell);
        for tsn in sack.duplicates() {
            let distance = tsn.distance(sack.cumulative_tsn_ack);
            let number = (next - 1).saturating_add_signed(distance.into());
            if let Some((number, count, proof)) = self.spurious.duplicate(number) {
                tell(number, count, proof);
            }
        }
        Ok(rtt)
    }

    /// A SHUTDOWN of the other side acknowledges as a SACK does (RFC 9260 §3.3.8), without blocks.
    pub(super) fn shutdown(&mut self, head: &Head, cumulative: Tsn, out: &mut dyn Observer) {
        let next = self.number(Tsn(cumulative.0.wrapping_add(1)));
        // A TSN that was not sent acknowledges nothing.
        if next <= self.next() {
            self.acknowledge(head, next);
            self.tell_complete(head, out);
        }
    }

    /// Messages that are acknowledged altogether now.
    fn tell_complete(&mut self, head: &Head, out: &mut dyn Observer) {
        for message in std::mem::take(&mut self.complete) {
            let transfer_ms = message.through(&mut self.flow, head.at);
            let event = message.event(head.from.other(), transfer_ms, Until::Acknowledgement);
            out.event(head, &event);
        }
    }

    /// Everything before `next` has arrived. When and where the newest chunk of it was sent that is
    /// good for measuring.
    fn acknowledge(&mut self, head: &Head, next: u64) -> Option<(u64, u16)> {
        let mut newest = None;
        if next > self.base {
            self.flow.acked_at = head.at;
        }
        while self.base < next {
            let Some(chunk) = self.pop() else {
                self.flow.unseen += next - self.base;
                self.base = next;
                break;
            };
            if !chunk.seen {
                self.flow.unseen += 1;
            } else if chunk.again == 0 && !chunk.gap_acked {
                // RFC 9260 §6.3.1 C5: not of what was sent again.
                newest = Some((chunk.first, chunk.path));
            }
            self.flow.acked_bytes += u64::from(chunk.bytes);
            if !chunk.gap_acked {
                self.through(head, self.base - 1, &chunk);
            }
        }
        if let Some(assembly) = self.acknowledged.as_mut().filter(|_| self.passed > 0) {
            assembly.forget(self.passed.min(self.base));
        }
        newest
    }

    /// A chunk is acknowledged for the first time.
    fn through(&mut self, head: &Head, number: u64, chunk: &Chunk) {
        if !chunk.seen {
            return;
        }
        self.newly += u64::from(chunk.bytes);
        let passed = !chunk.gap_acked && number < self.passed && number < self.base;
        if let Some(assembly) = self.acknowledged.as_mut().filter(|_| !passed) {
            let Chunk { bytes, first, fragment, .. } = *chunk;
            let piece = Piece { number, bytes, at: head.at, first: Some(first), fragment };
            self.complete.extend(assembly.add(piece));
        }
    }

    /// What the blocks of a SACK report as arrived and as missing. How many TSNs they report.
    fn report(&mut self, head: &Head, next: u64, newest: &mut Option<(u64, u16)>) -> u64 {
        self.gaps.clear();
        let mut reported = 0;
        // Whatever is not in a block below the last one is reported missing. Offsets count from
        // the cumulative TSN, so offset 1 is number `next`.
        let mut from = next;
        let blocks = std::mem::take(&mut self.blocks);
        for block in &blocks {
            let (start, stop) = (u64::from(block.start), u64::from(block.end));
            let (begin, end) = (next + start.saturating_sub(1), next + stop);
            reported += end.saturating_sub(begin);
            self.gaps.push((shown(next) - 1 + start as i64, shown(next) - 1 + stop as i64));
            for index in self.range(from, begin) {
                self.chunks[index].missing += 1;
            }
            for index in self.range(begin.max(from), end) {
                let chunk = self.chunks[index];
                if !chunk.gap_acked {
                    self.chunks[index].gap_acked = true;
                    self.in_flight -= u64::from(chunk.bytes);
                    if chunk.seen && chunk.again == 0 {
                        *newest = Some((chunk.first, chunk.path));
                    }
                    self.through(head, self.base + index as u64, &chunk);
                }
            }
            from = from.max(end);
        }
        self.blocks = blocks;
        reported
    }

    /// Indices of the outstanding chunks with these numbers.
    fn range(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        let index = |number: u64| {
            usize::try_from(number.saturating_sub(self.base)).unwrap_or(0).min(self.chunks.len())
        };
        index(from)..index(to).max(index(from))
    }

    /// Chunks that were sent and are not acknowledged.
    pub(super) fn outstanding_chunks(&self) -> u64 {
        self.chunks.iter().filter(|chunk| chunk.seen && !chunk.gap_acked).count() as u64
    }
}
