//! A packet with DATA: what it is planned for, and what it carries.

use tresse_wire::PacketWriter;

use crate::ids::{LossCause, PathId};
use crate::send::distribution::Copies;

/// The packet with DATA that leaves next.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(super) path: PathId,
    pub(super) what: What,
}

/// What it is for.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Lost chunks, from this one on.
    Lost(u64),
    New,
    /// This chunk, which is in flight, before T3-rtx expires.
    Repeat(u64, LossCause),
    /// Copies of these chunks, which another path carries.
    Copies(Copies),
}

impl Plan {
    pub(crate) const fn path(&self) -> PathId {
        self.path
    }

    /// It is for lost chunks.
    pub(crate) const fn is_retransmission(&self) -> bool {
        matches!(self.what, What::Lost(_))
    }

    /// It is for chunks in flight.
    pub(crate) const fn is_copy(&self) -> bool {
        matches!(self.what, What::Repeat(..) | What::Copies(_))
    }
}

/// What a packet carried, for timers and counters.
#[derive(Default)]
pub(super) struct Carried {
    pub(super) new: u32,
    pub(super) retransmitted: u32,
    /// Chunks in flight, sent once more.
    pub(super) copies: u32,
    pub(super) cause: Option<LossCause>,
    pub(super) restart_t3: bool,
    /// A new chunk asks for a SACK at once.
    pub(super) asks_for_sack: bool,
    /// Bytes of DATA chunks.
    pub(super) bytes: usize,
    /// The highest sequence number.
    pub(super) highest: u64,
    /// The shared key of all its chunks, if they name one.
    pub(super) key: Option<u16>,
    /// It is not to be marked: it probes a window, or begins with chunks that set an association up.
    pub(super) unmarked: bool,
}

impl Carried {
    pub(super) fn is_empty(&self) -> bool {
        self.new + self.retransmitted + self.copies == 0
    }

    //= RFC 6458 5.3.8-1 8.1.18-3
    /// Whether a chunk with this key may be among them: a packet has one AUTH chunk (RFC 4895 §5.1).
    pub(super) fn takes(&self, key: Option<u16>) -> bool {
        self.key == key || self.is_empty()
    }
}

/// A packet with DATA that is being written.
pub(crate) struct DataPacket<'b> {
    pub(super) path: PathId,
    pub(super) writer: PacketWriter<'b>,
    pub(super) carried: Carried,
}

impl<'b> DataPacket<'b> {
    pub(crate) fn new(path: PathId, writer: PacketWriter<'b>) -> DataPacket<'b> {
        DataPacket { path, writer, carried: Carried::default() }
    }

    pub(crate) const fn path(&self) -> PathId {
        self.path
    }

    pub(crate) fn writer(&mut self) -> &mut PacketWriter<'b> {
        &mut self.writer
    }

    /// It is not ECT, whatever it carries.
    pub(crate) fn leave_unmarked(&mut self) {
        self.carried.unmarked = true;
    }

    /// No chunk was written yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.carried.is_empty()
    }
}
