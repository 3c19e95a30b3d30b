//! The segments with data of one direction.

use std::collections::VecDeque;

use crate::event::{Again, Event, Head, Observer};
use crate::flow::{Flow, ms};
use crate::numbers::{ORIGIN, shown};
use crate::sctp::spurious::{Answer, Resent, Spurious};
use crate::statistics::Class;

/// More segments are never outstanding: the oldest are forgotten, if no acknowledgement is captured.
const MOST_OUTSTANDING: usize = 1 << 18;
/// This many acknowledged segments are remembered, should one be sent again nevertheless.
const REMEMBERED: usize = 1024;

/// Data as it stands in a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Sequence number of the first byte.
    pub(super) begin: u32,
    pub(super) length: u32,
    /// TSval (RFC 7323 §3.2).
    pub(super) value: Option<u32>,
}

/// An acknowledgement as it stands in a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement<'a> {
    pub(super) number: u32,
    /// SACK blocks (RFC 2018 §3).
    pub(super) blocks: &'a [(u32, u32)],
    /// The segment does nothing else.
    pub(super) plain: bool,
    pub(super) window: u16,
    /// TSecr (RFC 7323 §3.2).
    pub(super) echo: Option<u32>,
}

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    begin: u64,
    end: u64,
    first: u64,
    last: u64,
    again: u32,
    missing: u32,
    acked: bool,
}

#[derive(Debug)]
pub(super) struct Direction {
    first: Option<u32>,
    /// All before it is acknowledged.
    base: u64,
    /// One more than the last byte that was sent.
    next: u64,
    segments: VecDeque<Sent>,
    /// The last ones that were acknowledged.
    done: VecDeque<Sent>,
    window: u16,
    /// Bytes of the segments beyond `base` that are reported.
    reported: u64,
    pub(super) flow: Flow,
    spurious: Spurious,
}

impl Direction {
    pub(super) fn new(rto_min_ms: f64) -> Direction {
        Direction {
            first: None,
            base: ORIGIN,
            next: ORIGIN,
            segments: VecDeque::new(),
            done: VecDeque::new(),
            window: 0,
            reported: 0,
            flow: Flow::new(rto_min_ms),
            spurious: Spurious::default(),
        }
    }

    /// The first sequence number is announced.
    pub(super) fn begins_at(&mut self, sequence: u32) {
        if self.flow.units == 0 {
            self.first = Some(sequence);
        }
    }

    fn number(&mut self, sequence: u32) -> u64 {
        let first = *self.first.get_or_insert(sequence);
        let near = first.wrapping_add(shown(self.next) as u32);
        self.next.saturating_add_signed(i64::from(sequence.wrapping_sub(near).cast_signed()))
    }

    fn in_flight(&self) -> u64 {
        (self.next - self.base).saturating_sub(self.reported)
    }

    /// Segments that were sent and are not acknowledged.
    pub(super) fn outstanding(&self) -> u64 {
        self.segments.iter().filter(|segment| !segment.acked).count() as u64
    }

    /// Data is sent.
    pub(super) fn data(
        &mut self,
        head: &Head,
        segment: Segment,
        missing_reports: u32,
        out: &mut dyn Observer,
    ) {
        let begin = self.number(segment.begin);
        let end = begin + u64::from(segment.length);
        self.flow.sent(head.at, segment.length.into());
        let again = (begin < self.next)
            .then(|| self.again(head, begin, end, segment.value, missing_reports));
        if end > self.next {
            let sent = Sent {
                begin: begin.max(self.next),
                end,
                first: head.at,
                last: head.at,
                again: 0,
                missing: 0,
                acked: false,
            };
            self.segments.push_back(sent);
            self.next = end;
            if self.segments.len() > MOST_OUTSTANDING {
                let first = self.segments.pop_front();
                let reported = first.filter(|first| first.acked).map_or(0, |f| f.end - f.begin);
                self.reported -= reported;
            }
        }
        let (bytes, flight) = (segment.length, self.in_flight());
        self.flow.flight(flight);
        let (number, end) = (shown(begin), shown(end));
        let (stream, interleaved) = (None, false);
        out.event(head, &Event::Data { number, end, bytes, stream, interleaved, again, flight });
    }

    /// Data before `next` is sent again.
    fn again(
        &mut self,
        head: &Head,
        begin: u64,
        end: u64,
        value: Option<u32>,
        missing_reports: u32,
    ) -> Again {
        let end = end.min(self.next);
        self.flow.again += 1;
        self.flow.again_bytes += end - begin;
        let from = self.segments.partition_point(|sent| sent.end <= begin);
        let newest = self.segments.len().saturating_sub(1);
        let older = self.segments.range(..from).any(|sent| !sent.acked);
        let mut found: Option<Again> = None;
        for index in from..self.segments.len() {
            let sent = &mut self.segments[index];
            if sent.begin >= end {
                break;
            }
            sent.again += 1;
            let class = match found.and_then(|again| again.class) {
                None if sent.missing >= missing_reports => Class::Fast,
                None if index == newest && older => Class::Probe,
                None => Class::Timeout,
                Some(class) => class,
            };
            let (delay_ms, since_last_ms) = (ms(sent.first, head.at), ms(sent.last, head.at));
            let again = Again { count: sent.again, class: Some(class), delay_ms, since_last_ms };
            found.get_or_insert(again);
            (sent.last, sent.missing) = (head.at, 0);
        }
        match found {
            Some(again @ Again { count, class: Some(class), delay_ms, since_last_ms }) => {
                self.flow.sent_again(count, class, delay_ms, since_last_ms);
                let (number, last) = (begin, end - 1);
                self.spurious.sent_again(Resent { number, last, count, value, bit: false });
                again
            }
            _ => self.again_after_ack(head, begin, end),
        }
    }

    /// Data is sent again that is acknowledged already.
    fn again_after_ack(&mut self, head: &Head, begin: u64, end: u64) -> Again {
        self.flow.after_ack += 1;
        let mut again = Again { count: 0, class: None, delay_ms: 0.0, since_last_ms: 0.0 };
        let sent = self.done.iter_mut().rev().find(|sent| sent.begin < end && sent.end > begin);
        if let Some(sent) = sent {
            sent.again += 1;
            again.count = sent.again;
            again.delay_ms = ms(sent.first, head.at);
            again.since_last_ms = ms(sent.last, head.at);
            sent.last = head.at;
            self.flow.most_again = self.flow.most_again.max(sent.again);
            // It was acknowledged before, so no later acknowledgement is about it.
            let (number, last, count) = (begin, end - 1, sent.again);
            self.spurious.sent_again(Resent { number, last, count, value: None, bit: false });
        }
        again
    }

    /// The other side acknowledges. The round-trip time that this measures, in milliseconds.
    pub(super) fn acknowledged(
        &mut self,
        head: &Head,
        ack: &Acknowledgement<'_>,
        out: &mut dyn Observer,
    ) -> Option<f64> {
        let Acknowledgement { number, blocks, plain, window, echo } = *ack;
        let next = self.number(number);
        let before = self.base;
        let mut newest = None;
        let mut newly = 0;
        if next > self.base {
            self.flow.acked_at = head.at;
            self.flow.acked_bytes += next.min(self.next) - self.base;
            newly = next.min(self.next) - self.base;
            // A FIN is acknowledged as a byte, but is none.
            self.base = next.min(self.next);
        }
        while let Some(sent) = self.segments.front().copied().filter(|sent| sent.end <= next) {
            self.segments.pop_front();
            if self.done.len() == REMEMBERED {
                self.done.pop_front();
            }
            self.done.push_back(sent);
            if sent.acked {
                self.reported -= sent.end - sent.begin;
                newly = newly.saturating_sub(sent.end - sent.begin);
            }
            newest = (sent.again == 0 && !sent.acked).then_some(sent.first).or(newest);
        }
        let mut gaps: Vec<(i64, i64)> = Vec::new();
        let mut duplicates = 0;
        for (left, right) in blocks {
            let (left, right) = (self.number(*left), self.number(*right));
            if left < next
                || gaps
                    .first()
                    .is_some_and(|first| shown(left) >= first.0 && shown(right) <= first.1)
            {
                // RFC 2883 §4: the first block reports a duplicate.
                duplicates += 1;
                if let Some((number, count, proof)) = self.spurious.duplicate(left) {
                    *self.flow.spurious.entry(proof).or_default() += 1;
                    out.event(head, &Event::Spurious { number: shown(number), count, proof });
                }
                continue;
            }
            gaps.push((shown(left), shown(right) - 1));
            let from = self.segments.partition_point(|sent| sent.begin < left);
            for sent in self.segments.range_mut(from..).take_while(|sent| sent.end <= right) {
                if !sent.acked {
                    self.reported += sent.end - sent.begin;
                    newly += sent.end - sent.begin;
                    if sent.again == 0 {
                        newest = newest.max(Some(sent.first));
                    }
                }
                sent.acked = true;
            }
        }
        gaps.sort_unstable();
        let flow = &mut self.flow;
        self.spurious.acknowledged(next, Answer { bit: false, echo }, |number, count, proof| {
            *flow.spurious.entry(proof).or_default() += 1;
            out.event(head, &Event::Spurious { number: shown(number), count, proof });
        });
        // RFC 5681 §2: a duplicate acknowledgement says nothing new and the window is the same.
        let repeated =
            plain && next == before && window == self.window && !self.segments.is_empty();
        self.window = window;
        if let Some((_, last)) = gaps.last() {
            let to = self.segments.partition_point(|sent| shown(sent.end) <= *last);
            self.segments
                .range_mut(..to)
                .filter(|sent| !sent.acked)
                .for_each(|sent| sent.missing += 1);
        } else if let Some(first) = self.segments.front_mut().filter(|_| repeated) {
            first.missing += 1;
        }
        let reported = gaps.len() as u64;
        self.flow.sack(gaps.len() as u32, reported, duplicates.into());
        let rtt_ms = newest.map(|sent| self.flow.round_trip(head.at, sent));
        if plain || rtt_ms.is_some() {
            let event = Event::Sack {
                cumulative: shown(next) - 1,
                gaps: &gaps,
                duplicates,
                window: window.into(),
                flight: self.in_flight(),
                newly,
                rtt_ms,
                rto_ms: self.flow.rto.ms(),
            };
            out.event(head, &event);
        }
        rtt_ms
    }
}
