//! The text format that Prometheus reads: OpenMetrics 1.0.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tresse::{AssociationMetrics, AssociationState, EndpointMetrics, PathStats};
use tresse_counters::Counter;

use super::counters;
use crate::spool::SpoolStats;

/// Labels of one sample.
type Labels = Vec<(&'static str, String)>;

/// Writes everything as OpenMetrics text. Names begin with `tresse_`, times are in seconds, sizes in
/// bytes; see `docs/observability.md`.
#[must_use]
pub fn prometheus(metrics: &EndpointMetrics, spool: Option<SpoolStats>) -> String {
    let mut registry = Registry::with_prefix("tresse");
    registry.register_collector(Box::new(Figures { metrics: metrics.clone(), spool }));
    let mut text = String::new();
    // Writing to memory does not fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Figures {
    metrics: EndpointMetrics,
    spool: Option<SpoolStats>,
}

/// A gauge: its name, what it tells, and where it is.
type Gauge<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

const ASSOCIATION_GAUGES: [Gauge<AssociationMetrics>; 6] = [
    ("association_send_buffered_bytes", "User data queued or not yet acknowledged", |a| {
        Some(a.stats.send_buffered as f64)
    }),
    ("association_receive_buffered_bytes", "User data not yet read", |a| {
        Some(a.stats.receive_buffered as f64)
    }),
    ("association_memory_bytes", "Memory that it holds", |a| Some(a.stats.memory as f64)),
    ("association_peer_rwnd_bytes", "The peer's window less what is outstanding", |a| {
        Some(a.stats.peer_rwnd as f64)
    }),
    ("association_unacknowledged_chunks", "DATA chunks sent and not yet acknowledged", |a| {
        Some(a.info.unacknowledged_chunks as f64)
    }),
    ("association_unread_messages", "Messages that wait for the application", |a| {
        Some(a.info.unread_messages as f64)
    }),
];

const PATH_GAUGES: [Gauge<PathStats>; 11] = [
    ("path_rtt_seconds", "Last round-trip time sample", |p| Some(p.last_rtt?.as_secs_f64())),
    ("path_rtt_min_seconds", "Shortest round-trip time sample", |p| Some(p.min_rtt?.as_secs_f64())),
    ("path_srtt_seconds", "Smoothed round-trip time", |p| Some(p.srtt?.as_secs_f64())),
    ("path_rttvar_seconds", "Round-trip time variation", |p| {
        p.srtt.map(|_| p.rttvar.as_secs_f64())
    }),
    ("path_queueing_delay_seconds", "Smoothed round-trip time less the shortest one", |p| {
        Some(p.queueing_delay()?.as_secs_f64())
    }),
    ("path_rto_seconds", "Retransmission timeout", |p| Some(p.rto.as_secs_f64())),
    ("path_cwnd_bytes", "Congestion window", |p| Some(p.cwnd as f64)),
    ("path_ssthresh_bytes", "Slow-start threshold", |p| Some(p.ssthresh as f64)),
    ("path_flight_bytes", "Outstanding bytes", |p| Some(p.flight as f64)),
    ("path_mtu_bytes", "Path MTU", |p| Some(p.mtu as f64)),
    ("path_errors", "Consecutive errors", |p| Some(f64::from(p.errors))),
];

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let out = &mut encoder;
        self.encode_endpoint(out)?;
        self.encode_associations(out)?;
        self.encode_paths(out)
    }
}

impl Figures {
    fn encode_endpoint(&self, out: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let EndpointMetrics { endpoint, totals, carrier, associations, .. } = &self.metrics;
        gauge(
            out,
            "uptime_seconds",
            "Age of the endpoint",
            &[(vec![], self.metrics.at.as_secs_f64())],
        )?;
        let omitted = self.metrics.omitted as f64;
        gauge(out, "associations_omitted", "Associations left out here", &[(vec![], omitted)])?;
        let memory = endpoint.memory as f64;
        gauge(out, "memory_bytes", "Memory that all associations hold", &[(vec![], memory)])?;
        let states: Vec<(Labels, f64)> = AssociationState::ALL
            .iter()
            .map(|state| {
                let number = associations.iter().filter(|a| a.info.state == *state).count();
                (vec![("state", state.name().to_owned())], number as f64)
            })
            .collect();
        gauge(out, "associations", "Associations by state, without those left out", &states)?;
        counters(out, "endpoint_", &alone(endpoint.counters()))?;
        counters(out, "totals_", &alone(totals.counters()))?;
        let causes = |counts| vec![(Labels::new(), counts)];
        let sent_again = causes(totals.retransmitted_chunks.as_slice());
        by_cause(out, "totals_retransmitted_chunks", "DATA chunks sent again", &sent_again)?;
        let lost = causes(totals.lost_chunks.as_slice());
        by_cause(out, "totals_lost_chunks", "DATA chunks declared lost", &lost)?;
        counters(out, "carrier_", &alone(carrier.counters()))?;
        match &self.spool {
            Some(spool) => counters(out, "observers_", &alone(spool.counters())),
            None => Ok(()),
        }
    }

    fn encode_associations(&self, out: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let list: Vec<(Labels, &AssociationMetrics)> =
            self.metrics.associations.iter().map(|a| (labels(a), a)).collect();
        let infos: Vec<(Labels, f64)> = list
            .iter()
            .map(|(labels, a)| {
                let peer = a.primary().map(|path| path.remote.to_string()).unwrap_or_default();
                let mut labels = labels.clone();
                labels.push(("state", a.info.state.name().to_owned()));
                labels.push(("peer", peer));
                labels.push(("local_port", a.info.local_port.to_string()));
                labels.push(("remote_port", a.info.remote_port.to_string()));
                (labels, 1.0)
            })
            .collect();
        gauge(out, "association_state", "1 for each association, with its state and peer", &infos)?;
        gauges(out, &ASSOCIATION_GAUGES, &list)?;
        let counts = |a: &AssociationMetrics| a.stats.counters().into_iter().collect();
        let all: Vec<_> = list.iter().map(|(labels, a)| (labels.clone(), counts(a))).collect();
        counters(out, "association_", &all)?;
        let sent_again: Vec<_> = list
            .iter()
            .map(|(labels, a)| (labels.clone(), a.stats.retransmitted_chunks.as_slice()))
            .collect();
        by_cause(out, "association_retransmitted_chunks", "DATA chunks sent again", &sent_again)?;
        let lost: Vec<_> = list
            .iter()
            .map(|(labels, a)| (labels.clone(), a.stats.lost_chunks.as_slice()))
            .collect();
        by_cause(out, "association_lost_chunks", "DATA chunks declared lost", &lost)
    }

    fn encode_paths(&self, out: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut list: Vec<(Labels, &PathStats)> = Vec::new();
        for association in &self.metrics.associations {
            for path in &association.paths {
                let mut labels = labels(association);
                labels.push(("path", path.id.0.to_string()));
                list.push((labels, path));
            }
        }
        let states: Vec<(Labels, f64)> = list
            .iter()
            .map(|(labels, path)| {
                let mut labels = labels.clone();
                labels.push(("remote", path.remote.to_string()));
                labels.push(("state", path.state.name().to_owned()));
                labels.push(("primary", path.primary.to_string()));
                (labels, 1.0)
            })
            .collect();
        gauge(out, "path_state", "1 for each path, with its state and address", &states)?;
        gauges(out, &PATH_GAUGES, &list)?;
        let all: Vec<_> =
            list.iter().map(|(labels, path)| (labels.clone(), counters::path(path))).collect();
        counters(out, "path_", &all)
    }
}

/// The counters of what there is one of: without labels.
fn alone(counters: impl IntoIterator<Item = Counter>) -> [(Labels, Vec<Counter>); 1] {
    [(Labels::new(), counters.into_iter().collect())]
}

fn labels(association: &AssociationMetrics) -> Labels {
    vec![("association", tresse::association_name(association.id))]
}

/// Encodes a sample with its labels; without any there are no braces.
fn with(
    metric: &mut MetricEncoder<'_>,
    labels: &Labels,
    encode: impl FnOnce(&mut MetricEncoder<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if labels.is_empty() { encode(metric) } else { encode(&mut metric.encode_family(labels)?) }
}

fn count(metric: &mut MetricEncoder<'_>, value: u64) -> Result<(), Error> {
    metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
}

/// One gauge with all its samples.
fn gauge(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    samples: &[(Labels, f64)],
) -> Result<(), Error> {
    let mut metric = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in samples {
        with(&mut metric, labels, |metric| metric.encode_gauge(value))?;
    }
    Ok(())
}

/// Several gauges of each thing in a list.
fn gauges<T>(
    out: &mut DescriptorEncoder<'_>,
    gauges: &[Gauge<T>],
    list: &[(Labels, &T)],
) -> Result<(), Error> {
    for (name, help, read) in gauges {
        let samples: Vec<(Labels, f64)> = list
            .iter()
            .filter_map(|(labels, thing)| Some((labels.clone(), read(thing)?)))
            .collect();
        gauge(out, name, help, &samples)?;
    }
    Ok(())
}

/// The counters of each thing in a list; all have the same ones.
fn counters(
    out: &mut DescriptorEncoder<'_>,
    prefix: &str,
    list: &[(Labels, Vec<Counter>)],
) -> Result<(), Error> {
    let Some((_, first)) = list.first() else { return Ok(()) };
    for (i, counter) in first.iter().enumerate() {
        let name = format!("{prefix}{}", counter.name);
        let mut metric =
            out.encode_descriptor(&name, counter.meaning, None, MetricType::Counter)?;
        for (labels, counters) in list {
            with(&mut metric, labels, |metric| count(metric, counters[i].value))?;
        }
    }
    Ok(())
}

/// A counter by cause of each thing in a list.
fn by_cause(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    list: &[(Labels, &[u64])],
) -> Result<(), Error> {
    let mut metric = out.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, counts) in list {
        for (cause, count) in counters::by_cause(counts) {
            let mut labels = labels.clone();
            labels.push(("cause", cause.to_owned()));
            with(&mut metric, &labels, |metric| self::count(metric, count))?;
        }
    }
    Ok(())
}
