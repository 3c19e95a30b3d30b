//! The measured values and the reductions as CSV (RFC 4180).

use std::collections::BTreeSet;

use tresse_core::Profile;

use super::Report;
use crate::experiment::{Gap, RandomGap, RandomSize, Size};
use crate::record::RunRecord;

/// One row for each measured value, with the parameters of its run. Of the profile's parameters
/// those are given in which any profile of the experiment differs from RFC 9260.
pub(super) fn rows(report: &Report, records: &[&RunRecord]) -> String {
    let (names, values) = parameter_columns(report);
    let bursts = report.experiment.bursts();
    let size = match bursts.size {
        Size::Fixed(n) => n.to_string(),
        Size::Random(RandomSize::Uniform([low, high])) => format!("uniform {low}..{high}"),
    };
    let gap = match bursts.gap_ms {
        Gap::Fixed(ms) => ms.to_string(),
        Gap::Random(RandomGap::Exponential(mean)) => format!("exponential {mean}"),
    };
    let mut out = Csv::default();
    let fixed = [
        "experiment",
        "series",
        "profile",
        "bandwidth_kbps",
        "delay_ms",
        "replication",
        "seed",
        "dropped_tsn",
        "tsn",
        "burst",
        "position",
        "mtt_ms",
        "recovered_by",
        "timeouts",
        "duplicates",
        "packets",
        "burst_size",
        "gap_ms",
        "message_bytes",
        "spacing_ms",
        "run",
    ];
    out.row(fixed.iter().copied().chain(names.iter().map(String::as_str)));
    for record in records {
        let profile = report.profiles.iter().position(|p| p.label == record.series);
        for sample in &record.samples {
            let fields = [
                report.experiment.id.clone(),
                record.series.clone(),
                profile.map(|i| report.profiles[i].name.clone()).unwrap_or_default(),
                record.cell.bandwidth_kbps.to_string(),
                record.cell.delay_ms.to_string(),
                record.replication.to_string(),
                report.experiment.replications.seed.to_string(),
                record.dropped.map(|tsn| tsn.to_string()).unwrap_or_default(),
                sample.tsn.to_string(),
                sample.burst.to_string(),
                sample.position.to_string(),
                format!("{:.6}", sample.mtt_ms),
                record.recovered_by.clone().unwrap_or_default(),
                record.counters.timeouts.to_string(),
                record.counters.duplicates.to_string(),
                record.counters.packets.to_string(),
                size.clone(),
                gap.clone(),
                bursts.message_bytes.to_string(),
                bursts.spacing_ms.to_string(),
                record.key.clone(),
            ];
            let own = profile.map(|i| values[i].as_slice()).unwrap_or_default();
            out.row(fields.iter().chain(own).map(String::as_str));
        }
    }
    out.0
}

/// Both readings of the average reduction, and the best one, for each cell.
pub(super) fn reductions(report: &Report) -> String {
    let mut out = Csv::default();
    out.row([
        "experiment",
        "series",
        "baseline",
        "bandwidth_kbps",
        "delay_ms",
        "of_means_percent",
        "of_means_ci95",
        "of_positions_percent",
        "of_positions_ci95",
        "best_percent",
        "best_tsn",
        "replications",
        "seed",
    ]);
    let optional = |v: Option<f64>| v.map(|v| format!("{v:.4}")).unwrap_or_default();
    for r in &report.analysis.reductions {
        let fields = [
            report.experiment.id.clone(),
            r.series.clone(),
            r.baseline.clone(),
            r.cell.bandwidth_kbps.to_string(),
            r.cell.delay_ms.to_string(),
            format!("{:.4}", r.of_means.value),
            optional(r.of_means.ci95),
            format!("{:.4}", r.of_positions.value),
            optional(r.of_positions.ci95),
            format!("{:.4}", r.best.value),
            r.best_tsn.map(|tsn| tsn.to_string()).unwrap_or_default(),
            report.experiment.replications.count.to_string(),
            report.experiment.replications.seed.to_string(),
        ];
        out.row(fields.iter().map(String::as_str));
    }
    out.0
}

/// Keys of the parameters in which a profile differs from RFC 9260, and their values for each
/// profile.
fn parameter_columns(report: &Report) -> (Vec<String>, Vec<Vec<String>>) {
    let standard = flatten(&Profile::standard().to_toml());
    let profiles: Vec<Vec<(String, String)>> =
        report.profiles.iter().map(|p| flatten(&p.parameters)).collect();
    let differing: BTreeSet<&String> = profiles
        .iter()
        .flatten()
        .filter(|pair| !standard.contains(pair))
        .map(|(key, _)| key)
        .filter(|key| key.contains('.'))
        .collect();
    let values = profiles
        .iter()
        .map(|pairs| {
            let value = |key: &&String| {
                pairs.iter().find(|(k, _)| k == *key).map(|(_, v)| v.clone()).unwrap_or_default()
            };
            differing.iter().map(value).collect()
        })
        .collect();
    (differing.into_iter().cloned().collect(), values)
}

/// `[rto] min_ms = 100` becomes (`rto.min_ms`, `100`).
fn flatten(toml: &str) -> Vec<(String, String)> {
    let table: toml::Table = toml.parse().unwrap_or_default();
    let mut pairs = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                pairs.extend(inner.into_iter().map(|(k, v)| (format!("{key}.{k}"), plain(&v))));
            }
            value => pairs.push((key, plain(&value))),
        }
    }
    pairs
}

fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[derive(Default)]
struct Csv(String);

impl Csv {
    fn row<'a>(&mut self, fields: impl IntoIterator<Item = &'a str>) {
        for (i, field) in fields.into_iter().enumerate() {
            if i > 0 {
                self.0.push(',');
            }
            if field.contains(['"', ',', '\n', '\r']) {
                self.0.push('"');
                self.0.push_str(&field.replace('"', "\"\""));
                self.0.push('"');
            } else {
                self.0.push_str(field);
            }
        }
        self.0.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_when_they_need_it() {
        let mut csv = Csv::default();
        csv.row(["a", "b,c", "say \"x\""]);
        assert_eq!(csv.0, "a,\"b,c\",\"say \"\"x\"\"\"\n");
    }

    #[test]
    fn parameters_get_dotted_keys() {
        let pairs = flatten("name = 'x'\n[rto]\nmin_ms = 100.0\n");
        assert!(pairs.contains(&("rto.min_ms".into(), "100.0".into())), "{pairs:?}");
        assert!(pairs.contains(&("name".into(), "x".into())));
    }
}
