//! What one side asks of the other: how much to send, and when.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tresse::StreamId;

use super::flow::Flow;
use super::payload::{HEADER_LEN, MAX_SIZE, MAX_STREAMS};

/// What to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Test {
    /// Bytes of a message.
    pub(crate) size: usize,
    /// Streams, used in turn.
    pub(crate) streams: u16,
    /// Whether messages are sent unordered.
    pub(crate) unordered: bool,
    /// Whether the server sends.
    pub(crate) reverse: bool,
    /// When messages are sent.
    pub(crate) pace: Pace,
    /// Ends the test when this many messages are sent.
    pub(crate) messages: Option<u64>,
    /// Ends the test after this many milliseconds.
    pub(crate) duration_ms: Option<u64>,
    /// Measure delays by echoes even if both sides share a clock.
    pub(crate) round_trip: bool,
    /// Flows in both directions. If there are any, they are all that is sent, and size, streams,
    /// order, direction and pace say nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flows: Vec<Flow>,
    /// What the random numbers of flows follow from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
}

/// When messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pace {
    /// As fast as the send buffer takes them.
    Bulk,
    /// This many bits of user data a second.
    BitsPerSecond(u64),
    /// One every this many microseconds.
    EveryMicros(u64),
}

/// How delivery delays are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DelayKind {
    /// From `send` to `recv`, on one clock that both sides share.
    OneWay,
    /// From `send` until the receiver's echo is back, on the sender's clock.
    RoundTrip,
}

impl Test {
    /// Checks a request from the other side.
    pub(crate) fn check(&self) -> Result<(), String> {
        let sizes = HEADER_LEN..=MAX_SIZE as usize;
        if !sizes.contains(&self.size) {
            return Err(format!("messages have {HEADER_LEN} bytes to 16 MiB"));
        }
        if !(1..=MAX_STREAMS).contains(&self.streams) {
            return Err(format!("there are 1 to {MAX_STREAMS} streams"));
        }
        if matches!(self.pace, Pace::BitsPerSecond(0) | Pace::EveryMicros(0)) {
            return Err("the pace is zero".into());
        }
        if self.messages.is_none() && self.duration_ms.is_none() {
            return Err("the test has no end".into());
        }
        if self.flows.len() > usize::from(MAX_STREAMS) {
            return Err(format!("there are at most {MAX_STREAMS} flows"));
        }
        for flow in &self.flows {
            flow.check().map_err(|error| format!("flow {}: {error}", flow.id))?;
        }
        if !self.flows.is_empty() && self.duration_ms.is_none() {
            return Err("flows have no end".into());
        }
        Ok(())
    }

    /// Time between two messages; `None` in bulk.
    pub(crate) fn interval(&self) -> Option<Duration> {
        match self.pace {
            Pace::Bulk => None,
            Pace::BitsPerSecond(rate) => {
                Some(Duration::from_secs_f64(self.size as f64 * 8.0 / rate as f64))
            }
            Pace::EveryMicros(micros) => Some(Duration::from_micros(micros)),
        }
    }

    /// The stream of a message.
    pub(crate) fn stream(&self, index: u64) -> StreamId {
        StreamId(1 + (index % u64::from(self.streams)) as u16)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn test() -> Test {
        Test {
            size: 100,
            streams: 3,
            unordered: false,
            reverse: false,
            pace: Pace::Bulk,
            messages: Some(1),
            duration_ms: None,
            round_trip: false,
            flows: Vec::new(),
            seed: None,
        }
    }

    #[test]
    fn requests_are_checked() {
        assert_eq!(test().check(), Ok(()));
        for wrong in [
            Test { size: HEADER_LEN - 1, ..test() },
            Test { size: usize::MAX, ..test() },
            Test { streams: 0, ..test() },
            Test { streams: u16::MAX, ..test() },
            Test { pace: Pace::BitsPerSecond(0), ..test() },
            Test { messages: None, ..test() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn paces_have_intervals() {
        let every = |pace| Test { pace, ..test() }.interval();
        assert_eq!(every(Pace::Bulk), None);
        assert_eq!(every(Pace::BitsPerSecond(8_000)), Some(Duration::from_millis(100)));
        assert_eq!(every(Pace::EveryMicros(2_500)), Some(Duration::from_micros(2_500)));
        assert_eq!((0..4).map(|n| test().stream(n).0).collect::<Vec<_>>(), [1, 2, 3, 1]);
    }
}
