//! What costs the other end most in RE-CONFIG (RFC 6525) and FORWARD TSN chunks (RFC 3758).

use tresse_core::wire::{
    AddStreams, DataFlags, PacketWriter, ParameterType, ParameterWriter, Ppid,
    ReconfigurationResponse, ReconfigurationResult, RequestNumber, SkippedStream, Ssn, StreamId,
    Tsn,
};
use tresse_sim::Draw;

/// Streams that fit a packet.
const LONGEST: u64 = 700;
/// Entries that fit one in a FORWARD TSN chunk.
const MOST_SKIPPED: u64 = 350;
/// Chunks of a message.
const FRAGMENTS: u32 = 3;

/// The extensions, as INIT offers them.
pub(super) fn offer() -> Vec<u8> {
    ParameterWriter::new().supported_extensions(&[0x82, 0xc0]).forward_tsn_supported().finish()
}

/// Where an association of the attacker stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    first: Tsn,
    /// Requests that were numbered as they should be.
    requests: u32,
    /// Messages that were begun.
    messages: u32,
}

impl Course {
    pub(super) const fn new(first: Tsn) -> Course {
        Course { first, requests: 0, messages: 0 }
    }

    /// One or two requests or answers, right or wrong.
    pub(super) fn re_config(&mut self, draw: &mut Draw, w: &mut PacketWriter<'_>) {
        let mut list = ParameterWriter::new();
        self.parameter(draw, &mut list);
        if draw.chance(0.03) {
            // Most combinations are not allowed, and end the association (RFC 6525 §3.1).
            self.parameter(draw, &mut list);
        }
        w.re_config(&list.finish());
    }

    /// The next number, the one before, or any.
    fn number(&mut self, draw: &mut Draw) -> RequestNumber {
        let next = RequestNumber(self.first.0).wrapping_add(self.requests);
        match draw.between(0, 9) {
            0 => RequestNumber(draw.next() as u32),
            1 => next.wrapping_sub(1),
            _ => {
                self.requests = self.requests.wrapping_add(1);
                next
            }
        }
    }

    fn parameter(&mut self, draw: &mut Draw, list: &mut ParameterWriter) {
        let request = self.number(draw);
        let other = RequestNumber(draw.next() as u32);
        let length = if draw.chance(0.3) { 0 } else { draw.log_whole(1, LONGEST) as u16 };
        let begin = draw.next() as u16;
        let streams = (0..length).map(|n| StreamId(begin.wrapping_add(n)));
        let add = AddStreams { request, streams: draw.pick(&[0, 1, 1000, u16::MAX]) };
        match draw.between(0, 6) {
            0 | 1 => {
                // What is done at once, and what waits for TSNs that never come.
                let far = draw.pick(&[0, 0, 1, 1 << 20, 1 << 30, 1 << 31]);
                let last = self.first.wrapping_sub(1).wrapping_add(far);
                list.outgoing_ssn_reset(request, other, last, streams);
            }
            2 => drop(list.incoming_ssn_reset(request, streams)),
            3 => drop(list.ssn_tsn_reset(request)),
            4 => drop(list.add_outgoing_streams(add)),
            5 => drop(list.add_incoming_streams(add)),
            _ if draw.chance(0.5) => {
                let result = ReconfigurationResult(draw.between(0, 8) as u32);
                let next_tsns = draw.chance(0.5).then(|| (Tsn(draw.next() as u32), Tsn(0)));
                let answer = ReconfigurationResponse { request: other, result, next_tsns };
                list.reconfiguration_response(&answer);
            }
            _ => {
                let kind = ParameterType(draw.between(13, 19) as u16);
                list.raw(kind, &vec![0xff; draw.between(0, 40) as usize]);
            }
        }
    }

    /// A fragment of a message of the past or the next one, all bytes of which are its number; no message has all of them
    /// for sure.
    pub(super) fn fragment(&mut self, draw: &mut Draw, w: &mut PacketWriter<'_>) {
        let message = if draw.chance(0.5) {
            self.messages += 1;
            self.messages - 1
        } else {
            let back = draw.between(0, 20) as u32;
            self.messages.saturating_sub(1 + back)
        };
        let part = draw.between(0, u64::from(FRAGMENTS) - 1) as u32;
        let flags = DataFlags {
            unordered: message % 3 == 0,
            beginning: part == 0,
            ending: part == FRAGMENTS - 1,
            ..DataFlags::default()
        };
        let tsn = self.first.wrapping_add(message * FRAGMENTS + part);
        let (stream, ssn) = (message as u16 % 50, Ssn((message / 50) as u16));
        w.data(tsn, StreamId(stream), ssn, Ppid(0), flags, &[message as u8; 400]);
    }

    /// A new cumulative TSN: of the past, near, far ahead, or anywhere, with up to as many streams as there is room for.
    pub(super) fn forward(&mut self, draw: &mut Draw, w: &mut PacketWriter<'_>) {
        let sent = self.messages * FRAGMENTS;
        let offset = match draw.between(0, 9) {
            0 => draw.next() as u32,
            1 => sent + draw.log_whole(1, 1 << 30) as u32,
            2 => 0u32.wrapping_sub(draw.log_whole(1, 1 << 30) as u32),
            // To the end of a message, or into it.
            _ => sent.saturating_sub(draw.between(0, 60) as u32),
        };
        let count = if draw.chance(0.2) { draw.log_whole(1, MOST_SKIPPED) } else { 1 };
        let skipped: Vec<SkippedStream> = (0..count)
            .map(|_| {
                let stream = if draw.chance(0.8) { draw.between(0, 49) } else { draw.next() };
                let ssn = if draw.chance(0.8) { self.messages / 50 } else { draw.next() as u32 };
                SkippedStream { stream: StreamId(stream as u16), ssn: Ssn(ssn as u16) }
            })
            .collect();
        w.forward_tsn(self.first.wrapping_sub(1).wrapping_add(offset), skipped.into_iter());
    }
}
