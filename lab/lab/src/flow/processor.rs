//! Hosts that take time: what packets and SACKs cost their processors.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tresse_sim::{ProcessorConfig, ProcessorStats, SackWalks};

use crate::common::{ProfileEntry, merge};
use crate::mistake::{Checked, Mistake, mistake, require};
use crate::reading;

/// One core of each of both hosts, which serves packets in order (see
/// [`tresse_sim::ProcessorConfig`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Processor {
    /// Microseconds for each packet, sent or received. Default 0.
    pub packet_us: f64,
    /// Microseconds for each SACK besides. Default 0.
    pub sack_us: f64,
    /// Nanoseconds for each chunk on the first walk of a SACK, which marks what is acknowledged.
    /// Default 0.
    pub mark_ns: f64,
    /// Nanoseconds for each chunk on each of the two others. Default 0.
    pub check_ns: f64,
    /// Which chunks these visit. Default `whole`.
    pub walks: Walks,
    /// Received packets that may wait; more are lost. Default 1024, the receive ring of a network
    /// interface.
    pub queue_packets: usize,
    /// How many times as fast all of that is. Default 1.
    pub speed: f64,
    /// Cores of the host. One of them serves packets; the share of the time that this takes is
    /// measured over all, as a profiler does. Default 1.
    pub cores: u32,
}

/// Which outstanding chunks up to the last gap block the second and the third walk of a SACK visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walks {
    /// All (Sarnow 2017 §5.1.4).
    Whole,
    /// Those that no block reports (Sarnow 2017 §5.2).
    Missing,
}

impl Default for Processor {
    fn default() -> Processor {
        Processor {
            packet_us: 0.0,
            sack_us: 0.0,
            mark_ns: 0.0,
            check_ns: 0.0,
            walks: Walks::Whole,
            queue_packets: 1024,
            speed: 1.0,
            cores: 1,
        }
    }
}

/// Classes of SACKs by how long they take: name, and the powers of two of nanoseconds from which to
/// which they reach. Those of Figure 5.4 (Sarnow 2017), and the two that its text names.
pub(super) const SACK_TIMES: &[(&str, usize, usize)] = &[
    ("to-1", 0, 9),
    ("1-2", 10, 10),
    ("2-4", 11, 11),
    ("4-8", 12, 12),
    ("8-16", 13, 13),
    ("16-32", 14, 14),
    ("32-65", 15, 15),
    ("65-131", 16, 16),
    ("over-131", 17, 31),
    ("1-8", 10, 12),
    ("32-131", 15, 16),
];

impl Processor {
    /// That of hosts which run this sender: its own settings besides those of all.
    ///
    /// # Errors
    /// A key or value of its own that a processor does not have.
    pub(crate) fn of(
        common: Option<&Processor>,
        entry: &ProfileEntry,
    ) -> Result<Option<Processor>, Mistake> {
        let Some(common) = common else {
            let none = entry.processor.is_empty();
            require(none, "profile.processor", "needs [processor]")?;
            return Ok(None);
        };
        let fault = |message: String| mistake("profile.processor", message);
        let mut table = toml::Table::try_from(common).map_err(|e| fault(e.to_string()))?;
        merge(&mut table, entry.processor.clone());
        let own: Processor = reading::read(&table).map_err(|wrong| fault(wrong.message))?;
        own.validate()?;
        Ok(Some(own))
    }

    fn validate(&self) -> Checked {
        for (key, cost) in [
            ("processor.packet_us", self.packet_us),
            ("processor.sack_us", self.sack_us),
            ("processor.mark_ns", self.mark_ns),
            ("processor.check_ns", self.check_ns),
        ] {
            require((0.0..=1e6).contains(&cost), key, "must be 0 to 1000000")?;
        }
        require(self.queue_packets > 0, "processor.queue_packets", "must be above 0")?;
        let speed = self.speed > 0.0 && self.speed.is_finite();
        require(speed, "processor.speed", "must be above 0")?;
        require(self.cores > 0, "processor.cores", "must be above 0")
    }

    /// What the simulator takes.
    pub(super) fn config(&self) -> ProcessorConfig {
        let nanos = |ns: f64| Duration::from_nanos((ns / self.speed).round() as u64);
        ProcessorConfig {
            packet: nanos(1e3 * self.packet_us),
            sack: nanos(1e3 * self.sack_us),
            mark: nanos(self.mark_ns),
            check: nanos(self.check_ns),
            walks: match self.walks {
                Walks::Whole => SackWalks::Whole,
                Walks::Missing => SackWalks::Missing,
            },
            queue_packets: Some(self.queue_packets),
        }
    }

    /// Metrics of a run that took this many seconds.
    pub(super) fn measure(
        &self,
        stats: &ProcessorStats,
        seconds: f64,
        put: &mut impl FnMut(&str, f64),
    ) {
        let share = |time: Duration| 100.0 * time.as_secs_f64() / seconds / f64::from(self.cores);
        put("cpu.all", share(stats.busy));
        put("cpu.sacks", share(stats.sacks));
        put("cpu.lost", stats.lost as f64);
        let sacks = stats.sack_times.iter().sum::<u64>();
        if sacks > 0 {
            put("sack_us.mean", 1e6 * stats.sacks.as_secs_f64() / sacks as f64);
            for (name, from, to) in SACK_TIMES {
                let within = stats.sack_times[*from..=*to].iter().sum::<u64>();
                put(&format!("sack_us.{name}"), 100.0 * within as f64 / sacks as f64);
            }
        }
    }

    /// In words.
    pub(crate) fn describe(&self) -> String {
        let walks = match self.walks {
            Walks::Whole => "each of them",
            Walks::Missing => "each that it misses",
        };
        let speed = match self.speed {
            1.0 => String::new(),
            times => format!(", all {times} times as fast"),
        };
        format!(
            "{} µs for a packet; {} µs for a SACK, {} ns for each chunk that it spans and twice {} ns \
             for {walks}{speed}; {} packets may wait; {} cores",
            self.packet_us,
            self.sack_us,
            self.mark_ns,
            self.check_ns,
            self.queue_packets,
            self.cores
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_shrink_with_speed() {
        let slow = Processor { packet_us: 30.0, sack_us: 1.0, mark_ns: 50.0, ..Default::default() };
        let fast = Processor { speed: 2.0, ..slow }.config();
        assert_eq!(fast.packet, Duration::from_micros(15));
        assert_eq!((fast.sack, fast.mark), (Duration::from_nanos(500), Duration::from_nanos(25)));
        assert_eq!((fast.walks, fast.queue_packets), (SackWalks::Whole, Some(1024)));
        assert!(slow.validate().is_ok());
        for bad in [
            Processor { packet_us: -1.0, ..slow },
            Processor { speed: 0.0, ..slow },
            Processor { queue_packets: 0, ..slow },
            Processor { cores: 0, ..slow },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn classes_cover_every_time_once() {
        let plain = &SACK_TIMES[..SACK_TIMES.len() - 2];
        let next = plain.iter().fold(0, |next, (name, from, to)| {
            assert_eq!(*from, next, "{name}");
            to + 1
        });
        assert_eq!(next, ProcessorStats::default().sack_times.len());
    }

    #[test]
    fn shares_are_of_all_cores() {
        let mut stats = ProcessorStats::default();
        stats.busy = Duration::from_secs(5);
        stats.sacks = Duration::from_secs(2);
        stats.sack_times[11] = 3;
        stats.sack_times[16] = 1;
        let mut values = std::collections::BTreeMap::new();
        let four = Processor { cores: 4, ..Processor::default() };
        four.measure(&stats, 10.0, &mut |name, v| {
            values.insert(name.to_owned(), v);
        });
        let of = |name: &str| values[name];
        assert_eq!((of("cpu.all"), of("cpu.sacks"), of("cpu.lost")), (12.5, 5.0, 0.0));
        assert_eq!(
            (of("sack_us.1-8"), of("sack_us.32-131"), of("sack_us.mean")),
            (75.0, 25.0, 5e5)
        );
    }
}
