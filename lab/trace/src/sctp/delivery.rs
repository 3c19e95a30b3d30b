//! What happens to the data of one direction at the receiver's end: when chunks arrive, and when the
//! messages in them can be delivered.

use super::assembly::{Assembly, Message, Piece};
use super::fates::{Fates, Sighting, Verdict};
use super::order::Order;
use super::user_data::{Forward, UserData};
use crate::event::{Event, Head, Observer};
use crate::flow::{Flow, ms};
use crate::numbers::shown;
use crate::summary::{Arrivals, StreamSummary};
use crate::terms::Proof;

/// Messages that became deliverable, with their number and when their first chunk was sent first.
pub(super) type Delivered = Vec<Message>;

#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) fates: Fates,
    assembly: Assembly,
    order: Order,
    /// FORWARD TSN has passed over all chunks before this one: one that arrives now is too late.
    passed: u64,
    /// When something was last delivered, in nanoseconds.
    last: Option<u64>,
    longest_gap_ms: f64,
    /// Whether anything arrived.
    any: bool,
}

impl Delivery {
    /// A chunk arrives; what can be delivered now is added to `delivered`.
    pub(super) fn arrived(
        &mut self,
        number: u64,
        data: &UserData,
        sighting: Sighting,
        from_the_beginning: bool,
        delivered: &mut Delivered,
    ) {
        if !self.fates.arrived(number, sighting) {
            return;
        }
        self.any = true;
        // RFC 3758 §3.6: FORWARD TSN moved the receiver's Cumulative TSN beyond it, so that it is a duplicate.
        if number < self.passed {
            return;
        }
        let at = sighting.at;
        let first = self.fates.first_sent(number);
        let fragment = data.fragment;
        let piece = Piece { number, bytes: data.bytes, at, first, fragment };
        if let Some(message) = self.assembly.add(piece) {
            let before = delivered.len();
            self.order.complete(message, at, from_the_beginning, &mut |message| {
                delivered.push(message);
            });
            self.progress(at, &delivered[before..]);
        }
    }

    /// The sender's FORWARD TSN arrives; the receiver's next chunk is `next`, or one behind it.
    pub(super) fn forward(
        &mut self,
        forward: &Forward,
        next: u64,
        at: u64,
        delivered: &mut Delivered,
    ) {
        self.passed = self.passed.max(next);
        let before = delivered.len();
        for last in &forward.streams {
            self.order.skip(*last, at, &mut |message| delivered.push(message));
        }
        self.progress(at, &delivered[before..]);
    }

    /// These streams begin again, or all if there are none.
    pub(super) fn reset(&mut self, streams: &[u16], at: u64, delivered: &mut Delivered) {
        let before = delivered.len();
        self.assembly.reset(streams);
        self.order.reset(streams, at, &mut |message| delivered.push(message));
        self.progress(at, &delivered[before..]);
    }

    /// How many chunks, messages and streams are kept.
    pub(super) fn held(&self) -> usize {
        self.fates.held() + self.assembly.held() + self.order.held()
    }

    /// A pause counts from the last delivery, or from when what is delivered now was first sent.
    fn progress(&mut self, at: u64, delivered: &[Message]) {
        let Some(oldest) = delivered.iter().filter_map(|message| message.first).min() else {
            return;
        };
        let since = self.last.map_or(oldest, |last| last.max(oldest));
        self.longest_gap_ms = self.longest_gap_ms.max(ms(since, at));
        self.last = Some(at);
    }

    /// What is known of transmissions at both ends.
    pub(super) fn arrivals(&self) -> Arrivals {
        let f = &self.fates;
        Arrivals {
            sent: f.sent,
            arrived: f.arrived,
            lost: f.lost,
            under_way: f.under_way,
            retransmitted: f.again,
            unnecessary: f.unnecessary,
            never_arrived: f.never,
            copies: f.copies,
            one_way: f.one_way.summary(),
            longest_gap_ms: self.longest_gap_ms,
        }
    }

    /// What is known of each stream.
    pub(super) fn streams(&self) -> Vec<StreamSummary> {
        let summary = |(stream, s): (&u16, &super::order::Stream)| StreamSummary {
            stream: *stream,
            messages: s.messages,
            bytes: s.bytes,
            blocked: s.blocked.summary(),
        };
        self.order.streams.iter().filter(|_| self.any).map(summary).collect()
    }
}

/// Tells what became of a transmission of the sender of a packet.
pub(super) fn decided(flow: &mut Flow, head: &Head, verdict: Verdict, out: &mut dyn Observer) {
    match verdict {
        Verdict::Needless { number, count } => {
            *flow.spurious.entry(Proof::Arrival).or_default() += 1;
            // Told as if by the other side, as all proof is.
            let head = Head { from: head.from.other(), ..*head };
            let (number, proof) = (shown(number), Proof::Arrival);
            out.event(&head, &Event::Spurious { number, count, proof });
        }
        Verdict::Lost { number, count, at: sent_at, path } => {
            let (from, number) = (head.from, shown(number));
            out.event(head, &Event::Lost { from, number, count, sent_at, path });
        }
    }
}

#[cfg(test)]
mod tests {
    use tresse_wire::Tsn;

    use super::super::user_data::Fragment;
    use super::*;
    use crate::numbers::ORIGIN;

    /// A chunk of stream 0 arrives, a whole message; the messages that this delivers.
    fn arrives(delivery: &mut Delivery, sequence: u32, at: u64) -> Vec<u32> {
        let fragment = Fragment { sequence, beginning: true, ending: true, ..Fragment::default() };
        let data = UserData { tsn: Tsn(sequence), bytes: 10, retransmission: false, fragment };
        let sighting = Sighting { at, id: at, checksum: 0, path: 0, addressed: true };
        let mut delivered = Delivered::new();
        let number = ORIGIN + u64::from(sequence);
        delivery.arrived(number, &data, sighting, true, &mut delivered);
        delivered.iter().map(|message| message.fragment.sequence).collect()
    }

    #[test]
    fn what_arrives_behind_a_forward_tsn_is_too_late() {
        let mut delivery = Delivery::default();
        assert_eq!(arrives(&mut delivery, 0, 0), [0]);
        assert_eq!(arrives(&mut delivery, 3, 10), [0; 0]);
        let last = Fragment { sequence: 1, ..Fragment::default() };
        let forward = Forward { point: Tsn(1), streams: vec![last] };
        delivery.forward(&forward, ORIGIN + 2, 20, &mut Delivered::new());
        assert_eq!(arrives(&mut delivery, 1, 30), [0; 0], "it was passed over");
        assert_eq!(arrives(&mut delivery, 2, 40), [2, 3], "this one was not");
        assert_eq!(delivery.streams()[0].messages, 3);
    }
}
