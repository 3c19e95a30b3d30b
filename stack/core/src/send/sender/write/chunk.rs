//! Writes one chunk (RFC 9260 §3.3.1, RFC 8260 §2.1).

use tresse_wire::{DataFlags, IData, PacketWriter, Ssn, Tsn};

use super::packet::DataPacket;
use crate::event::TraceEvent;
use crate::ids::LossCause;
use crate::recovery::Sent;
use crate::scoreboard::{NewChunk, Scoreboard};
use crate::send::context::Context;
use crate::send::sender::Sender;

impl Sender {
    /// Writes a chunk once more; the caller records what that means for the scoreboard.
    pub(super) fn write_again(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut DataPacket<'_>,
        seq: u64,
        cause: Option<LossCause>,
    ) {
        let DataPacket { path, writer, carried } = packet;
        let (now, path) = (cx.now, *path);
        if carried.is_empty() {
            self.data.board_mut().begin_packet();
        }
        let Some(chunk) = self.data.board().get(seq) else { return };
        let data = &chunk.chunk;
        let flags = DataFlags {
            // Ladha et al., Figure 6, rule a.
            retransmission: self.data.capabilities().retransmit_bit,
            // What is repaired or probed waits for its SACK.
            immediate: cause.is_some_and(|c| self.recovery.asks_again(cx.profile(), c)),
            ..data.flags
        };
        let tsn = Scoreboard::tsn(seq);
        write_chunk(writer, self.data.board().is_interleaved(), tsn, data, flags);
        carried.key = data.key;
        carried.bytes += chunk.size();
        carried.highest = carried.highest.max(seq);
        carried.cause = carried.cause.or(cause);
        if let Some(cause) = cause {
            cx.journal.stats.retransmitted_chunks[cause.index()] += 1;
            cx.paths[path].counters.retransmitted_chunks += 1;
        }
        let (bytes, transmission) = (data.payload.len(), chunk.transmissions + 1);
        let size = chunk.size();
        cx.journal.trace(now, || TraceEvent::Sent {
            tsn: Scoreboard::tsn(seq),
            path,
            bytes,
            transmission,
            cause,
        });
        let end = self.data.board().next_seq();
        let (calm, asks) = (self.is_calm(cx, path), false);
        let sent = Sent { now, path, seq, again: cause, bytes: size, end, calm, asks };
        self.recovery.on_sent(&sent);
    }
}

//= RFC 8260 2.2.1-1 2.2.1-2 2.2.1-3 2.2.1-4
/// Writes a chunk as what was agreed on: I-DATA or DATA.
#[inline]
pub(in crate::send::sender) fn write_chunk(
    writer: &mut PacketWriter<'_>,
    interleaved: bool,
    tsn: Tsn,
    chunk: &NewChunk,
    flags: DataFlags,
) {
    let NewChunk { stream, mid, fsn, ppid, payload, .. } = chunk;
    let (stream, mid, fsn, ppid) = (*stream, *mid, *fsn, *ppid);
    if interleaved {
        writer.i_data(&IData { tsn, stream, mid, ppid, fsn, flags, payload });
    } else {
        let ssn = Ssn(mid.0 as u16); // They are the same but for the bits that it lacks.
        writer.data(tsn, stream, ssn, ppid, flags, payload);
    }
}
