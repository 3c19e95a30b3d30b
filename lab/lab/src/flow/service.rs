//! How messages are to be delivered.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tresse_core::Reliability;

/// What messages ask of the association. Default: ordered, and never given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// They need not arrive in order. Default false.
    pub unordered: bool,
    /// Milliseconds after which a message is given up that would have to be sent, or sent again (RFC 3758 §4.1). Default:
    /// never. Excludes `retransmissions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime_ms: Option<f64>,
    /// How often a part of a message is sent again before it is given up (RFC 7496 §3.1). Default: as often as need be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u32>,
}

impl Service {
    /// Whether it is the default.
    pub(super) fn is_default(&self) -> bool {
        *self == Service::default()
    }

    /// When a message is given up.
    pub(super) fn reliability(&self) -> Reliability {
        match (self.lifetime_ms, self.retransmissions) {
            (Some(ms), _) => Reliability::Timed(Duration::from_secs_f64(ms / 1e3)),
            (None, Some(most)) => Reliability::Retransmissions(most),
            (None, None) => Reliability::Full,
        }
    }

    /// Whether a message may be given up.
    pub(super) fn is_partial(&self) -> bool {
        self.reliability() != Reliability::Full
    }

    /// The same in words, as the end of a sentence.
    pub(crate) fn describe(&self) -> String {
        let order = if self.unordered { ", unordered" } else { "" };
        let given_up = match self.reliability() {
            Reliability::Timed(lifetime) => format!(", given up after {lifetime:?}"),
            Reliability::Retransmissions(most) => {
                format!(", given up after {most} retransmissions")
            }
            _ => String::new(),
        };
        format!("{order}{given_up}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_a_reliability_and_words() {
        let service = |text: &str| toml::from_str::<Service>(text).unwrap();
        let timed = service("unordered = true\nlifetime_ms = 100.0");
        assert_eq!(timed.reliability(), Reliability::Timed(Duration::from_millis(100)));
        assert_eq!(timed.describe(), ", unordered, given up after 100ms");
        let once = service("retransmissions = 0");
        assert_eq!(once.reliability(), Reliability::Retransmissions(0));
        assert!(once.is_partial() && !once.is_default());
        assert!(service("").is_default() && !service("unordered = true").is_partial());
    }
}
