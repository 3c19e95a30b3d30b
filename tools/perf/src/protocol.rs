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

use serde::{Deserialize, Serialize};
use tresse::{Association, Bytes, Ppid, SendError, SendOptions, StreamId};
use tresse_core::wire::printable;

use super::flow::{Amount, FlowReport};
use super::report::{ReceiverReport, SenderReport};
use super::test::Test;

/// Changes when the two sides would no longer understand each other.
pub(crate) const VERSION: u32 = 2;

/// Payload protocol identifier of control messages ("TPC" and a number; none is registered).
pub(crate) const CONTROL: Ppid = Ppid(0x5450_4301);
/// Payload protocol identifier of data.
pub(crate) const DATA: Ppid = Ppid(0x5450_4302);
/// Payload protocol identifier of echoes.
pub(crate) const ECHO: Ppid = Ppid(0x5450_4303);

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

/// Sends a control message.
pub(crate) async fn send(association: &Association, control: &Control) -> Result<(), SendError> {
    let text = serde_json::to_vec(control).unwrap_or_default();
    let options = SendOptions { ppid: CONTROL, sack_immediately: true, ..SendOptions::default() };
    association.send_with(StreamId(0), Bytes::from(text), options).await
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
    use crate::test::tests::test;

    #[test]
    fn control_messages_survive_the_way() {
        let hello = Control::Hello { version: 1, clock: None, test: test() };
        assert_eq!(parse(&serde_json::to_vec(&hello).unwrap()), Ok(hello));
        assert!(parse(b"GET / HTTP/1.1").unwrap_err().contains("language"));
    }
}
