//! What an experiment file says about its plots.

use serde::{Deserialize, Serialize};

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
    /// The metric (see [`metric`](super::metric)), for `by-axis` and `by-profile`. For
    /// `by-retransmission` the type of retransmission, such as `timeout-or-fast`.
    #[serde(default)]
    pub metric: String,
    /// The axis on the x axis, for `by-axis`.
    #[serde(default)]
    pub axis: String,
    /// Only cells with these values. With several cells left, `by-axis` draws a line for each,
    /// and the plots of single runs show the first.
    #[serde(default)]
    pub at: toml::Table,
    /// Metrics that are drawn as plain lines, such as `ideal_mbps`, for `by-axis`: those of the
    /// first profile, in the first cells.
    #[serde(default)]
    pub curves: Vec<String>,
    /// The values of the axis have no order, so their points are not joined, for `by-axis`; those of a
    /// named value stand side by side. Default false.
    #[serde(default)]
    pub separate: bool,
    /// The metrics side by side, for `by-metric`.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Names of the time series in it, for `series`: `rto_ms`, `rtt_ms`, `rto_min_ms`, `cwnd`.
    #[serde(default)]
    pub names: Vec<String>,
    /// Which path, for `sequence`: 1 or 2. Default: both.
    #[serde(default)]
    pub path: Option<u8>,
    /// Beginning and end of the time that is shown, in seconds, for `series` and `sequence`.
    #[serde(default)]
    pub span_s: Option<[f64; 2]>,
    /// Label of the x axis. Default: that of what is on it.
    #[serde(default)]
    pub x_label: Option<String>,
    /// Label of the y axis. Default: that of the metric.
    #[serde(default)]
    pub y_label: Option<String>,
    /// Upper end of the y axis, in its unit. Default: what the values need.
    #[serde(default)]
    pub y_max: Option<f64>,
    /// The y axis is logarithmic. Default false.
    #[serde(default)]
    pub y_log: bool,
    /// Horizontal lines drawn in, such as the true round-trip time.
    #[serde(default)]
    pub levels: Vec<Level>,
}

/// A horizontal line for orientation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Where it is, in the unit of the y axis.
    pub y: f64,
    /// What it is.
    pub label: String,
}

/// What a plot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A metric against the values of an axis, a line for each profile.
    ByAxis,
    /// A metric for each profile, side by side.
    ByProfile,
    /// Several metrics side by side, for each profile and cell.
    ByMetric,
    /// Average cumulative retransmission delay against the number of the retransmission, with a
    /// bar from the smallest to the largest.
    ByRetransmission,
    /// Time series of the first replication.
    Series,
    /// Sent, sent again and acknowledged TSNs of the first replication over time.
    Sequence,
}

impl PlotKind {
    /// Whether profiles stand side by side in it.
    pub(crate) fn compares_profiles(self) -> bool {
        matches!(
            self,
            PlotKind::ByAxis
                | PlotKind::ByProfile
                | PlotKind::ByMetric
                | PlotKind::ByRetransmission
        )
    }
}
