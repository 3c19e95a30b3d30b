//! DATA chunks received (RFC 9260 §6.2, §6.5, §6.7), and messages handed over.

use tresse_wire::{CauseWriter, Data, Tsn};

use super::input::Incoming;
use super::{Association, Control, State};
use crate::ack::received::Arrival;
use crate::event::{CloseReason, Event, ReceivedMessage};
use crate::profile::NrSackMode;
use crate::streams::charge;
use crate::streams::chunk::{InChunk, InboundError};
use crate::time::Time;

/// Memory never exceeds so many times the receive buffer, whatever the peer was promised: a
/// flood of one-byte messages costs more memory than window.
const HARD_LIMIT: usize = 4;

impl Association {
    pub(super) fn on_data(&mut self, now: Time, incoming: &mut Incoming<'_>, data: &Data<'_>) {
        //= RFC 9260 6-2 6-4
        // DATA is taken until our SHUTDOWN is answered; the sender of SHUTDOWN has none left.
        let open =
            matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownSent);
        let Some(receiver) = self.receiver.as_mut().filter(|_| open) else {
            self.journal.stats.data_chunks_dropped += 1;
            return;
        };
        incoming.has_data = true;
        incoming.ends_in_duplicate = false;
        //= RFC 9260 6.2-19
        incoming.facts.immediate |= data.flags.immediate;
        incoming.retransmission |= data.flags.retransmission;
        let seq = match receiver.received.classify(data.tsn) {
            Arrival::New { seq } => {
                incoming.note_tsn(seq);
                seq
            }
            Arrival::Duplicate => {
                incoming.note_tsn(0);
                //= RFC 9260 6.2-20 6.2-21
                // §6.2: duplicates SHOULD be reported.
                self.journal.stats.duplicate_chunks_received += 1;
                receiver.received.note_duplicate(data.tsn);
                incoming.facts.duplicates = true;
                incoming.ends_in_duplicate = true;
                return;
            }
            Arrival::OutOfRange => {
                self.journal.stats.data_chunks_dropped += 1;
                incoming.facts.dropped = true;
                return;
            }
        };
        if !receiver.make_room(seq, data.payload.len()) {
            // §6.2: a dropped chunk MUST be answered with a SACK at once, without it.
            self.journal.stats.data_chunks_dropped += 1;
            incoming.facts.dropped = true;
            return;
        }
        let was_idle = receiver.inbound.ready() == 0;
        receiver.received.record(seq);
        receiver.received_bytes += data.payload.len() as u64;
        receiver.window.on_received(data.payload.len());
        incoming.facts.new_data = true;
        self.journal.stats.data_chunks_received += 1;
        let result = receiver.inbound.receive(
            now,
            InChunk {
                seq,
                tsn: data.tsn,
                stream: data.stream,
                ssn: data.ssn,
                ppid: data.ppid,
                flags: data.flags,
                payload: incoming.bytes.slice_ref(data.payload),
            },
        );
        if was_idle && receiver.inbound.ready() > 0 {
            self.journal.event(Event::Readable);
        }
        if data.stream.0 >= receiver.streams {
            //= RFC 9260 6.5-2
            // §6.5: acknowledged, answered with "Invalid Stream Identifier", and discarded.
            let causes = CauseWriter::new().invalid_stream_identifier(data.stream).finish();
            self.reply(incoming, incoming.path, Control::Error(causes));
        }
        match result {
            Ok(()) => {}
            Err(InboundError::MessageTooLarge) => {
                let causes = CauseWriter::new().out_of_resource().finish();
                let what = "message longer than max_message_size";
                self.abort_with(causes, CloseReason::ProtocolViolation(what));
            }
            Err(InboundError::Inconsistent(what)) => self.abort_violation(what),
        }
    }

    /// The Cumulative TSN Ack Point of what the peer sends; `None` before anything of it is known.
    pub(crate) fn cumulative_tsn(&self) -> Option<Tsn> {
        Some(self.receiver.as_ref()?.received.cumulative())
    }

    /// The next message for the application; opens the window.
    pub(crate) fn recv(&mut self) -> Option<ReceivedMessage> {
        let receiver = self.receiver.as_mut();
        let message = if let Some(message) = self.retained.pop_front() {
            if let Some(receiver) = receiver {
                receiver.past -= charge(message.message.payload.len());
            }
            message
        } else {
            receiver?.inbound.pop()?
        };
        if let Some(receiver) = &mut self.receiver {
            //= RFC 9260 6.2-11 6.2-22
            // §6.2: additional SACKs SHOULD be sent when the window opens up.
            let pmdcs = self.paths.amdcs();
            receiver.bound_window();
            if receiver.window.update_due(receiver.occupied(), pmdcs) {
                receiver.delayed.request();
            }
        }
        self.journal.stats.messages_received += 1;
        self.journal.stats.user_bytes_received += message.message.payload.len() as u64;
        Some(message)
    }

    /// A SACK must leave now.
    pub(crate) fn sack_is_due(&self) -> bool {
        self.receiver.as_ref().is_some_and(|r| r.delayed.due())
    }

    /// Messages that can be read.
    pub(crate) fn readable(&self) -> usize {
        self.retained.len() + self.receiver.as_ref().map_or(0, |r| r.inbound.ready())
    }
}

impl super::receiver::Receiver {
    //= RFC 9260 6.2-2 6.2-4 6.2-5 6.2-25
    /// Whether the chunk `seq` of `len` user bytes is accepted.
    ///
    /// What was promised by an advertised window is accepted; beyond it, only what fits now.
    /// RFC 9260 §6.2: with a closed window, a TSN above the largest received MUST be dropped; for
    /// a lower one, the largest TSN held for reordering SHOULD be dropped instead.
    fn make_room(&mut self, seq: u64, len: usize) -> bool {
        let promised = self.received_bytes + len as u64 <= self.promised_bytes;
        // The application has read everything, and the next thing it gets begins with this chunk:
        // if it does not fit now it never will, for example a fragment larger than half the buffer
        // of a message larger than the buffer (§6.9).
        let starved = self.is_read() && seq == self.received.cumulative_seq() + 1;
        let hard_limit = HARD_LIMIT * self.buffer;
        // Memory is all but used up: who holds much may add what is in sequence, and no more.
        if seq > self.received.cumulative_seq() + 1 && self.is_over_share() {
            return false;
        }
        let mut occupied = self.occupied();
        loop {
            let window = self.advertised() as usize;
            let fits = window >= len || (starved && window > 0);
            if (promised || fits) && occupied < hard_limit {
                return true;
            }
            // Only a chunk that fills a gap is worth dropping others for.
            if seq > self.received.highest_seq() {
                return false;
            }
            if self.nr_sack == NrSackMode::All {
                // Nothing may be dropped, so what everything waits for comes in nevertheless. It
                // stays bounded: promises end with the buffer, fillers with the highest TSN held.
                let first = seq == self.received.cumulative_seq() + 1;
                return first && (promised || (starved && occupied < hard_limit));
            }
            //= RFC 9260 6.2-3 6.2-26 6.2-27 6.2-28 6.2-29 6.2-30
            let Some(dropped) = self.inbound.discard_highest(seq) else { return false };
            self.received.forget(dropped);
            occupied = self.occupied();
        }
    }
}
