//! How hosts and links are named.

/// A host of a [`Simulation`](crate::Simulation), numbered from 0 in the order of adding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub(crate) u32);

impl HostId {
    /// The number of the host.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link (one direction) of a [`Simulation`](crate::Simulation), numbered from 0 in the order of adding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    /// The number of the link.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
