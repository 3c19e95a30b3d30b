//! Experiments in which exactly one packet is dropped a run, each one in turn: the schema, and
//! how its runs are made; `report/single_loss/` reads them.

pub mod plan;
pub mod record;
pub mod run;
mod scenario;
mod schema;
mod validate;
pub mod workload;

use serde::{Deserialize, Serialize};
use tresse_netem::LinkConfig;

use crate::common::ProfileEntry;
use crate::comparison;
use crate::schema::{Experiment, Named};

/// What an experiment on single losses says besides [`Common`](crate::common::Common). It needs no `kind`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SingleLoss {
    /// The network, and the values it is swept over.
    pub topology: Topology,
    /// What the application sends.
    pub workload: Workload,
    /// What the network drops.
    pub loss: LossPlan,
    /// What is measured.
    pub metric: Metric,
    /// Plots to draw.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
    /// Published numbers, shown beside ours.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// Two hosts and the emulated network between them. Each combination of bandwidth and delay is
/// one *cell* of the experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Bandwidths of the bottleneck, kbit/s of IP packets, in both directions.
    pub bandwidth_kbps: Vec<f64>,
    /// One-way delays, milliseconds, in both directions.
    pub delay_ms: Vec<f64>,
    /// Everything else about the link from the data sender to the data receiver.
    #[serde(default)]
    pub forward: LinkConfig,
    /// Everything else about the link back.
    #[serde(default)]
    pub backward: LinkConfig,
}

/// What the application sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// Bursts of messages with pauses between them.
    Bursts(Bursts),
}

/// Bursts of equal messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Bursts sent in one run.
    pub count: u32,
    /// Bursts at the beginning that are not measured.
    pub ignore: u32,
    /// Messages in a burst.
    pub size: Size,
    /// Milliseconds from the last message of one burst to the first of the next.
    pub gap_ms: Gap,
    /// Bytes of user data in a message.
    pub message_bytes: usize,
    /// Milliseconds between the messages of a burst. Default 0: the application hands them over
    /// one after the other without a pause.
    #[serde(default)]
    pub spacing_ms: f64,
    /// Number that the paper gives the first message of a flow. Default 1.
    #[serde(default = "one")]
    pub first_tsn: u32,
}

/// Messages in a burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or { uniform = [low, high] }")]
pub enum Size {
    /// Always the same.
    Fixed(u32),
    /// Drawn for each burst.
    Random(RandomSize),
}

/// How the size of a burst is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RandomSize {
    /// Discrete uniform distribution from the first to the second number, both included.
    Uniform([u32; 2]),
}

/// Time between bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or { exponential = mean }")]
pub enum Gap {
    /// Always the same, milliseconds.
    Fixed(f64),
    /// Drawn for each burst.
    Random(RandomGap),
}

/// How a gap is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RandomGap {
    /// Exponential distribution with this mean, milliseconds.
    Exponential(f64),
}

/// What the network drops.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossPlan {
    /// Which packets.
    pub drop: Drop,
    /// Also make a run without any loss for each profile. Default true.
    #[serde(default = "yes")]
    pub no_loss_run: bool,
}

/// Which packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drop {
    /// Exactly one packet with data a run, at every measured position in turn.
    EachDataPacket,
    /// None.
    Nothing,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// The quantity.
    pub kind: MetricKind,
    /// What "average reduction" means in tables, plots and comparisons. The other reading is
    /// always in the CSV and in `summary.json`.
    #[serde(default)]
    pub average_reduction: AverageReduction,
}

/// A quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricKind {
    /// Message transfer time: from the sending application to the receiving one, of the message
    /// whose packet was dropped (of every message in a run without loss).
    Mtt,
}

/// Two readings of "the average reduction of MTT".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AverageReduction {
    /// `1 − mean(variant) / mean(baseline)`: how much less one waits.
    #[default]
    OfMeans,
    /// The mean over all loss positions of `1 − variant / baseline`.
    OfPositions,
}

/// One plot.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// File name without `.svg`.
    pub file: String,
    /// Title above it.
    pub title: String,
    /// What it shows.
    pub kind: PlotKind,
    /// Labels of the profiles in it.
    pub series: Vec<String>,
    /// Also draw the run without loss (of the first profile). Default false.
    #[serde(default)]
    pub no_loss: bool,
    /// Replication shown, counted from 1, where a plot shows a single one. Default 1.
    #[serde(default = "one")]
    pub replication: u32,
    /// Upper end of the y axis, in its unit. Default: what the values need.
    #[serde(default)]
    pub y_max: Option<f64>,
}

/// What a plot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// MTT of the dropped message against its number, one line per profile, in the first cell.
    MttByMessage,
    /// Average reduction against the delay, one line per bandwidth, for one profile.
    ReductionByDelay,
}

/// A published number.
pub type Published = comparison::Published<Measure>;

/// A number of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Measure {
    /// Reduction of MTT against the baseline of the profile.
    Reduction(ReductionMeasure),
    /// MTT.
    Mtt(MttMeasure),
}

/// Which reduction.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReductionMeasure {
    /// Label of the profile.
    pub series: String,
    /// Average over all loss positions, or the largest one.
    pub statistic: ReductionStatistic,
    /// Only these positions within the burst, counted from 1. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<u32>,
    /// Cell, if there are several: kbit/s.
    #[serde(default)]
    pub bandwidth_kbps: Option<f64>,
    /// Cell, if there are several: milliseconds.
    #[serde(default)]
    pub delay_ms: Option<f64>,
}

/// Which statistic of the reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReductionStatistic {
    /// Average over the loss positions, as [`Metric::average_reduction`] reads it.
    Average,
    /// The largest one of all loss positions.
    Best,
    /// The reduction for the message that the paper numbers so.
    #[serde(rename = "at-tsn")]
    AtTsn(u32),
}

/// Which MTT.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MttMeasure {
    /// Label of the profile.
    pub series: String,
    /// Statistic over the loss positions.
    pub statistic: MttStatistic,
    /// Only these positions within the burst, counted from 1. Default: all.
    #[serde(default)]
    pub positions: Vec<u32>,
    /// Cell, if there are several: kbit/s.
    #[serde(default)]
    pub bandwidth_kbps: Option<f64>,
    /// Cell, if there are several: milliseconds.
    #[serde(default)]
    pub delay_ms: Option<f64>,
}

/// Which statistic of the MTTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MttStatistic {
    /// Arithmetic mean.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// One combination of bandwidth and delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Bandwidth of the bottleneck, kbit/s.
    pub bandwidth_kbps: f64,
    /// One-way delay, milliseconds.
    pub delay_ms: f64,
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} kbit/s, {} ms", self.bandwidth_kbps, self.delay_ms)
    }
}

impl Topology {
    /// `base`, one of the two links, with the bandwidth and delay of `cell`.
    pub fn link(&self, base: &LinkConfig, cell: Cell) -> LinkConfig {
        LinkConfig {
            bandwidth_kbps: Some(cell.bandwidth_kbps),
            delay_ms: cell.delay_ms,
            ..base.clone()
        }
    }
}

impl SingleLoss {
    /// All cells, bandwidth by bandwidth.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &bandwidth_kbps in &self.topology.bandwidth_kbps {
            for &delay_ms in &self.topology.delay_ms {
                cells.push(Cell { bandwidth_kbps, delay_ms });
            }
        }
        cells
    }

    /// The bursts of the workload.
    pub fn bursts(&self) -> &Bursts {
        let Workload::Bursts(bursts) = &self.workload;
        bursts
    }
}

impl Experiment<SingleLoss> {
    /// Label of the entry that `entry` is compared with; `None` for a baseline itself.
    pub fn baseline_of<'a>(&'a self, entry: &'a ProfileEntry) -> Option<&'a str> {
        let baseline = entry.baseline.as_deref().unwrap_or(&self.common.profiles[0].label);
        (baseline != entry.label).then_some(baseline)
    }
}

impl Named for SingleLoss {
    fn kind(&self) -> Option<&'static str> {
        None
    }
}
