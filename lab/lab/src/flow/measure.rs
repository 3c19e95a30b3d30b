//! Numbers of ours, to which published ones are compared.

use serde::{Deserialize, Serialize};

use crate::comparison;

/// A published number.
pub type Published = comparison::Published<Measure>;

/// A number of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Name of a metric (see [`metric`](super::metric)).
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
