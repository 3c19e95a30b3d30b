//! What the endpoint's memory leaves for each association.

use std::time::Duration;

use crate::time::Time;

/// How short memory is, as far as an association must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// What it may hold of the peer's data; its window is no wider.
    pub(crate) share: usize,
    /// Chunks beyond a missing one are not taken from those who hold more than that.
    pub(crate) scarce: bool,
}

impl Allowance {
    /// There is plenty.
    pub(crate) const AMPLE: Allowance = Allowance { share: usize::MAX, scarce: false };

    /// What INIT ACK tells of a receive buffer of this many bytes.
    pub(crate) fn window(self, buffer: u32) -> u32 {
        buffer.min(u32::try_from(self.share).unwrap_or(u32::MAX))
    }
}

/// Over so long the throughput of an association is measured.
const EPOCH: Duration = Duration::from_secs(2);

/// How much user data goes through: taken by the peer, or read by the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughput {
    /// When this epoch began, and what had gone through by then.
    begin: Time,
    at_begin: u64,
    /// Bytes in the epoch before, and in this one at its rate so far.
    before: u64,
    current: u64,
}

impl Throughput {
    /// Nothing has gone through.
    pub(crate) const NONE: Throughput =
        Throughput { begin: Time::ZERO, at_begin: 0, before: 0, current: 0 };

    /// `total` bytes have gone through since the association began.
    pub(crate) fn note(&mut self, now: Time, total: u64) {
        let since = now.since(self.begin);
        let here = total.saturating_sub(self.at_begin).saturating_mul(EPOCH.as_millis() as u64);
        self.current = here / since.max(EPOCH / 4).as_millis() as u64;
        if since >= EPOCH {
            *self = Throughput { begin: now, at_begin: total, before: self.current, current: 0 };
        }
    }

    /// The epoch is over.
    #[inline(always)]
    pub(crate) fn is_over(&self, now: Time) -> bool {
        now >= self.begin + EPOCH
    }

    /// What will go through in two epochs.
    pub(crate) fn ahead(&self) -> usize {
        2 * self.before.max(self.current) as usize
    }
}
