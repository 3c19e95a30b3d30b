//! DATA and I-DATA chunks that arrive (RFC 9260 §6.2): which are taken, and which dropped.

use bytes::Bytes;
use tresse_wire::IData;

use super::Receiver;
use crate::ack::received::Arrival;
use crate::profile::NrSackMode;
use crate::streams::chunk::{InChunk, InboundError};
use crate::time::Time;

/// What is held never exceeds this many times the receive buffer, whatever the peer was promised, but for messages that lack something
/// ([`Inbound::occupied`](crate::streams::inbound::Inbound::occupied)): a flood of one-byte messages costs more memory than window.
const HARD_LIMIT: usize = 4;

/// What became of a DATA chunk.
#[derive(Debug)]
pub(crate) enum Taken {
    New {
        /// A message can be read, after all were.
        readable: bool,
        /// Whether it can be part of a message.
        result: Result<(), InboundError>,
    },
    Duplicate,
    /// There is no room for it, or it is out of all range.
    Dropped,
}

impl Receiver {
    /// A DATA or I-DATA chunk of the packet `bytes`.
    pub(crate) fn on_data(&mut self, now: Time, data: &IData<'_>, bytes: &Bytes) -> Taken {
        self.packet.on_chunk(data.flags);
        let arrival = self.received.classify(data.tsn);
        //= RFC 3168 6.1.5-1 6.1.5-2 6.1.6-2
        // RFC 3168 §6.1.5: what is "outside of the receiver's current window", or repeated, is not ECT if it comes from the peer;
        // §6.1.6: a window probe, which may be dropped, counts.
        if matches!(arrival, Arrival::New { .. }) {
            self.marks.on_chunk(data.tsn);
        }
        let seq = match arrival {
            Arrival::New { seq } => seq,
            Arrival::Duplicate => {
                //= RFC 9260 6.2-20 6.2-21
                // §6.2: duplicates SHOULD be reported.
                self.received.note_duplicate(data.tsn);
                self.packet.on_duplicate();
                return Taken::Duplicate;
            }
            Arrival::OutOfRange => {
                self.packet.on_dropped(None);
                return Taken::Dropped;
            }
        };
        if !self.make_room(seq, data.payload.len()) {
            self.packet.on_dropped(Some(seq));
            return Taken::Dropped;
        }
        self.packet.on_new(seq);
        let was_idle = self.inbound.ready() == 0;
        self.received.record(seq);
        self.buffer.on_received(data.payload.len());
        let chunk = InChunk {
            seq,
            tsn: data.tsn,
            stream: data.stream,
            mid: data.mid,
            fsn: data.fsn,
            ppid: data.ppid,
            flags: data.flags,
            payload: bytes.slice_ref(data.payload),
        };
        self.inbound.advance_to(self.received.cumulative_seq());
        let result = self.inbound.receive(now, chunk);
        Taken::New { readable: was_idle && self.inbound.ready() > 0, result }
    }

    //= RFC 9260 6.2-2 6.2-4 6.2-5 6.2-25
    /// Whether the chunk `seq` of `len` user bytes is accepted.
    ///
    /// What was promised by an advertised window is accepted; beyond it, only what fits now.
    /// RFC 9260 §6.2: with a closed window, a TSN above the largest received MUST be dropped; for
    /// a lower one, the largest TSN held for reordering SHOULD be dropped instead.
    fn make_room(&mut self, seq: u64, len: usize) -> bool {
        let promised = self.buffer.has_promised(len);
        // The application has read everything, and the next thing it gets begins with this chunk:
        // if it does not fit now it never will, for example a fragment larger than half the buffer
        // of a message larger than the buffer (§6.9).
        let starved = self.is_read() && seq == self.received.cumulative_seq() + 1;
        let hard_limit = HARD_LIMIT * self.buffer.size();
        // Memory is all but used up: who holds much may add what is in sequence, and no more.
        if seq > self.received.cumulative_seq() + 1 && self.is_over_share() {
            return false;
        }
        let mut occupied = self.occupied();
        loop {
            if occupied < hard_limit && (promised || self.fits(len, starved)) {
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

    /// Whether there is room now for this many bytes, or for a part of them where the application is `starved`.
    fn fits(&mut self, len: usize, starved: bool) -> bool {
        let window = self.advertised() as usize;
        window >= len || (starved && window > 0)
    }
}
