//! Settings that change with time, by themselves: handovers, outages, a link that fades.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, MAX_MILLIS, fault};
use crate::time::Nanos;

/// A change of settings at a moment, once or again and again: an entry of the list `changes` of a
/// [`LinkConfig`](crate::LinkConfig). What is absent stays as it is.
///
/// Two changes with the same `every_ms` make a link alternate. Every 30 s, one without service for
/// 200 ms:
///
/// ```
/// let config: tresse_netem::LinkConfig = toml::from_str(
///     "
///     [[changes]]
///     at_ms = 30000
///     every_ms = 30000
///     up = false
///
///     [[changes]]
///     at_ms = 30200
///     every_ms = 30000
///     up = true
///     ",
/// )?;
/// assert_eq!(config.validate(), Ok(()));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// Milliseconds from the link's time zero. Of changes at the same moment the last in the list
    /// prevails.
    pub at_ms: f64,
    /// Milliseconds after which the change is made again, at least 1. Absent (default): once.
    #[serde(default)]
    pub every_ms: Option<f64>,
    /// [`LinkConfig::bandwidth_kbps`](crate::LinkConfig::bandwidth_kbps), from the next packet that starts to be serialised.
    #[serde(default)]
    pub bandwidth_kbps: Option<f64>,
    /// [`LinkConfig::delay_ms`](crate::LinkConfig::delay_ms), from the next packet that starts to be serialised. No packet
    /// overtakes another when it becomes shorter.
    #[serde(default)]
    pub delay_ms: Option<f64>,
    /// [`LinkConfig::loss`](crate::LinkConfig::loss).
    #[serde(default)]
    pub loss: Option<f64>,
    /// [`LinkConfig::up`](crate::LinkConfig::up). Going down loses what has not arrived by then.
    #[serde(default)]
    pub up: Option<bool>,
}

/// The shortest period, so that no time is endless.
const MIN_PERIOD_MS: f64 = 1.0;

impl LinkChange {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if !(0.0..=MAX_MILLIS).contains(&self.at_ms) {
            let reason =
                format!("milliseconds between 0 and {MAX_MILLIS} are needed, not {}", self.at_ms);
            return fault("changes.at_ms", reason);
        }
        if let Some(every) = self.every_ms
            && !(MIN_PERIOD_MS..=MAX_MILLIS).contains(&every)
        {
            let reason = format!(
                "milliseconds between {MIN_PERIOD_MS} and {MAX_MILLIS} are needed, not {every}"
            );
            return fault("changes.every_ms", reason);
        }
        if let LinkChange { bandwidth_kbps: None, delay_ms: None, loss: None, up: None, .. } = self
        {
            return fault("changes", "a change must name what changes".to_string());
        }
        Ok(())
    }

    /// The first time from `now` on that it is due; [`Nanos::MAX`] if never.
    fn first_due(&self, now: Nanos) -> Nanos {
        let at = Nanos::from_millis_f64(self.at_ms);
        if at >= now {
            return at;
        }
        let Some(every) = self.every_ms.map(Nanos::from_millis_f64) else { return Nanos::MAX };
        let periods = (now - at).get().div_ceil(every.get().max(1));
        at + Nanos::new(every.get().saturating_mul(periods))
    }
}

/// When which change is due.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    list: Vec<LinkChange>,
    /// When each is due next, with its place in the list: in the order in which they are made.
    pending: BTreeSet<(Nanos, usize)>,
    /// The earliest of them.
    next: Option<Nanos>,
}

impl Changes {
    /// What is due from `now` on.
    pub(crate) fn new(now: Nanos, list: &[LinkChange]) -> Changes {
        let due = list.iter().enumerate().map(|(place, change)| (change.first_due(now), place));
        let mut changes = Changes {
            list: list.to_vec(),
            pending: due.filter(|(at, _)| *at != Nanos::MAX).collect(),
            next: None,
        };
        changes.settle();
        changes
    }

    /// The moment of the next change.
    pub(crate) const fn next(&self) -> Option<Nanos> {
        self.next
    }

    /// Takes the first of the changes that are due next, with its moment.
    pub(crate) fn take(&mut self) -> Option<(Nanos, LinkChange)> {
        let (at, place) = self.pending.pop_first()?;
        let taken = *self.list.get(place)?;
        if let Some(every) = taken.every_ms.map(Nanos::from_millis_f64) {
            self.pending.insert((at + every, place));
        }
        self.settle();
        Some((at, taken))
    }

    fn settle(&mut self) {
        self.next = self.pending.first().map(|(at, _)| *at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn change(at_ms: f64, every_ms: Option<f64>, loss: f64) -> LinkChange {
        LinkChange { at_ms, every_ms, loss: Some(loss), ..LinkChange::default() }
    }

    #[test]
    fn changes_come_in_order_of_time_and_then_of_the_list() {
        let list = [
            change(40.0, None, 0.1),
            change(10.0, Some(30.0), 0.2),
            change(40.0, None, 0.3),
            change(0.0, None, 0.4),
        ];
        let mut changes = Changes::new(Nanos::ZERO, &list);
        let mut seen = Vec::new();
        while let Some(at) = changes.next().filter(|at| *at <= MS(100)) {
            let (taken_at, change) = changes.take().expect("due");
            assert_eq!(taken_at, at);
            seen.push((at.as_millis(), change.loss));
        }
        let expected =
            [(0, 0.4), (10, 0.2), (40, 0.1), (40, 0.2), (40, 0.3), (70, 0.2), (100, 0.2)];
        assert_eq!(seen, expected.map(|(at, loss)| (at, Some(loss))));
    }

    #[test]
    fn a_late_beginning_skips_what_is_over() {
        let list = [change(10.0, None, 0.1), change(20.0, Some(50.0), 0.2)];
        for (now, next) in [(5, 10), (10, 10), (11, 20), (20, 20), (21, 70), (70, 70), (71, 120)] {
            assert_eq!(Changes::new(MS(now), &list).next(), Some(MS(next)), "{now}");
        }
        let mut over = Changes::new(MS(11), &list[..1]);
        assert_eq!((over.next(), over.take()), (None, None));
    }
}
