//! Packets that arrived with the mark of congestion (ECN): ECNE chunks tell the peer until it says CWR
//! (RFC 4960 Appendix A; draft-stewart-tsvwg-sctpecn).

use smallvec::SmallVec;
use tresse_wire::{Cwr, ECNE_CHUNK_LEN, Ecne, PacketWriter, Tsn};

use crate::ids::PathId;

/// What the peer has to be told of one path.
#[derive(Clone, Copy, Debug)]
struct Owed {
    path: PathId,
    /// The lowest TSN of the marked packet with the highest ones.
    tsn: Tsn,
    /// Marked packets since CWR.
    packets: u32,
}

/// Marks, by the path that they came over.
#[derive(Debug, Default)]
pub(super) struct ReceivedMarks {
    /// The packet being taken is marked.
    marked: bool,
    /// Its lowest TSN.
    lowest: Option<Tsn>,
    owed: SmallVec<[Owed; 1]>,
}

fn is_after(a: Tsn, b: Tsn) -> bool {
    a.distance(b) > 0
}

impl ReceivedMarks {
    /// A packet begins, which is `marked` or not.
    #[inline]
    pub(super) fn begin_packet(&mut self, marked: bool) {
        self.marked = marked;
        self.lowest = None;
    }

    /// The packet has a chunk with this TSN, which is new.
    #[inline]
    pub(super) fn on_chunk(&mut self, tsn: Tsn) {
        if self.marked && self.lowest.is_none_or(|lowest| is_after(lowest, tsn)) {
            self.lowest = Some(tsn);
        }
    }

    //= RFC 3168 6.1.1-5
    /// The packet came over `path`.
    #[inline]
    pub(super) fn end_packet(&mut self, path: PathId) {
        let Some(tsn) = self.lowest.take() else { return };
        match self.owed.iter_mut().find(|owed| owed.path == path) {
            Some(owed) => {
                owed.packets = owed.packets.saturating_add(1);
                if is_after(tsn, owed.tsn) {
                    owed.tsn = tsn;
                }
            }
            None => self.owed.push(Owed { path, tsn, packets: 1 }),
        }
    }

    /// A CWR chunk came over `path`: what it answers is not told again.
    pub(super) fn on_cwr(&mut self, path: PathId, cwr: &Cwr) {
        self.owed.retain(|owed| {
            let is_meant = cwr.any_path || owed.path == path || owed.tsn == cwr.lowest_tsn;
            !is_meant || is_after(owed.tsn, cwr.lowest_tsn)
        });
    }

    /// Nothing is told of a path that is gone.
    pub(super) fn forget(&mut self, path: PathId) {
        self.owed.retain(|owed| owed.path != path);
    }

    /// ECNE chunks that are due.
    pub(super) fn count(&self) -> usize {
        self.owed.len()
    }

    /// Their bytes.
    pub(super) fn len(&self) -> usize {
        self.owed.len() * ECNE_CHUNK_LEN
    }

    /// Writes them.
    pub(super) fn write(&self, writer: &mut PacketWriter<'_>) {
        for owed in &self.owed {
            writer.ecne(Ecne { lowest_tsn: owed.tsn, packets: Some(owed.packets) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PathId = PathId(0);
    const B: PathId = PathId(1);

    fn packet(marks: &mut ReceivedMarks, path: PathId, marked: bool, tsns: &[u32]) {
        marks.begin_packet(marked);
        tsns.iter().for_each(|tsn| marks.on_chunk(Tsn(*tsn)));
        marks.end_packet(path);
    }

    fn owed(marks: &ReceivedMarks) -> Vec<(u8, u32, u32)> {
        marks.owed.iter().map(|owed| (owed.path.0, owed.tsn.0, owed.packets)).collect()
    }

    #[test]
    fn the_lowest_tsn_of_the_latest_marked_packet_and_their_number() {
        let mut marks = ReceivedMarks::default();
        packet(&mut marks, A, false, &[1]);
        packet(&mut marks, A, true, &[]);
        assert_eq!(owed(&marks), []);
        packet(&mut marks, A, true, &[u32::MAX, u32::MAX - 1, 0]);
        assert_eq!(owed(&marks), [(0, u32::MAX - 1, 1)]);
        packet(&mut marks, A, true, &[2, 3]);
        packet(&mut marks, A, true, &[1]);
        packet(&mut marks, B, true, &[5]);
        packet(&mut marks, A, false, &[6]);
        assert_eq!(owed(&marks), [(0, 2, 3), (1, 5, 1)]);
        assert_eq!(marks.len(), 24);
    }
}
