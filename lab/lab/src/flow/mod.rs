//! Experiments on whole flows: traffic of any shape through a lossy, delaying, reordering
//! network, over one path or two, measured at both ends. The schema, and how its runs are made; `report/flow/`
//! reads them.

mod axis;
mod cell;
pub mod effect;
mod measure;
pub mod metric;
pub mod plan;
pub mod plots;
pub mod printed;
mod processor;
pub mod record;
pub mod run;
mod scenario;
mod schema;
mod service;
mod tcp;
mod topology;
mod validate;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::{AssociationConfig, Profile};
use tresse_report::Statistic;

use crate::schema::{Experiment, Named};
pub use axis::{Axis, Cell};
use effect::Effect;
pub use measure::{Measure, Over, Published};
use plots::Plot;
pub use processor::{Processor, Walks};
pub use service::Service;
pub use topology::{Move, Mover, PathMtu, SecondPath, Shared, Topology};

/// What an experiment on a whole flow says besides [`Common`](crate::common::Common): `kind = "flow"`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The network.
    pub topology: Topology,
    /// What packets cost the processors of both hosts. Default: no time.
    #[serde(default)]
    pub processor: Option<Processor>,
    /// What is varied. Each combination of values is a *cell*.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
    /// What happens to the network in the course of a run.
    #[serde(default, rename = "change")]
    pub changes: Vec<Change>,
    /// What the application sends.
    pub workload: Workload,
    /// What is recorded beyond the counters.
    #[serde(default)]
    pub observe: Observe,
    /// What stands for the replications. Default: their mean.
    #[serde(default)]
    pub statistic: Statistic,
    /// It takes minutes: `lab run --all` leaves it out unless `--slow` is given. Default false.
    #[serde(default)]
    pub slow: bool,
    /// Tables of measured values.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableSpec>,
    /// Plots to draw.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
    /// Published numbers, shown beside ours.
    #[serde(default)]
    pub published: Vec<Published>,
    /// Whole tables of them; read into `published`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<printed::Printed>,
    /// What one profile changes against another.
    #[serde(default, rename = "effect")]
    pub effects: Vec<Effect>,
    /// How profiles are ranked in the matrix of workloads and profiles. Default: not part of it.
    #[serde(default)]
    pub matrix: Option<Matrix>,
}

/// A change of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When, in seconds after the association is up.
    pub at_s: f64,
    /// Which key below `topology`, such as `second.forward.up`.
    pub key: String,
    /// Its new value.
    pub value: toml::Value,
}

/// What the application sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// Messages, or bursts of them, at fixed intervals.
    Periodic(Periodic),
    /// As much as the association takes.
    Bulk(Bulk),
    /// Messages at given times.
    Given(Given),
}

impl Workload {
    /// For how long messages are sent, if that is fixed.
    fn duration_s(&self) -> Option<f64> {
        match self {
            Workload::Periodic(p) => Some(p.duration_s),
            Workload::Bulk(b) => b.duration_s,
            Workload::Given(g) => Some(g.duration_s),
        }
    }
}

/// Messages, or bursts of them, at fixed intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Periodic {
    /// Bytes of user data in a message.
    pub message_bytes: usize,
    /// Milliseconds from the first message of one burst to the first of the next.
    pub every_ms: f64,
    /// Messages in a burst. Default 1.
    #[serde(default = "one")]
    pub burst: u32,
    /// Milliseconds between the messages of a burst. Default 0.
    #[serde(default)]
    pub spacing_ms: f64,
    /// For how long messages are sent, in seconds. The run ends when all have arrived, or two seconds later if some may be
    /// given up.
    pub duration_s: f64,
    /// How they are to be delivered.
    #[serde(default, skip_serializing_if = "Service::is_default")]
    pub service: Service,
    /// What is sent on another stream at the same time. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// Large messages on a stream of their own, beside periodic ones. They have metrics of their own, too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// Bytes of user data in a message.
    pub message_bytes: usize,
    /// Milliseconds from one to the next; the first one is sent after half of that.
    pub every_ms: f64,
}

/// As much as the association takes, for some time or until all has arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Bytes of user data in a message.
    pub message_bytes: usize,
    /// For how long messages are sent, in seconds; the run ends then. Excludes `total_bytes`.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Bytes of user data to transfer, rounded up to whole messages; the run ends when they have
    /// arrived.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// What is delivered in this many seconds at the beginning, and that time, do not count for
    /// goodput. Less than `duration_s`, which it needs. Default 0.
    #[serde(default)]
    pub warmup_s: f64,
    /// Messages need not arrive in order. Default false.
    #[serde(default)]
    pub unordered: bool,
}

/// Messages at given times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The messages, in any order.
    pub messages: Vec<GivenMessages>,
    /// When the run ends, in seconds; all messages must have arrived by then.
    pub duration_s: f64,
}

/// Messages of one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenMessages {
    /// When, in milliseconds after the association is up.
    pub at_ms: f64,
    /// Bytes of user data in each.
    pub bytes: usize,
    /// How many. Default 1.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

/// What is recorded beyond the counters. Each costs time and none changes the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Observe {
    /// Cumulative retransmission delays by number and type (Pedersen §3.2), and the delays since the transmission before
    /// (§3.3). TCP has the latter in any case.
    pub retransmissions: bool,
    /// A chunk that is bundled keeps the SACKs that reported it missing before, so that it is reported
    /// missing ever after. Default: they are forgotten whenever it is sent again.
    pub bundled_keep_reports: bool,
    /// RTO, measured RTT, RTO.Min and congestion window over time.
    pub series: bool,
    /// When each TSN was sent, sent again and acknowledged, which transmissions were lost, and
    /// when each message was delivered (the last not for bulk transfers, which keep no log).
    pub sequence: bool,
    /// What SACKs report in gap blocks, what the receiver holds for order, how long messages take
    /// from the first transmission to the delivery, and for how long nothing is delivered.
    pub transfer: bool,
    /// How old the newest message is that the receiver has, while messages are sent (not for bulk transfers, which keep no log).
    pub age: bool,
    /// Every run is made over each of the paths alone as well, to compare with.
    pub alone: bool,
}

/// A table of measured values: one row for each profile and cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Heading.
    pub title: String,
    /// What stands in it. Default `values`.
    #[serde(default)]
    pub kind: TableKind,
    /// Columns: names of metrics (see [`metric`]).
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Number of retransmissions of a chunk that are shown, with the kind `retransmissions`.
    /// Default 3.
    #[serde(default = "three")]
    pub retransmissions: u32,
    /// Folded away on the page, left out on the terminal. Default false.
    #[serde(default)]
    pub detail: bool,
}

fn three() -> u32 {
    3
}

/// What stands in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// The metrics that are named.
    #[default]
    Values,
    /// Cumulative retransmission delays by number and type: count, smallest, largest, average.
    Retransmissions,
}

/// How profiles are ranked in the matrix of workloads and profiles.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The paper's metric.
    pub metric: String,
    /// Whether more of it is better. Default false.
    #[serde(default)]
    pub higher_is_better: bool,
}

impl Experiment<Flow> {
    /// Settings of both endpoints with `profile`, as this network asks for them.
    pub(crate) fn association(&self, profile: &Arc<Profile>) -> AssociationConfig {
        let settings = &self.common.association;
        let least = (settings.buffer_bdps * self.kind.topology.bandwidth_delay_bytes()).ceil();
        let mut config = AssociationConfig {
            send_buffer: settings.send_buffer.max(least as usize),
            receive_buffer: settings.receive_buffer.max(least as u32),
            ..settings.config(profile)
        };
        if let Workload::Periodic(Periodic { service, .. }) = &self.kind.workload {
            config.reliability = service.reliability();
            config.extensions.partial_reliability |= service.is_partial();
        }
        config
    }
}

impl Named for Flow {
    fn kind(&self) -> Option<&'static str> {
        Some("flow")
    }
}
