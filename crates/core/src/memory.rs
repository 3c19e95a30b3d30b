//! What the endpoint's memory leaves for each association.

/// How short memory is, as far as an association must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// What it may hold of the peer's data; its window is no wider.
    pub(crate) share: usize,
    /// Chunks beyond a missing one are not taken from those who hold more than that.
    pub(crate) scarce: bool,
}

impl Budget {
    /// There is plenty.
    pub(crate) const AMPLE: Budget = Budget { share: usize::MAX, scarce: false };

    /// What INIT ACK tells of a receive buffer of so many bytes.
    pub(crate) fn window(self, buffer: u32) -> u32 {
        buffer.min(u32::try_from(self.share).unwrap_or(u32::MAX))
    }
}
