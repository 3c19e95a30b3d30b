//! What is kept of packets that left, and of their paths, for samples of the delivery rate (`delivery_rate.rs`).

use std::collections::VecDeque;
use std::time::Duration;

use smallvec::SmallVec;

use crate::ids::PathId;
use crate::time::Time;

/// What was known when a packet left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) path: PathId,
    /// The highest sequence number that it carried.
    pub(super) highest: u64,
    pub(super) sent: Time,
    pub(super) first_sent: Time,
    pub(super) delivered_at: Time,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) in_flight: usize,
    pub(super) app_limited: bool,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) first_sent: Time,
    pub(super) delivered_at: Time,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// The application limits it until more than this is delivered.
    pub(super) app_limited: Option<u64>,
    pub(super) shortest: Option<Duration>,
}

/// What is kept for samples.
#[derive(Debug, Default)]
pub(super) struct DeliveryRates {
    /// Of each packet from `base` on.
    departures: VecDeque<Departure>,
    base: u64,
    paths: SmallVec<[Progress; 2]>,
}

impl DeliveryRates {
    pub(super) fn path(&mut self, path: PathId) -> &mut Progress {
        let i = usize::from(path.0);
        if i >= self.paths.len() {
            self.paths.resize(i + 1, Progress::default());
        }
        &mut self.paths[i]
    }

    pub(super) fn is_app_limited(&self, path: PathId) -> bool {
        let progress = self.paths.get(usize::from(path.0));
        progress.is_some_and(|progress| progress.app_limited.is_some())
    }

    pub(super) fn departure(&self, packet: u64) -> Option<&Departure> {
        self.departures.get(usize::try_from(packet.checked_sub(self.base)?).ok()?)
    }

    /// The packet in which a chunk left that is acknowledged. Of several that left at one moment another one may be taken:
    /// they differ in what was in flight, by a packet.
    pub(super) fn departure_of(&self, path: PathId, seq: u64, sent: Time) -> Option<&Departure> {
        let first = self.departures.partition_point(|departure| departure.sent < sent);
        let at_once = self.departures.range(first..).take_while(|d| d.sent == sent);
        at_once.filter(|d| d.path == path).find(|d| d.highest >= seq)
    }

    /// A packet that carries one of the numbers from `open` on has left.
    pub(super) fn depart(&mut self, open: u64, packet: u64, departure: Departure) {
        while self.base < open && self.departures.pop_front().is_some() {
            self.base += 1;
        }
        if self.departures.is_empty() {
            self.base = packet;
        }
        while self.base + self.departures.len() as u64 <= packet {
            self.departures.push_back(departure);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.departures.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.departures.capacity() * size_of::<Departure>()
    }
}
