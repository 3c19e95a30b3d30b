//! Experiments on whole flows: traffic of any shape through a lossy, delaying, reordering
//! network, over one path or two, measured at both ends. The schema, and all that is computed from
//! the runs.

pub mod analysis;
mod cell;
pub mod effect;
mod figure;
mod matrix;
pub mod measurements;
pub mod metric;
pub mod plan;
pub mod plots;
pub mod printed;
mod processor;
pub mod record;
mod rows;
pub mod run;
mod scenario;
mod setup;
mod tables;
mod topology;
mod validate;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::{AssociationConfig, Profile};
use tresse_report::{DataFile, Drawing, Statistic};

use crate::common::{AssociationSettings, Inferred, Paper, ProfileEntry, Replications};
use crate::comparison;
use crate::error::LabError;
use crate::mistake::Mistake;
use crate::outcome::Outcome;
pub use cell::{Axis, Cell};
use effect::Effect;
use plots::Plot;
pub use processor::{Processor, Walks};
use record::FlowRecord;
pub use topology::{SecondPath, Shared, Topology};

/// One experiment: what is built, what is varied, what is measured, and what was published.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Tells this kind of experiment from [`SingleLoss`](crate::single_loss::SingleLoss).
    pub kind: Kind,
    /// `paper/figure`; also the folder of its results. Letters, digits, `.`, `-`, `_` and `/`.
    pub id: String,
    /// One line.
    pub title: String,
    /// Where it was published.
    pub paper: Paper,
    /// What is done and what it shows, for a reader who does not have the paper.
    pub summary: String,
    /// Readings chosen where the paper is silent, and physical reasons for differences.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the paper does not print and was fitted on some of its results. Default: nothing.
    #[serde(default)]
    pub inferred: Vec<Inferred>,
    /// The network.
    pub topology: Topology,
    /// Settings of both endpoints that are not part of a profile.
    #[serde(default)]
    pub association: AssociationSettings,
    /// What packets cost the processors of both hosts. Default: no time.
    #[serde(default)]
    pub processor: Option<Processor>,
    /// Profile parameters in force for every profile of the experiment (the keys of
    /// [`tresse_core::Profile`]).
    #[serde(default)]
    pub parameters: toml::Table,
    /// The senders that are compared.
    #[serde(rename = "profile")]
    pub profiles: Vec<ProfileEntry>,
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
    /// How often all this is repeated.
    #[serde(default)]
    pub replications: Replications,
    /// What stands for the replications. Default: their mean.
    #[serde(default)]
    pub statistic: Statistic,
    /// It takes minutes: `lab run --all` leaves it out unless it is told to do it all. Default false.
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

/// The kind of experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A flow through a network.
    Flow,
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
    /// For how long messages are sent, in seconds. The run ends when all have arrived.
    pub duration_s: f64,
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
    /// What is delivered in so many seconds at the beginning, and the time that it takes, do not
    /// count for goodput. Less than `duration_s`, which it needs. Default 0.
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
    /// Cumulative retransmission delays by number and type (Pedersen §3.2).
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

/// A published number.
pub type Published = comparison::Published<Measure>;

/// A number of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Name of a metric (see [`metric`]).
    pub metric: String,
    /// Label of the profile.
    pub series: String,
    /// Which cell, by the names of the axes. Needed for every axis, unless `over` is given.
    #[serde(default)]
    pub at: toml::Table,
    /// Which of the values in the cells that `at` leaves open. Default: `at` leaves none open.
    #[serde(default)]
    pub over: Option<Over>,
    /// By how many percent it is above that of this profile in the same cell.
    #[serde(default)]
    pub relative_to: Option<String>,
    /// In which cell `relative_to` is taken; with `over`, axes that it does not name have the values of the
    /// cell itself. Default: the same one. Without `relative_to` the other cell of the same profile.
    #[serde(default)]
    pub relative_at: Option<toml::Table>,
    /// By how much it is above that of this profile in the same cell.
    #[serde(default)]
    pub above: Option<String>,
}

/// One of the values in several cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The smallest.
    Smallest,
    /// The largest.
    Largest,
    /// The nearest to the published number; cells that have none are left out. It is chosen by the runs with odd
    /// numbers and judged by those with even ones, which have other seeds: a scan of what the paper leaves open.
    Nearest,
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

impl Flow {
    /// The entry whose label is `label`.
    pub fn profile(&self, label: &str) -> Option<&ProfileEntry> {
        self.profiles.iter().find(|p| p.label == label)
    }

    /// Reads the printed tables into the published numbers, and checks what the types of the schema cannot
    /// say.
    pub(crate) fn prepare(&mut self) -> Result<(), Mistake> {
        let printed = std::mem::take(&mut self.printed);
        self.published.extend(printed.iter().flat_map(printed::Printed::published));
        self.validate()
    }

    /// Checks what the types of the schema cannot say.
    pub(crate) fn validate(&self) -> Result<(), Mistake> {
        validate::validate(self)
    }

    /// Leaves out published numbers that do not fit a changed sweep.
    pub(crate) fn drop_unfit_publications(&mut self) {
        let published = std::mem::take(&mut self.published);
        let fits = |p: &Published| validate::measure(self, "", &p.measure).is_ok();
        let fitting = published.into_iter().filter(fits).collect();
        self.published = fitting;
    }

    /// Settings of both endpoints with `profile`, as this network asks for them.
    pub(crate) fn association(&self, profile: &Arc<Profile>) -> AssociationConfig {
        let settings = &self.association;
        let least = (settings.buffer_bdps * self.topology.bandwidth_delay_bytes()).ceil();
        AssociationConfig {
            send_buffer: settings.send_buffer.max(least as usize),
            receive_buffer: settings.receive_buffer.max(least as u32),
            ..settings.config(profile)
        }
    }

    /// Everything that the runs say.
    pub(crate) fn outcome(&self, records: &[FlowRecord]) -> Result<Outcome, LabError> {
        let measurements = measurements::Measurements::new(self, records);
        let analysis = analysis::analyse(self, &measurements);
        let mut drawings = Vec::new();
        for plot in &self.plots {
            if let Some(figure) = figure::build(plot, self, &measurements) {
                drawings.push(Drawing::new(&plot.file, &figure).map_err(LabError::Option)?);
            }
        }
        let mut data = vec![DataFile {
            name: "rows".into(),
            what: "one row for each run with everything that was measured".into(),
            frame: rows::runs(self, records),
        }];
        data.extend(rows::traces(self, records));
        Ok(Outcome {
            packets: records.iter().map(|r| r.packets).sum(),
            setup: setup::describe(self),
            comparisons: analysis.comparisons.clone(),
            tables: effect::table(&analysis.effects)
                .into_iter()
                .chain(tables::tables(self, &measurements))
                .collect(),
            drawings,
            data,
            matrix: matrix::rows(self, &measurements),
            analysis: serde_json::to_value(&analysis).unwrap_or_default(),
        })
    }
}
