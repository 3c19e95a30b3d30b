//! What a mechanism is for: a metric that one profile makes less or more than another does.

use serde::{Deserialize, Serialize};

/// A difference that is claimed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What it is, in words, such as "Delivery of the lost message".
    pub what: String,
    /// Name of a metric (see [`metric`](super::metric)).
    pub metric: String,
    /// Label of the profile that makes the difference.
    pub series: String,
    /// Label of the profile that it is compared with.
    pub against: String,
    /// What becomes of the metric.
    pub becomes: Sense,
}

/// The sense of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// The metric is smaller.
    Less,
    /// The metric is larger.
    More,
}
