//! DATA chunks received (RFC 9260 §6.2, §6.5, §6.7), and messages handed over.

use tresse_wire::{CauseWriter, ForwardTsn, IData, IForwardTsn, Tsn};

use super::Association;
use super::errors::End;
use super::incoming::PacketInHand;
use crate::event::{Event, MessagePart, NextMessage, ReceivedMessage, TraceEvent};
use crate::receive::{Forwarded, Taken};
use crate::time::Time;

impl Association {
    //= RFC 8260 2.2.3-3 2-1
    /// A DATA chunk, or an I-DATA chunk if it is `interleaved`.
    ///
    /// RFC 8260 §2.2.3: "If I-DATA support has been negotiated for an association, the reception of a DATA chunk is a violation
    /// [...]. The same applies if I-DATA support has not been negotiated for an association and an I-DATA chunk is received."
    #[inline]
    pub(super) fn on_user_data(
        &mut self,
        now: Time,
        incoming: &mut PacketInHand<'_>,
        data: &IData<'_>,
        interleaved: bool,
    ) {
        if interleaved == self.sender.data().capabilities().chosen.interleaving {
            self.on_data(now, incoming, data);
        } else if self.state().takes_data() {
            self.abort_with(End::violation(if interleaved {
                "an I-DATA chunk that was not agreed on"
            } else {
                "a DATA chunk where I-DATA was agreed on"
            }));
        } else {
            self.journal.stats.data_chunks_dropped += 1;
        }
    }

    fn on_data(&mut self, now: Time, incoming: &mut PacketInHand<'_>, data: &IData<'_>) {
        //= RFC 9260 6-2 6-4
        if !self.state().takes_data() {
            self.journal.stats.data_chunks_dropped += 1;
            return;
        }
        match self.receiver.on_data(now, data, incoming.bytes()) {
            Taken::Duplicate => self.journal.stats.duplicate_chunks_received += 1,
            Taken::Dropped => self.journal.stats.data_chunks_dropped += 1,
            Taken::New { readable, result } => {
                let known = data.stream.0 < self.receiver.streams();
                self.journal.stats.data_chunks_received += 1;
                self.journal.data_at = Some(now);
                if readable {
                    self.journal.event(Event::Readable);
                }
                if !known {
                    //= RFC 9260 6.5-2
                    // §6.5: acknowledged, answered with "Invalid Stream Identifier", and discarded.
                    let causes = CauseWriter::new().invalid_stream_identifier(data.stream).finish();
                    incoming.refuse(&mut self.outbox, &self.paths, causes);
                }
                self.goes_on(result.map_err(End::from));
            }
        }
    }

    /// A FORWARD TSN chunk (RFC 3758 §3.6).
    pub(super) fn on_forward_tsn(&mut self, now: Time, chunk: &ForwardTsn<'_>) {
        if self.state().takes_data() {
            let forwarded = self.receiver.on_forward_tsn(now, chunk);
            let (tsn, streams) = (chunk.new_cumulative_tsn, || chunk.skipped().count());
            self.after_forward(now, forwarded, tsn, streams);
        }
    }

    /// An I-FORWARD-TSN chunk (RFC 8260 §2.3.1).
    pub(super) fn on_i_forward_tsn(&mut self, now: Time, chunk: &IForwardTsn<'_>) {
        if self.state().takes_data() {
            let forwarded = self.receiver.on_i_forward_tsn(chunk);
            let (tsn, streams) = (chunk.new_cumulative_tsn, || chunk.skipped().count());
            self.after_forward(now, forwarded, tsn, streams);
        }
    }

    //= RFC 8260 2.3.1-8
    /// A FORWARD TSN chunk where I-DATA was agreed on, or an I-FORWARD-TSN chunk that was not.
    pub(super) fn refuse_forward(&mut self, what: &'static str) {
        if self.state().takes_data() {
            self.abort_with(End::violation(what));
        }
    }

    /// A chunk up to `tsn`, which lists so many `streams`, has come.
    fn after_forward(
        &mut self,
        now: Time,
        forwarded: Forwarded,
        tsn: Tsn,
        streams: impl FnOnce() -> usize,
    ) {
        self.journal.stats.forward_tsns_received += 1;
        self.journal.trace(now, || {
            let (dropped, advanced) = match forwarded {
                Forwarded::Advanced { dropped, .. } => (dropped, true),
                Forwarded::Stale | Forwarded::OutOfRange => (0, false),
            };
            TraceEvent::PassedOver { tsn, streams: streams(), dropped, advanced }
        });
        match forwarded {
            Forwarded::Stale => {}
            Forwarded::OutOfRange => self.journal.stats.data_chunks_dropped += 1,
            Forwarded::Advanced { readable, dropped, result } => {
                self.journal.stats.chunks_passed_over += dropped as u64;
                if readable {
                    self.journal.event(Event::Readable);
                }
                self.goes_on(result.map_err(End::from));
            }
        }
    }

    /// The Cumulative TSN Ack Point of what the peer sends; `None` before anything of it is known.
    pub(crate) fn cumulative_tsn(&self) -> Option<Tsn> {
        self.receiver.initial_tsn().map(|_| self.receiver.cumulative())
    }

    /// What [`recv`](Self::recv) gives next.
    pub(crate) fn next_message(&self) -> Option<NextMessage> {
        self.receiver.next_message()
    }

    /// The next message for the application; opens the window.
    #[inline]
    pub(crate) fn recv(&mut self, now: Time) -> Option<ReceivedMessage> {
        let message = self.receiver.read(self.paths.amdcs());
        if let Some(message) = &message {
            if message.part == MessagePart::Aborted {
                let ReceivedMessage { tsn, stream, .. } = *message;
                let event = || TraceEvent::PartialDeliveryAborted { tsn, stream };
                self.journal.trace(now, event);
            } else {
                self.journal.stats.messages_received += u64::from(message.part.ends());
            }
            self.journal.stats.user_bytes_received += message.payload.len() as u64;
            if let Some(reconfiguration) = &mut self.extras.reconfiguration {
                reconfiguration.tell_what_was_read(&self.receiver, &mut self.journal);
            }
        }
        message
    }

    /// A SACK must leave now.
    pub(crate) fn sack_is_due(&self) -> bool {
        self.receiver.is_sack_due()
    }

    /// Messages, or parts of one, from before a restart of the peer that can be read.
    pub(crate) fn unread_of_first_life(&self) -> usize {
        self.receiver.unread_of_first_life()
    }

    /// Messages that can be read.
    pub(crate) fn readable(&self) -> usize {
        self.receiver.readable()
    }
}
