//! Where the next SACK goes, and what it says of the packets that it answers, beside their TSNs (RFC 9260 §6.4, §6.7).

use std::net::IpAddr;

use tresse_wire::SackFlags;

use crate::ack::AnsweredPackets;
use crate::config::AssociationConfig;
use crate::ids::PathId;

/// Where a packet came from, and where its answer goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Where it came from.
    pub(crate) arrival: PathId,
    /// Where SACKs for it go.
    pub(crate) path: PathId,
    /// The source of its answer, if not that of the path.
    pub(crate) source: Option<IpAddr>,
}

/// What the packets with DATA since the last SACK mean for it.
#[derive(Debug)]
pub(super) struct NextSack {
    /// Where the last of them came from: it goes there.
    path: PathId,
    /// Where that arrived: this way it goes back, whatever our own data's way is.
    source: Option<IpAddr>,
    /// DATA with the R bit was among them (Ladha et al., Figure 6, rule b).
    retransmission: bool,
    /// How many they are, if it is to say so.
    answered: Option<AnsweredPackets>,
}

impl NextSack {
    pub(super) fn new(config: &AssociationConfig) -> NextSack {
        let answered = AnsweredPackets::new(&config.profile.multipath);
        NextSack {
            path: PathId(0),
            source: None,
            retransmission: false,
            answered: answered.filter(|_| config.concurrent_transfer),
        }
    }

    #[inline]
    pub(super) const fn path(&self) -> PathId {
        self.path
    }

    /// The source of its packet, if it has that to itself and leaves from another address than the path does.
    pub(super) const fn source(&self) -> Option<IpAddr> {
        self.source
    }

    //= RFC 9260 6.4-3 6.7-2
    /// One more packet, DATA of which had the R bit or not. Returns whether a gap alone is a reason to acknowledge it at once.
    pub(super) fn on_packet(&mut self, way: Way, retransmission: bool) -> bool {
        (self.path, self.source) = (way.path, way.source);
        self.retransmission |= retransmission;
        self.answered.as_mut().is_none_or(|answered| {
            answered.on_packet(way.arrival);
            !answered.ignores_gaps()
        })
    }

    /// A path is gone: what would go there goes to another one.
    pub(super) fn leave_path(&mut self, gone: PathId, path: PathId) {
        if self.path == gone {
            (self.path, self.source) = (path, None);
        }
    }

    /// It leaves: what it says, if the R bit was agreed on.
    pub(super) fn take_flags(&mut self, retransmit_bit: bool) -> SackFlags {
        SackFlags {
            retransmission: std::mem::take(&mut self.retransmission) && retransmit_bit,
            packets: self.answered.as_mut().map_or(0, AnsweredPackets::take),
        }
    }
}
