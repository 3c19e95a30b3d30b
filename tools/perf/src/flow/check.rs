//! Verifies what arrives of flows.

use std::time::Duration;

use tresse::{Message, SendOptions, StreamId};

use super::{Amount, Flow, FlowReport};
use crate::figures::{Durations, Volume};
use crate::payload::{self, Header};
use crate::test::DelayKind;

/// Verifies all flows of one direction.
pub(super) struct Check {
    flows: Vec<One>,
    kind: DelayKind,
    /// Messages whose checksum is wrong, or of no flow.
    pub(super) damaged: u64,
}

/// One of them.
struct One {
    stream: StreamId,
    amount: Amount,
    /// Sum of all indexes: it differs if one is missing and another came twice.
    index_sum: u128,
    /// Index of the last ordered message.
    last_ordered: Option<u64>,
    out_of_order: u64,
    misplaced: u64,
    delay: Durations,
    /// Difference of arrival and sending of the last message, nanoseconds; the clocks may differ.
    transit: Option<i128>,
    /// RFC 3550 §6.4.1, nanoseconds.
    jitter: f64,
    first: Option<u64>,
    last: u64,
}

impl Check {
    pub(super) fn new(flows: &[Flow], kind: DelayKind) -> Check {
        let one = |flow: &Flow| One {
            stream: StreamId(flow.stream),
            amount: Amount::default(),
            index_sum: 0,
            last_ordered: None,
            out_of_order: 0,
            misplaced: 0,
            delay: Durations::new(),
            transit: None,
            jitter: 0.0,
            first: None,
            last: 0,
        };
        Check { flows: flows.iter().map(one).collect(), kind, damaged: 0 }
    }

    /// Verifies a message that was read at `now`; gives the echo if one is asked for.
    pub(super) fn take(&mut self, message: &Message, now: u64) -> Option<Vec<u8>> {
        let header = payload::verify(&message.payload);
        let Some((header, one)) =
            header.and_then(|h| self.flows.get_mut(usize::from(h.flow)).map(|one| (h, one)))
        else {
            self.damaged += 1;
            return None;
        };
        one.take(message, &header, now);
        if self.kind == DelayKind::OneWay {
            one.delay.record(now.saturating_sub(header.sent_at));
        }
        header.echo.then(|| {
            let header = Header { echo: false, ..header };
            payload::Builder::new(payload::HEADER_LEN).message(&header, 0).to_vec()
        })
    }

    /// Whether as much has come as the sender counted.
    pub(super) fn is_complete(&self, sent: &[Amount]) -> bool {
        let messages: u64 = self.flows.iter().map(|one| one.amount.messages).sum();
        messages + self.damaged >= sent.iter().map(|amount| amount.messages).sum()
    }

    pub(super) fn reports(&self, sent: &[Amount]) -> Vec<FlowReport> {
        self.flows.iter().zip(sent).map(|(one, sent)| one.report(*sent)).collect()
    }
}

impl One {
    fn take(&mut self, message: &Message, header: &Header, now: u64) {
        self.first.get_or_insert(now);
        self.last = now;
        self.amount.messages += 1;
        self.amount.bytes += message.payload.len() as u64;
        self.amount.frames += u64::from(!header.more);
        self.index_sum += u128::from(header.index);
        self.misplaced += u64::from(message.stream != self.stream);
        if !message.unordered {
            let before = self.last_ordered.replace(header.index);
            self.out_of_order += u64::from(before.is_some_and(|before| before >= header.index));
        }
        // RFC 3550 §6.4.1: J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16
        let transit = i128::from(now) - i128::from(header.sent_at);
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.abs_diff(before) as f64;
            self.jitter += (difference - self.jitter) / 16.0;
        }
    }

    fn report(&self, sent: Amount) -> FlowReport {
        let n = u128::from(self.amount.messages);
        let complete = self.amount == sent && self.index_sum == n * n.saturating_sub(1) / 2;
        let time = Duration::from_nanos(self.last.saturating_sub(self.first.unwrap_or(self.last)));
        FlowReport {
            volume: Volume::new(self.amount.messages, self.amount.bytes, time),
            frames: self.amount.frames,
            verified: complete && self.out_of_order == 0 && self.misplaced == 0,
            out_of_order: self.out_of_order,
            misplaced: self.misplaced,
            delay: self.delay.summary(),
            round_trip: None,
            jitter_us: self.jitter / 1e3,
        }
    }
}

/// How an echo is sent: round trips are sampled, and one less matters little when there is no room.
pub(super) fn echo_options() -> SendOptions {
    SendOptions { ppid: crate::protocol::ECHO, unordered: true, ..SendOptions::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Builder;

    /// Feeds messages of one flow, given as index, unordered, arrival; each was sent at its index.
    fn report(messages: &[(u64, bool, u64)], stream: u16) -> FlowReport {
        let mut flows = ["const0:const100".parse::<Flow>().unwrap()];
        super::super::number(&mut flows).unwrap();
        let mut check = Check::new(&flows, DelayKind::OneWay);
        let mut builder = Builder::new(100);
        for (index, unordered, at) in messages {
            let header =
                Header { index: *index, sent_at: *index, echo: false, more: false, flow: 0 };
            let payload = builder.message(&header, 100);
            let ppid = crate::protocol::DATA;
            let stream = StreamId(stream);
            let message = Message { stream, ppid, unordered: *unordered, payload };
            assert_eq!(check.take(&message, *at), None);
        }
        let sent = Amount { frames: 3, messages: 3, bytes: 300 };
        assert_eq!(check.is_complete(&[sent]), messages.len() >= 3);
        check.reports(&[sent]).remove(0)
    }

    #[test]
    fn only_what_was_sent_passes() {
        let ordered = |indexes: [u64; 3]| report(&indexes.map(|i| (i, false, 10)), 1);
        assert!(ordered([0, 1, 2]).verified);
        assert_eq!(ordered([0, 2, 1]).out_of_order, 1);
        assert!(!ordered([0, 2, 1]).verified && !ordered([0, 1, 1]).verified);
        assert!(report(&[(2, true, 9), (0, false, 9), (1, false, 9)], 1).verified);
        assert!(!report(&[(0, true, 9), (0, true, 9), (2, true, 9)], 1).verified);
        assert!(!report(&[(0, false, 9), (1, false, 9)], 1).verified);
        assert_eq!(report(&[(0, false, 9)], 2).misplaced, 1);
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // Transit times of 1000, 1160 and 1000 ns: J = 160/16 = 10, then 10 + (160 - 10)/16.
        let jitter = report(&[(0, false, 1000), (1, false, 1161), (2, false, 1002)], 1).jitter_us;
        assert!((jitter * 1e3 - 19.375).abs() < 1e-9, "{jitter}");
    }

    #[test]
    fn what_is_damaged_belongs_to_no_flow() {
        let mut check = Check::new(&[], DelayKind::RoundTrip);
        let payload = Builder::new(50).build(0, 0, true);
        let ppid = crate::protocol::DATA;
        let message = Message { stream: StreamId(1), ppid, unordered: false, payload };
        assert_eq!(check.take(&message, 0), None);
        assert_eq!(check.damaged, 1);
    }
}
