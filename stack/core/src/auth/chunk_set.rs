//! Types of chunks that are to be authenticated.

use tresse_wire::ChunkType;

//= RFC 4895 3.2-5 3.2-6
/// RFC 4895 §3.2: these "MUST NOT be listed", and where they are "MUST be ignored".
pub(super) const NEVER: [ChunkType; 4] =
    [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE, ChunkType::AUTH];

/// A set of chunk types, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChunkSet([u64; 4]);

impl ChunkSet {
    /// Those of a Chunk List parameter that can be authenticated.
    pub(super) fn of(types: &[u8]) -> ChunkSet {
        let mut set = ChunkSet::default();
        for number in types.iter().filter(|number| !NEVER.contains(&ChunkType(**number))) {
            set.0[usize::from(number / 64)] |= 1 << (number % 64);
        }
        set
    }

    #[inline]
    pub(super) const fn contains(&self, kind: ChunkType) -> bool {
        self.0[(kind.0 / 64) as usize] >> (kind.0 % 64) & 1 != 0
    }

    /// The types, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = ChunkType> {
        (0..=u8::MAX).map(ChunkType).filter(|kind| self.contains(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 4895 3.2-6
    #[test]
    fn what_cannot_be_authenticated_is_ignored() {
        let set = ChunkSet::of(&[0, 1, 2, 14, 15, 63, 64, 193, 255, 0]);
        let listed: Vec<u8> = set.iter().map(|kind| kind.0).collect();
        assert_eq!(listed, [0, 63, 64, 193, 255]);
        assert!(set.contains(ChunkType::ASCONF) && !set.contains(ChunkType::INIT));
        assert_eq!(ChunkSet::of(&[]).iter().count(), 0);
    }
}
