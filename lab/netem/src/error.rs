//! What is wrong with settings.

use thiserror::Error;

/// The longest delay that can be configured: some 11 days.
pub(crate) const MAX_MILLIS: f64 = 1e9;

pub(crate) fn fault(key: &'static str, reason: String) -> Result<(), ConfigError> {
    Err(ConfigError { key, reason })
}

/// A value of a [`LinkConfig`](crate::LinkConfig) that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {reason}")]
pub struct ConfigError {
    /// The key at fault.
    pub key: &'static str,
    /// What is wrong, in one line.
    pub reason: String,
}
