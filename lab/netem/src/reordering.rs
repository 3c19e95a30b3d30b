//! Reordering: some packets take longer than those behind them.

use crate::config::LinkConfig;
use crate::pattern::{Numbers, Pattern};
use crate::random::Random;
use crate::time::Nanos;

/// What happens to a packet that is reordered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detour {
    /// It takes this much longer.
    Delay(Nanos),
    /// It waits until this many later packets have passed, but no longer than the given time.
    After(u32, Nanos),
}

#[derive(Clone, Debug)]
pub(crate) struct Reordering {
    probability: f64,
    packets: Pattern,
    data: Pattern,
    /// `None` when nothing is to be reordered.
    detour: Option<Detour>,
    random: Random,
}

impl Reordering {
    pub(crate) fn new(config: &LinkConfig, random: Random) -> Reordering {
        let detour = match (config.reorder_delay_ms, config.reorder_after) {
            (Some(delay), _) => Some(Detour::Delay(Nanos::from_millis_f64(delay))),
            (None, Some(count)) => Some(Detour::After(
                count,
                config.reorder_hold_ms.map_or(Nanos::MAX, Nanos::from_millis_f64),
            )),
            (None, None) => None,
        };
        Reordering {
            probability: config.reorder,
            packets: Pattern::new(&config.reorder_packets),
            data: Pattern::new(&config.reorder_data),
            detour,
            random,
        }
    }

    /// The same stream of random numbers under other settings.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        *self = Reordering::new(config, self.random.clone());
    }

    /// Copies are exempt from lists, which name each packet once.
    pub(crate) fn judge(&mut self, numbers: &Numbers, copy: bool) -> Option<Detour> {
        let detour = self.detour?;
        let listed =
            !copy && (self.packets.matches(numbers.packet) | self.data.matches(numbers.data));
        (listed || self.random.chance(self.probability)).then_some(detour)
    }
}

/// Packets held back until others have passed.
#[derive(Debug)]
pub(crate) struct Held<T> {
    packets: Vec<HeldPacket<T>>,
}

#[derive(Debug)]
struct HeldPacket<T> {
    packet: T,
    remaining: u32,
    deadline: Nanos,
}

impl<T> Held<T> {
    pub(crate) const fn new() -> Held<T> {
        Held { packets: Vec::new() }
    }

    pub(crate) fn push(&mut self, packet: T, remaining: u32, deadline: Nanos) {
        self.packets.push(HeldPacket { packet, remaining, deadline });
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
    }

    /// When the first packet will be released though too few have passed.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.packets.iter().map(|held| held.deadline).min().filter(|at| *at != Nanos::MAX)
    }

    /// Notes that one more packet passes and will arrive at `arrival`, and calls `release` with
    /// each packet that has been passed often enough and the moment of its own arrival.
    pub(crate) fn passed(&mut self, arrival: Nanos, mut release: impl FnMut(Nanos, T)) {
        for held in &mut self.packets {
            held.remaining = held.remaining.saturating_sub(1);
        }
        for held in self.packets.extract_if(.., |held| held.remaining == 0) {
            release(arrival.min(held.deadline), held.packet);
        }
    }

    /// Calls `release` with each packet whose deadline has come.
    pub(crate) fn expire(&mut self, now: Nanos, mut release: impl FnMut(Nanos, T)) {
        for held in self.packets.extract_if(.., |held| held.deadline <= now) {
            release(held.deadline, held.packet);
        }
    }
}
