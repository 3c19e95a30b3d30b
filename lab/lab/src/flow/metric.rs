//! The names of what is measured, with their units.
//!
//! What each of them means is in [`meaning`], and `tresse lab metrics` and `docs/metrics.md` show it.

pub mod meaning;

use tresse_report::Unit;

use super::processor::SACK_TIMES;

/// Metrics of every run.
const PLAIN: &[(&str, &str, Unit)] = &[
    ("goodput_kbps", "Goodput", Unit::KilobitsPerSecond),
    ("goodput_mbps", "Goodput", Unit::MegabitsPerSecond),
    ("ideal_mbps", "Ideal", Unit::MegabitsPerSecond),
    ("ideal_path_mbps", "Ideal of the best path", Unit::MegabitsPerSecond),
    ("of_ideal", "Goodput of the ideal", Unit::Percent),
    ("of_ideal_path", "Goodput of the best path's ideal", Unit::Percent),
    ("path_mbps.1", "First path alone", Unit::MegabitsPerSecond),
    ("path_mbps.2", "Second path alone", Unit::MegabitsPerSecond),
    ("best_path_mbps", "Best path alone", Unit::MegabitsPerSecond),
    ("of_best_path", "Goodput of the best path alone", Unit::Percent),
    ("path_share.1", "Share of the first path", Unit::Percent),
    ("path_share.2", "Share of the second path", Unit::Percent),
    ("competitor_mbps", "Competing flow", Unit::MegabitsPerSecond),
    ("of_competitor", "Goodput of the competing flow's", Unit::Percent),
    ("fairness", "Jain's fairness index", Unit::Number),
    ("stall_ms", "Longest time without a delivery", Unit::Milliseconds),
    ("cpu.all", "Time of the processor", Unit::Percent),
    ("cpu.sacks", "Time of the processor for SACKs", Unit::Percent),
    ("cpu.lost", "Packets lost before the processor", Unit::Number),
    ("sack_us.mean", "Mean µs for a SACK", Unit::Number),
    ("goodput_kBps", "Goodput", Unit::KilobytesPerSecond),
    ("completion_s", "Time to completion", Unit::Seconds),
    ("highest_tsn", "Highest TSN sent", Unit::Number),
    ("timeouts", "Timeouts", Unit::Number),
    ("timeouts_per_mb", "Timeouts", Unit::PerMegabyte),
    ("fast_retransmits", "Fast retransmissions", Unit::Number),
    ("fast_retransmits_per_mb", "Fast retransmissions", Unit::PerMegabyte),
    ("fast_events", "Fast recoveries", Unit::Number),
    ("fast_events_per_mb", "Fast recoveries", Unit::PerMegabyte),
    ("fast_chunks_per_mb", "Fast retransmitted chunks", Unit::PerMegabyte),
    ("fast_per_timeout", "Fast recoveries for each timeout", Unit::Number),
    ("retransmitted_chunks", "Retransmitted chunks", Unit::Number),
    ("retransmitted_percent", "Retransmitted chunks of all", Unit::Percent),
    ("duplicates", "Unnecessary retransmissions", Unit::Number),
    ("spurious", "Spurious retransmissions detected", Unit::Number),
    ("packets", "Packets sent", Unit::Number),
    ("delivered_bytes", "User data delivered", Unit::Bytes),
    ("given_up_percent", "Messages given up", Unit::Percent),
    ("resend.count", "Retransmissions", Unit::Number),
    ("resend_ms.min", "Smallest retransmission delay", Unit::Milliseconds),
    ("resend_ms.max", "Largest retransmission delay", Unit::Milliseconds),
    ("resend_ms.avg", "Average retransmission delay", Unit::Milliseconds),
    ("resend_ms.sd", "Deviation of retransmission delays", Unit::Milliseconds),
];

/// Types of retransmission, as names of metrics.
pub const RETRANSMISSION_TYPES: [&str; 5] =
    ["timeout", "fast", "reported-missing", "in-flight", "timeout-or-fast"];

/// Time series that can be recorded, and what they are called.
pub const SERIES: &[(&str, &str)] = &[
    ("rto_ms", "RTO"),
    ("rtt_ms", "Measured RTT"),
    ("rto_min_ms", "RTO.Min"),
    ("cwnd", "Congestion window"),
];

/// Classes of SACKs by the TSNs in their gap blocks: name, least and most.
pub(super) const GAP_ACKED_CLASSES: &[(&str, f64, f64)] = &[
    ("0-100", 0.0, 100.0),
    ("101-250", 101.0, 250.0),
    ("251-500", 251.0, 500.0),
    ("501-750", 501.0, 750.0),
    ("751-1000", 751.0, 1000.0),
    ("over-1000", 1001.0, f64::INFINITY),
    ("over-100", 101.0, f64::INFINITY),
    ("251-750", 251.0, 750.0),
];

/// What is measured of a transfer that has statistics.
const SAMPLES: &[(&str, &str, Unit)] = &[
    ("transfer_ms", "message transfer time", Unit::Milliseconds),
    ("beside_ms", "transfer time of messages beside", Unit::Milliseconds),
    ("delivery_ms", "delivery delay", Unit::Milliseconds),
    ("age_ms", "age of the newest message", Unit::Milliseconds),
    ("reorder_bytes", "reordering buffer", Unit::Bytes),
    ("gap_acked", "TSNs in gap blocks of a SACK", Unit::Number),
];

/// Statistics of a time series.
const STATISTICS: [&str; 7] = ["mean", "min", "median", "p95", "p99", "max", "settled"];

/// What a metric is called, and its unit; `None` if there is no such metric.
pub fn describe(name: &str) -> Option<(String, Unit)> {
    if let Some((_, text, unit)) = PLAIN.iter().find(|(plain, _, _)| *plain == name) {
        return Some(((*text).to_owned(), *unit));
    }
    let parts: Vec<&str> = name.split('.').collect();
    match parts.as_slice() {
        ["gap_acked", class] if GAP_ACKED_CLASSES.iter().any(|(name, ..)| name == class) => Some((
            format!("SACKs with {} TSNs in gap blocks", class.replace('-', " ")),
            Unit::Percent,
        )),
        ["sack_us", class] if SACK_TIMES.iter().any(|(name, ..)| name == class) => {
            Some((format!("SACKs that take {} µs", class.replace('-', " ")), Unit::Percent))
        }
        [sample, statistic] if SAMPLES.iter().any(|(name, ..)| name == sample) => {
            let (_, what, unit) = SAMPLES.iter().find(|(name, ..)| name == sample)?;
            let text = match *statistic {
                "mean" => "Mean",
                "p50" => "Median",
                "p95" => "95th percentile of",
                "p99" => "99th percentile of",
                "max" => "Largest",
                _ => return None,
            };
            Some((format!("{text} {what}"), *unit))
        }
        ["retransmission", number, kind, statistic] => {
            let number = match *number {
                "all" => "All retransmissions".to_owned(),
                n => format!("{}. retransmission", n.parse::<u32>().ok().filter(|n| *n > 0)?),
            };
            RETRANSMISSION_TYPES.contains(kind).then_some(())?;
            let (text, unit) = match *statistic {
                "count" => ("number", Unit::Number),
                "min_ms" => ("smallest", Unit::Milliseconds),
                "max_ms" => ("largest", Unit::Milliseconds),
                "avg_ms" => ("average", Unit::Milliseconds),
                _ => return None,
            };
            Some((format!("{number}, {}, {text}", kind.replace('-', " ")), unit))
        }
        [series, rest @ ..] => {
            let (_, text) = SERIES.iter().find(|(s, _)| s == series)?;
            let (path, statistic) = match rest {
                [statistic] => ("", *statistic),
                ["2", statistic] => (" of the second path", *statistic),
                _ => return None,
            };
            STATISTICS.contains(&statistic).then_some(())?;
            let unit = if *series == "cwnd" { Unit::Bytes } else { Unit::Milliseconds };
            Some((format!("{text}{path}, {statistic}"), unit))
        }
        [] => None,
    }
}

/// Names of metrics, but for classes and for single retransmissions.
pub(super) fn names() -> Vec<String> {
    let plain = PLAIN.iter().map(|(name, ..)| (*name).to_owned());
    let samples = SAMPLES.iter().flat_map(|(name, ..)| {
        ["mean", "p50", "p95", "p99", "max"].map(|statistic| format!("{name}.{statistic}"))
    });
    let series = SERIES
        .iter()
        .flat_map(|(name, _)| STATISTICS.map(|statistic| format!("{name}.{statistic}")));
    let again = RETRANSMISSION_TYPES.map(|kind| format!("retransmission.all.{kind}.count"));
    plain.chain(samples).chain(series).chain(again).collect()
}

/// Whether a metric needs something to be observed: the key of
/// [`Observe`](super::Observe) that switches it on.
pub(super) fn needs(name: &str) -> Option<&'static str> {
    let first = name.split('.').next().unwrap_or(name);
    if ["retransmission", "resend", "resend_ms"].contains(&first) {
        Some("retransmissions")
    } else if ["delivery_ms", "reorder_bytes", "gap_acked", "stall_ms"].contains(&first) {
        Some("transfer")
    } else if ["age_ms", "given_up_percent"].contains(&first) {
        Some("age")
    } else if ["path_mbps", "best_path_mbps", "of_best_path"].contains(&first) {
        Some("alone")
    } else if first == "spurious" || SERIES.iter().any(|(series, _)| *series == first) {
        Some("series")
    } else {
        None
    }
}

/// Whether a metric needs hosts that take time.
pub(super) fn needs_processor(name: &str) -> bool {
    name.starts_with("cpu.") || name.starts_with("sack_us.")
}

/// Label of an axis that shows it: what it is and its unit.
pub(crate) fn axis_label(name: &str) -> String {
    let Some((text, unit)) = describe(name) else { return name.to_owned() };
    match unit {
        Unit::Number => text,
        Unit::PerMegabyte => format!("{text} per MB"),
        unit => format!("{text} ({})", unit.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_words_and_units() {
        let text =
            |name: &str| describe(name).map(|(text, unit)| format!("{text} [{}]", unit.name()));
        assert_eq!(text("goodput_kbps").unwrap(), "Goodput [kbit/s]");
        assert_eq!(
            text("retransmission.1.timeout-or-fast.avg_ms").unwrap(),
            "1. retransmission, timeout or fast, average [ms]"
        );
        assert_eq!(
            text("transfer_ms.p99").unwrap(),
            "99th percentile of message transfer time [ms]"
        );
        assert_eq!(
            text("cwnd.2.max").unwrap(),
            "Congestion window of the second path, max [bytes]"
        );
        for bad in
            ["", "goodput", "transfer_ms", "retransmission.0.fast.count", "rto_ms", "cwnd.3.max"]
        {
            assert_eq!(describe(bad), None, "{bad}");
        }
        assert!(names().iter().all(|name| describe(name).is_some()));
        assert_eq!(needs("rto_ms.mean"), Some("series"));
        assert_eq!(needs("retransmission.1.fast.count"), Some("retransmissions"));
        assert_eq!(needs("timeouts"), None);
        assert_eq!(axis_label("timeouts_per_mb"), "Timeouts per MB");
    }
}
