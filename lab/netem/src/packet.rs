//! What a link knows of a packet.

use std::ops::BitOr;

use crate::config::EcnField;
use crate::corruption::Corruption;
use crate::pattern::Numbers;
use crate::stats::DropCause;
use crate::time::Nanos;

/// What a packet carries, as far as loss patterns tell packets apart: a set of bits that the
/// caller computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Class(u8);

impl Class {
    /// None of the below.
    pub const NONE: Class = Class(0);
    /// Carries user data (in SCTP: a DATA or I-DATA chunk). Counted by `drop_data`.
    pub const DATA: Class = Class(1);
    /// Carries an acknowledgment (in SCTP: a SACK or NR-SACK chunk). Counted by `drop_acks`.
    pub const ACK: Class = Class(2);
    /// May be marked instead of dropped (ECN: its field says ECT or CE, RFC 3168 §5).
    pub const ECT: Class = Class(4);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Class) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Class {
    type Output = Class;
    fn bitor(self, other: Class) -> Class {
        Class(self.0 | other.0)
    }
}

/// A packet inside the link.
#[derive(Clone, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) packet: T,
    pub(crate) numbers: Numbers,
    /// Size as offered.
    pub(crate) size: u32,
    /// Size that counts against queue and bandwidth, link overhead included.
    pub(crate) bytes: u64,
    /// The second of two copies that duplication made.
    pub(crate) copy: bool,
    /// It may be marked, and whether it is.
    pub(crate) ect: bool,
    pub(crate) marked: bool,
    pub(crate) offered_at: Nanos,
}

/// What became of a packet at the entry of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the link. It may still be lost on the way.
    Accepted,
    /// It is lost.
    Dropped(DropCause),
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When it arrived; not later than the time given to [`Link::poll`](crate::Link::poll).
    pub at: Nanos,
    /// The packet as offered.
    pub packet: T,
    /// Its number among the packets offered, from 1.
    pub number: u64,
    /// When it was offered.
    pub offered_at: Nanos,
    /// The second of two copies.
    pub copy: bool,
    /// Bits to flip in it, if it was corrupted.
    pub corruption: Option<Corruption>,
    /// What has become of its ECN field.
    pub ecn: EcnField,
}
