//! What costs the other end most in I-DATA and I-FORWARD-TSN chunks (RFC 8260): messages on all streams that never end, MIDs
//! and FSNs far ahead, gaps between them, what comes twice, and leave to pass over anything.

use tresse_core::wire::{
    DataFlags, Fsn, IData, Mid, PacketWriter, ParameterWriter, Ppid, SkippedMessages, Ssn,
    StreamId, Tsn,
};
use tresse_sim::Draw;

/// Entries that fit a packet in an I-FORWARD-TSN chunk.
const MOST_SKIPPED: u64 = 170;

/// The extensions, as INIT offers them.
pub(super) fn offer() -> Vec<u8> {
    ParameterWriter::new().supported_extensions(&[64, 194, 192]).finish()
}

/// What an association of the attacker is bent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bent {
    /// A message on each stream, none of which ends.
    Opening,
    /// Small messages, of which the first one never comes.
    Waiting,
    /// Fragments with every second one missing.
    Gaps,
    /// Anything.
    Any,
}

/// All bytes of a message are the same, and those of others others, as far as bytes can tell.
fn mark(stream: u16, unordered: bool, mid: u32) -> u8 {
    let mixed = u32::from(stream).wrapping_mul(31) ^ mid.wrapping_mul(7) ^ u32::from(unordered);
    mixed as u8
}

/// What packet number `packet` of an association carries, from 1.
pub(super) fn chunks(draw: &mut Draw, w: &mut PacketWriter<'_>, first: Tsn, packet: u32) {
    for part in 0..3 {
        chunk(draw, w, first, 3 * (packet - 1) + part);
    }
    if draw.chance(0.05) {
        forward(draw, w, first, 3 * packet);
    }
    if draw.chance(0.001) {
        // It ends the association.
        w.data(first, StreamId(0), Ssn(0), Ppid(0), DataFlags::UNFRAGMENTED, &[0; 100]);
    }
}

/// Chunk number `n` of an association, all of whose TSNs are in sequence, but for some.
fn chunk(draw: &mut Draw, w: &mut PacketWriter<'_>, first: Tsn, n: u32) {
    let bent = [Bent::Opening, Bent::Waiting, Bent::Gaps, Bent::Any][first.0 as usize % 4];
    let mut flags = DataFlags { unordered: draw.chance(0.3), ..DataFlags::default() };
    let (stream, mid, fsn, len) = match bent {
        Bent::Opening => {
            flags.beginning = n < 60_000;
            (n as u16, 0, n / 60_000, 1)
        }
        Bent::Waiting => {
            flags = DataFlags::UNFRAGMENTED;
            (n as u16 % 100, 1 + n / 100, 0, draw.log_whole(1, 1000) as usize)
        }
        Bent::Gaps => {
            flags = DataFlags::default();
            (n as u16 % 10, 0, 1 + 2 * (n / 10), 100)
        }
        Bent::Any => {
            (flags.beginning, flags.ending) = (draw.chance(0.4), draw.chance(0.4));
            let near = draw.between(0, 5) as u32;
            let far = draw.pick(&[near, near, near, 1 << 30, 1 << 31, u32::MAX]);
            (
                draw.between(0, 20) as u16,
                (n / 40).wrapping_add(far),
                draw.pick(&[near, near, near, near, far]),
                400,
            )
        }
    };
    let late = if draw.chance(0.02) { draw.between(1, 1000) as u32 } else { 0 };
    let payload = vec![mark(stream, flags.unordered, mid); len];
    w.i_data(&IData {
        tsn: first.wrapping_add(n).wrapping_add(late),
        stream: StreamId(stream),
        mid: Mid(mid),
        ppid: Ppid(0),
        fsn: Fsn(fsn),
        flags,
        payload: &payload,
    });
}

/// A new cumulative TSN near what was sent, or anywhere, with messages that were, or were not.
fn forward(draw: &mut Draw, w: &mut PacketWriter<'_>, first: Tsn, n: u32) {
    let offset = match draw.between(0, 9) {
        0 => draw.next() as u32,
        1 => n + draw.log_whole(1, 1 << 30) as u32,
        _ => n.saturating_sub(draw.between(0, 60) as u32),
    };
    let count = if draw.chance(0.2) { draw.log_whole(1, MOST_SKIPPED) } else { 1 };
    let skipped: Vec<SkippedMessages> = (0..count)
        .map(|_| {
            let (near, any) = (draw.between(0, 50) as u32, draw.next() as u32);
            SkippedMessages {
                stream: StreamId(if draw.chance(0.8) { near as u16 } else { draw.next() as u16 }),
                unordered: draw.chance(0.5),
                mid: Mid(draw.pick(&[near, near, near, 1 << 31, u32::MAX, any])),
            }
        })
        .collect();
    w.i_forward_tsn(first.wrapping_sub(1).wrapping_add(offset), skipped.into_iter());
}
