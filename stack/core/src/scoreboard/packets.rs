//! The packets that carried outstanding chunks last, and how many of them there are.

use std::collections::VecDeque;

/// What is known of one packet whose chunks are not all cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentPacket {
    /// Chunks in flight.
    pub(super) in_flight: u32,
    /// Chunks acknowledged by gap blocks.
    pub(super) gap_acked: u32,
    /// Chunks for which this is the last transmission, not cumulatively acknowledged.
    pub(super) open: u32,
    /// Bytes of all its chunks.
    pub(super) bytes: u32,
}

/// Packets, numbered as they leave.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    list: VecDeque<SentPacket>,
    /// The number of the first of them.
    base: u64,
    in_flight: usize,
    open: usize,
    gap_acked: usize,
}

impl SentPackets {
    /// With at least one chunk in flight.
    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// With at least one chunk that is not cumulatively acknowledged.
    pub(super) const fn open(&self) -> usize {
        self.open
    }

    /// Whose open chunks are all acknowledged by gap blocks.
    pub(super) const fn gap_acked(&self) -> usize {
        self.gap_acked
    }

    /// The number of the first one that is remembered.
    pub(super) const fn first(&self) -> u64 {
        self.base
    }

    /// The number of the one begun last.
    #[inline]
    pub(super) fn latest(&self) -> u64 {
        (self.base + self.list.len() as u64).saturating_sub(1)
    }

    pub(super) fn begin(&mut self) {
        self.list.push_back(SentPacket::default());
    }

    /// A chunk that leaves for the first time joins the one begun last, whose number comes back.
    #[inline]
    pub(super) fn add_chunk(&mut self, size: usize) -> u64 {
        let number = self.latest();
        let packet = &mut self.list[(number - self.base) as usize];
        self.in_flight += usize::from(packet.in_flight == 0);
        self.open += usize::from(packet.open == 0);
        self.gap_acked -= usize::from(packet.open > 0 && packet.gap_acked == packet.open);
        packet.in_flight += 1;
        packet.open += 1;
        packet.bytes += size as u32; // No packet is longer than 65 535 bytes.
        number
    }

    /// Bytes of the chunks of one of them; 0 if it is not remembered.
    pub(super) fn bytes(&self, number: u64) -> usize {
        let i = number.checked_sub(self.base).and_then(|i| usize::try_from(i).ok());
        i.and_then(|i| self.list.get(i)).map_or(0, |packet| packet.bytes as usize)
    }

    /// Changes what is known of one of them.
    #[inline]
    pub(super) fn change(&mut self, number: u64, change: impl FnOnce(&mut SentPacket)) {
        let i = (number - self.base) as usize;
        let packet = &mut self.list[i];
        let counts = |p: &SentPacket| {
            let open = p.open > 0;
            [p.in_flight > 0, open, open && p.gap_acked == p.open].map(usize::from)
        };
        let before = counts(packet);
        change(packet);
        let after = counts(packet);
        self.in_flight = self.in_flight + after[0] - before[0];
        self.open = self.open + after[1] - before[1];
        self.gap_acked = self.gap_acked + after[2] - before[2];
    }

    #[inline]
    pub(super) fn forget_old(&mut self) {
        // The newest packet stays: chunks may still be added to it.
        while self.list.len() > 1 && self.list[0].open == 0 {
            self.list.pop_front();
            self.base += 1;
        }
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        self.list.capacity() * size_of::<SentPacket>()
    }

    /// Gives back what the list keeps for later.
    pub(super) fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }
}
