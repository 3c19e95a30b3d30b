//! What the peer got damaged is sent again at once (draft-stewart-sctp-pktdrprep).
//!
//! That is no congestion: no window is cut. A report proves that its packet has arrived as far as the beginning of each chunk
//! is quoted as it was sent; each transmission of a chunk can be reported once.

use tresse_wire::{
    COMMON_HEADER_LEN, CommonHeader, PacketWriter, QuotedChunk, Tsn, VerificationTag,
};

use super::super::context::Context;
use super::write::write_chunk;
use super::{DamagedSack, Sender};
use crate::ids::LossCause;
use crate::path::Path;
use crate::scoreboard::{Outstanding, Scoreboard};
use crate::time::Time;

/// Bytes of user data that have to be quoted as they were sent, or all if there are less: as many as FreeBSD compares.
const COMPARED: usize = 31;
/// A chunk is not sent again for reports once it was sent this often: what destroys it each time is not repaired by haste.
const MOST_TRANSMISSIONS: u32 = 8;

impl Sender {
    /// The peer quotes a DATA or I-DATA chunk of a damaged packet. Returns whether it is sent again.
    pub(crate) fn on_reported(&mut self, cx: &mut Context<'_>, quoted: &QuotedChunk<'_>) -> bool {
        let Some(tsn) = quoted.value.first_chunk() else { return false };
        let board = self.data.board();
        let seq = board.unwrap(Tsn(u32::from_be_bytes(*tsn)));
        let Some(chunk) = board.get(seq).filter(|_| board.is_in_flight(seq)) else { return false };
        let takes = self.data.peer_room().takes_repeated(chunk);
        let taken = takes && is_latest(cx, chunk) && is_as_sent(board, seq, quoted);
        if !taken || self.lose(cx, seq, LossCause::PacketDropReport) == 0 {
            return false;
        }
        cx.paths.begin_opportunity(cx.profile());
        true
    }

    /// A SACK came damaged, and the peer is asked for it again over `path`: what comes after half a round trip may be that one.
    pub(crate) fn on_damaged_sack(&mut self, now: Time, path: &Path) {
        if let Some(least) = path.rtt.least() {
            self.damaged_sack = Some(DamagedSack { asked: now, from: now + least / 2 });
        }
    }
}

/// A report may be about its latest transmission, and not about one before.
fn is_latest(cx: &Context<'_>, chunk: &Outstanding) -> bool {
    let age = cx.now.since(chunk.last_sent);
    let answered = match cx.paths[chunk.path].rtt.least() {
        Some(least) => age >= least,
        None => chunk.transmissions == 1,
    };
    answered && chunk.transmissions < MOST_TRANSMISSIONS
}

/// What is quoted begins as the chunk did; its flags may differ from one transmission to the next.
fn is_as_sent(board: &Scoreboard, seq: u64, quoted: &QuotedChunk<'_>) -> bool {
    let Some(sent) = board.get(seq).map(|chunk| &chunk.chunk) else { return false };
    let mut bytes = Vec::new();
    let (source_port, destination_port, verification_tag) = (0, 0, VerificationTag(0));
    let header = CommonHeader { source_port, destination_port, verification_tag };
    let mut writer = PacketWriter::new(&mut bytes, header);
    let interleaved = board.is_interleaved();
    write_chunk(&mut writer, interleaved, Scoreboard::tsn(seq), sent, sent.flags);
    writer.finish_without_checksum();
    let Some((head, value)) = bytes[COMMON_HEADER_LEN..].split_first_chunk::<4>() else {
        return false;
    };
    let [kind, _, l0, l1] = *head;
    let compared = value.len().min(fixed_len(interleaved) + sent.payload.len().min(COMPARED));
    quoted.chunk_type.0 == kind
        && quoted.length.to_be_bytes() == [l0, l1]
        && quoted.value.get(..compared) == value.get(..compared)
}

/// Bytes between the Chunk Length and the user data.
const fn fixed_len(interleaved: bool) -> usize {
    let header =
        if interleaved { tresse_wire::I_DATA_HEADER_LEN } else { tresse_wire::DATA_HEADER_LEN };
    header - tresse_wire::CHUNK_HEADER_LEN
}
