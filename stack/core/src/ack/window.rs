//! The window advertised to the peer (RFC 9260 §6.2), without silly window syndrome.

/// Less room than this (or than a quarter of a small buffer) is not offered again: about one
/// full-sized packet.
const MIN_OPENING: u32 = 1500;

/// The receive window of an association.
///
/// RFC 9260 §6.2 asks for receiver SWS avoidance as in RFC 1122 §4.2.3.3, whose idea is not to
/// advance the right window edge in small steps. Here:
/// - room for a full-sized packet or more is always told as it is;
/// - less is told as it is while the window closes: the peer may have sent what fits, and
///   telling 0 would shrink the window by more than was received (RFC 1122 §4.2.2.16);
/// - less is never offered again: a window that has closed stays as it is until there is room for
///   a full-sized packet.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    size: u32,
    /// What is left of the a_rwnd last told to the peer: its right edge.
    told: u32,
    /// No wider than this, for want of memory.
    most: u32,
}

impl ReceiveWindow {
    /// A buffer of `size` bytes, announced as such in INIT or INIT ACK (RFC 9260 §6.2 A).
    pub(crate) fn new(size: u32) -> Self {
        ReceiveWindow { size, told: size, most: u32::MAX }
    }

    //= RFC 9260 6.2-6 6.2-12 6.2-23 6.2-24
    /// The a_rwnd to put into a SACK now, when `buffered` bytes are held.
    pub(crate) fn advertised(&self, buffered: usize) -> u32 {
        let free = self.size.saturating_sub(u32::try_from(buffered).unwrap_or(u32::MAX));
        // Memory is short: the window closes as data comes in, but its right edge stays where it was told
        // to be. RFC 9260 §6.2 has no more than that of a receiver whose buffer shrinks.
        let free = free.min(self.most.max(self.told));
        if free >= MIN_OPENING.min(self.size / 4) { free } else { free.min(self.told) }
    }

    /// From now on the window has `most` bytes, as soon as it can without going back on what was told.
    pub(crate) fn narrow(&mut self, most: usize) {
        self.most = u32::try_from(most).unwrap_or(u32::MAX);
    }

    /// User data was accepted: it uses up what the peer was told, and the right edge stays.
    pub(crate) fn on_received(&mut self, bytes: usize) {
        self.told = self.told.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// A SACK with this a_rwnd was sent.
    pub(crate) fn on_sacked(&mut self, a_rwnd: u32) {
        self.told = a_rwnd;
    }

    /// Whether a SACK should tell the peer that the window has opened, though no data came.
    /// `pmdcs` is the largest chunk of user data that fits a packet of the path (PMDCS).
    ///
    /// RFC 9260 §6.2: one should be sent when the window opens up, but no large number of them:
    /// for instance if it can be increased by at least a quarter of the buffer. A peer that
    /// cannot send a full-sized chunk at all is told earlier, so that it need not probe: after a
    /// sixteenth, or two chunks if that is more, which bounds updates to one for two packets
    /// of data, as many as there are SACKs for data.
    pub(crate) fn update_due(&self, buffered: usize, pmdcs: usize) -> bool {
        let opened = self.advertised(buffered).saturating_sub(self.told);
        let quarter = (self.size / 4).max(1);
        let pmdcs = u32::try_from(pmdcs).unwrap_or(u32::MAX);
        let needed = if self.told < pmdcs {
            quarter.min(pmdcs.saturating_mul(2).max(self.size / 16))
        } else {
            quarter
        };
        opened >= needed
    }
}

#[cfg(test)]
mod tests;
