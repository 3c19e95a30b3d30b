//! What the two sides of a test tell each other.
//!
//! Stream 0 carries control messages in JSON, marked by [`CONTROL`]; data travels on the streams
//! from 1 on, marked by [`DATA`]; echoes of data headers come back on stream 0, marked by
//! [`ECHO`].
//!
//! ```text
//!   client                                server
//!     │  Hello: version, clock, test  ───►  │
//!     │  ◄───  Ready: version, clock, ...   │   or Refused: why
//!     │  data, then Done               ───►  │   the other way round with --reverse
//!     │  ◄───  Report of the receiver       │
//!     │  graceful shutdown            ───►  │
//! ```
//! With flows both sides send at once; then each says FlowsSent, and FlowsReceived when it has all
//! that the other one counted.
//!
//! Either side may send Stop, which asks the sender to come to its end.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tresse::{Association, Bytes, Ppid, SendError, SendOptions, StreamId};
use tresse_core::wire::printable;

use super::flow::{Amount, Flow, FlowReport};
use super::payload::HEADER_LEN;
use super::report::{ReceiverReport, SenderReport};

/// Changes when the two sides would no longer understand each other.
pub(crate) const VERSION: u32 = 2;

/// Payload protocol identifier of control messages ("TPC" and a number; none is registered).
pub(crate) const CONTROL: Ppid = Ppid(0x5450_4301);
/// Payload protocol identifier of data.
pub(crate) const DATA: Ppid = Ppid(0x5450_4302);
/// Payload protocol identifier of echoes.
pub(crate) const ECHO: Ppid = Ppid(0x5450_4303);

/// The most streams a test may use.
pub(crate) const MAX_STREAMS: u16 = 1000;
/// The largest message, bytes.
pub(crate) const MAX_SIZE: u64 = 16 << 20;

/// A control message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Control {
    /// The client's request.
    Hello { version: u32, clock: Option<String>, test: Test },
    /// The server agrees.
    Ready { version: u32, clock: Option<String>, profile: String },
    /// The server does not.
    Refused { reason: String },
    /// The sender asks for nothing more, the receiver waits for what is under way.
    Stop,
    /// The sender has sent everything.
    Done { messages: u64, bytes: u64 },
    /// The receiver has received everything.
    Received(Box<ReceiverReport>),
    /// The sender's own figures, when it is the server.
    Sent(Box<SenderReport>),
    /// One side has sent all of its flows, as many messages and bytes of each as this.
    FlowsSent(Vec<Amount>),
    /// One side has received all flows of the other; in the same order.
    FlowsReceived(Vec<FlowReport>),
}

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
    /// Ends the test when so many messages are sent.
    pub(crate) messages: Option<u64>,
    /// Ends the test after so many milliseconds.
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
    /// So many bits of user data a second.
    BitsPerSecond(u64),
    /// One every so many microseconds.
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

/// Sends a control message.
pub(crate) async fn send(association: &Association, control: &Control) -> Result<(), SendError> {
    let text = serde_json::to_vec(control).unwrap_or_default();
    let options = SendOptions { ppid: CONTROL, sack_immediately: true, ..SendOptions::default() };
    association.send(StreamId(0), Bytes::from(text), options).await
}

/// Reads a control message.
pub(crate) fn parse(payload: &[u8]) -> Result<Control, String> {
    let mut control = serde_json::from_slice(payload)
        .map_err(|e| format!("the peer does not speak our language: {e}"))?;
    // What is shown to the user, or written into documents.
    let harmless = |text: &mut String| *text = printable(text).into_owned();
    match &mut control {
        Control::Ready { profile, .. } => harmless(profile),
        Control::Refused { reason } => harmless(reason),
        _ => {}
    }
    Ok(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test() -> Test {
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
    fn control_messages_survive_the_way() {
        let hello = Control::Hello { version: 1, clock: None, test: test() };
        assert_eq!(parse(&serde_json::to_vec(&hello).unwrap()), Ok(hello));
        assert!(parse(b"GET / HTTP/1.1").unwrap_err().contains("language"));
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
