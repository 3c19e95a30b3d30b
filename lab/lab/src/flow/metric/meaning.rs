//! What each metric means: `tresse lab metrics`, and `docs/metrics.md`.

use std::fmt::Write as _;

use super::{describe, needs, needs_processor};

/// Metrics that one sentence explains. In capital letters are what stands for several: `N` a number from 1 on, `STAT` one of
/// `mean`, `p50`, `p95`, `p99`, `max`, `CLASS` a class, `TYPE` a type of retransmission.
struct Meaning {
    names: &'static [&'static str],
    what: &'static str,
}

const fn meaning(names: &'static [&'static str], what: &'static str) -> Meaning {
    Meaning { names, what }
}

const MEANINGS: &[Meaning] = &[
    meaning(
        &["transfer_ms.STAT"],
        "message transfer time, from the sending to the receiving application (not for bulk transfers)",
    ),
    meaning(
        &["beside_ms.STAT"],
        "the same of the messages that are sent beside (workload.periodic.beside)",
    ),
    meaning(&["delivery_ms.STAT"], "from the first transmission of a message to its delivery"),
    meaning(&["stall_ms"], "longest time without a delivery, between the first and the last"),
    meaning(
        &["age_ms.STAT"],
        "how long ago the newest message was sent that the receiver has, at each moment",
    ),
    meaning(&["given_up_percent"], "messages that were given up, in percent of all"),
    meaning(&["goodput_kbps", "goodput_kBps", "goodput_mbps"], "user data delivered per second"),
    meaning(&["completion_s"], "from the association being up to the delivery of the last message"),
    meaning(&["delivered_bytes"], "user data delivered"),
    meaning(&["timeouts", "timeouts_per_mb"], "T3-rtx expirations"),
    meaning(
        &["fast_retransmits", "fast_retransmits_per_mb"],
        "packets sent again because of SACKs",
    ),
    meaning(&["fast_chunks_per_mb"], "chunks sent again because of SACKs"),
    meaning(&["fast_events", "fast_events_per_mb"], "times that SACKs started a recovery"),
    meaning(
        &["fast_per_timeout"],
        "such recoveries for each timeout (as if for one if there is none)",
    ),
    meaning(&["retransmitted_chunks"], "DATA chunks sent again"),
    meaning(&["retransmitted_percent"], "the same in percent of all DATA chunks sent"),
    meaning(&["duplicates"], "chunks that reached the receiver twice: unnecessary retransmissions"),
    meaning(&["spurious"], "retransmissions that the sender found to be spurious"),
    meaning(&["packets"], "packets that the sender sent"),
    meaning(
        &["highest_tsn"],
        "DATA chunks sent for the first time: the highest TSN, counted from 1",
    ),
    meaning(
        &[
            "retransmission.N.TYPE.count",
            "retransmission.N.TYPE.min_ms",
            "retransmission.N.TYPE.max_ms",
            "retransmission.N.TYPE.avg_ms",
        ],
        "cumulative retransmission delay of the N-th retransmission (or all)",
    ),
    meaning(
        &["resend_ms.min", "resend_ms.max", "resend_ms.avg", "resend_ms.sd", "resend.count"],
        "time between two transmissions of the same data, over all retransmissions, as tcptrace has it: its standard deviation is that of \
         a sample; with TCP that of the SYN counts as well",
    ),
    meaning(&["rto_ms.OVER"], "RTO over time"),
    meaning(&["rtt_ms.OVER"], "measured round trips over time"),
    meaning(&["rto_min_ms.OVER"], "RTO.Min over time"),
    meaning(
        &["cwnd.OVER", "cwnd.2.OVER"],
        "congestion window over time, of the first and of the second path",
    ),
    meaning(&["path_share.N"], "packets of the N-th path in percent of all, by bytes"),
    meaning(
        &["ideal_mbps", "ideal_path_mbps"],
        "user data that all paths could carry, and the best one (bulk transfers over links with a bandwidth)",
    ),
    meaning(&["of_ideal", "of_ideal_path"], "goodput in percent of them"),
    meaning(
        &["path_mbps.N", "best_path_mbps"],
        "goodput of the same run over the N-th path alone, and the best of them",
    ),
    meaning(&["of_best_path"], "goodput in percent of that of the best path alone"),
    meaning(&["competitor_mbps"], "goodput of a competing flow, the mean of all"),
    meaning(&["of_competitor"], "our goodput in percent of that"),
    meaning(&["fairness"], "Jain's index of all flows"),
    meaning(
        &["reorder_bytes.STAT"],
        "bytes that the receiver holds for order, by the windows in its SACKs",
    ),
    meaning(&["gap_acked.STAT"], "TSNs in the gap blocks of a SACK"),
    meaning(
        &["gap_acked.CLASS"],
        "SACKs in a class by the TSNs in their gap blocks, in percent of all",
    ),
    meaning(
        &["cpu.all", "cpu.sacks"],
        "share of the time of all its cores that the data sender's processor was busy, and that SACKs took",
    ),
    meaning(&["cpu.lost"], "packets that found the queue for the sender's processor full"),
    meaning(&["sack_us.mean"], "time that a SACK takes"),
    meaning(&["sack_us.CLASS"], "SACKs in a class by the time that they take, in percent of all"),
];

/// What a word in capital letters of `name` stands for.
fn several(name: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let gaps = || super::GAP_ACKED_CLASSES.iter().map(|(class, ..)| *class).collect();
    let times = || super::SACK_TIMES.iter().map(|(class, ..)| *class).collect();
    let word = name.split('.').find(|part| part.chars().all(char::is_uppercase))?;
    match word {
        "STAT" => Some(("STAT", vec!["mean", "p50", "p95", "p99", "max"])),
        "OVER" => Some(("OVER", super::STATISTICS.to_vec())),
        "N" => Some(("N", vec!["1", "2"])),
        "TYPE" => Some(("TYPE", super::RETRANSMISSION_TYPES.to_vec())),
        "CLASS" if name.starts_with("gap_acked") => Some(("CLASS", gaps())),
        "CLASS" => Some(("CLASS", times())),
        _ => None,
    }
}

/// All names that one with words in capital letters stands for.
fn expand(name: &str) -> Vec<String> {
    match several(name) {
        Some((word, all)) => {
            all.iter().flat_map(|one| expand(&name.replacen(word, one, 1))).collect()
        }
        None => vec![name.to_owned()],
    }
}

/// The names, the unit and what has to be switched on, each as text.
impl Meaning {
    /// That of each name, unless all have the same.
    fn unit(&self) -> String {
        let of = |name: &&str| describe(&expand(name)[0]).map_or("", |(_, unit)| unit.name());
        let mut units: Vec<&str> = self.names.iter().map(of).collect();
        units.dedup();
        let named = units.iter().map(|unit| if unit.is_empty() { "number" } else { unit });
        if units == [""] { String::new() } else { named.collect::<Vec<_>>().join(", ") }
    }

    fn needs(&self) -> Option<String> {
        let first = self.names[0];
        let processor = || needs_processor(first).then(|| "[processor]".to_owned());
        needs(first).map(|key| format!("observe.{key} = true")).or_else(processor)
    }
}

/// What the words in capital letters stand for, a line each.
fn words() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for name in MEANINGS.iter().flat_map(|meaning| meaning.names) {
        let Some((word, all)) = several(name) else { continue };
        let whose = if word == "CLASS" {
            format!(" of {}", name.replace(".CLASS", ""))
        } else {
            String::new()
        };
        let line = match word {
            "N" => ("N".to_owned(), "a number from 1 on; of retransmissions `all`, too".to_owned()),
            "OVER" => (
                word.to_owned(),
                format!("{}; settled is the mean of the second half", all.join(", ")),
            ),
            _ => (format!("{word}{whose}"), all.join(", ")),
        };
        if !found.contains(&line) {
            found.push(line);
        }
    }
    found.push(("TYPE".to_owned(), super::RETRANSMISSION_TYPES.join(", ")));
    found
}

/// Every metric, for a terminal.
#[must_use]
pub fn listing() -> String {
    let mut out = String::new();
    for meaning in MEANINGS {
        let needs = meaning.needs().map_or_else(String::new, |needs| format!("; needs {needs}"));
        let unit = Some(meaning.unit()).filter(|unit| !unit.is_empty());
        let unit = unit.map_or_else(String::new, |unit| format!(" [{unit}]"));
        let _ = writeln!(out, "{}{unit}\n    {}{needs}", meaning.names.join(", "), meaning.what);
    }
    out.push('\n');
    for (word, all) in words() {
        let _ = writeln!(out, "{word}: {all}");
    }
    out.replace('`', "")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HEAD: &str = "\
# Metrics

Made from the code (`lab/lab/src/flow/metric/meaning.rs`) by its tests (`just pages`); not edited by hand. `tresse lab metrics` says the same.

What `metrics`, `metric` and `measure` of [experiments of flows](experiments.md) may name. What a metric needs is a key of the
experiment that has to be set.

| metric | unit | | needs |
|---|---|---|---|
";

    fn page() -> String {
        let mut page = HEAD.to_owned();
        for meaning in MEANINGS {
            let names: Vec<String> = meaning.names.iter().map(|name| format!("`{name}`")).collect();
            let needs = meaning.needs().map_or_else(String::new, |needs| format!("`{needs}`"));
            let _ = writeln!(
                page,
                "| {} | {} | {} | {needs} |",
                names.join(", "),
                meaning.unit(),
                meaning.what
            );
        }
        page.push_str("\nWords in capital letters stand for several:\n\n| word | |\n|---|---|\n");
        for (word, all) in words() {
            let _ = writeln!(page, "| {word} | {all} |");
        }
        page
    }

    #[test]
    fn the_page_of_metrics_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
        if std::env::var_os("TRESSE_WRITE_PAGES").is_some() {
            std::fs::write(&path, page()).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            there.replace('\r', "") == page(),
            "docs/metrics.md is not up to date: `just pages`"
        );
    }

    #[test]
    fn every_metric_has_a_meaning_and_what_has_one_is_a_metric() {
        let all: Vec<String> =
            MEANINGS.iter().flat_map(|m| m.names).flat_map(|n| expand(n)).collect();
        for name in super::super::names() {
            let one = name.replace(".all.", ".1.");
            assert!(all.contains(&one), "{name} has no meaning");
        }
        for meaning in MEANINGS {
            let of = |name: &str| {
                (needs(name), needs_processor(name), describe(name).map(|(_, unit)| unit.name()))
            };
            for name in meaning.names.iter().flat_map(|name| expand(name)) {
                assert!(describe(&name).is_some(), "{name} is none");
                let first = &expand(meaning.names[0])[0];
                assert_eq!(of(&name).0, of(first).0, "{name}");
                assert_eq!(of(&name).1, of(first).1, "{name}");
            }
        }
    }
}
