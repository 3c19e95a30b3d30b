//! What was played: every packet, every decision of the sender, every message. Times are milliseconds from the
//! beginning of the simulation; TSNs count from 1, as if the first one of each direction were 1.

use serde::Serialize;
use tresse_core::Time;

use crate::scenario::Way;

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    /// One for each side of the scenario, in its order.
    pub sides: Vec<SideStory>,
}

/// What one sender and its receiver did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideStory {
    /// Name of its profile.
    pub profile: String,
    /// The packets in the order in which they were sent, both directions together.
    pub packets: Vec<Packet>,
    /// How many more there were, which are counted and not listed.
    pub packets_left_out: u64,
    /// What the sender decided, in order.
    pub decisions: Vec<Decision>,
    /// How many more there were.
    pub decisions_left_out: u64,
    /// The congestion window, whenever it changed.
    pub windows: Vec<WindowPoint>,
    /// The messages in the order in which they were to be sent.
    pub messages: Vec<Message>,
    /// All of it in numbers.
    pub summary: Summary,
    /// When the simulation ended.
    pub ended_ms: f64,
    /// Why it ended before its time, or how the association did; `None` if it is still up.
    pub note: Option<String>,
}

/// A packet on the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Packet {
    /// Its direction, never `Both`.
    pub way: Way,
    /// Its number in that direction, from 1.
    pub number: u64,
    /// Its number among those to the receiver that carry user data; `None` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<u64>,
    /// When it was sent.
    pub sent_ms: f64,
    /// When it arrived; `None` if it is lost, or still on its way at the end.
    pub arrived_ms: Option<f64>,
    /// Who lost it.
    pub lost_by: Option<LostBy>,
    /// Milliseconds for which an event held it up.
    #[serde(skip_serializing_if = "is_zero")]
    pub held_ms: f64,
    /// Bytes with the IP header.
    pub bytes: usize,
    /// What it carries, in its order.
    pub chunks: Vec<Chunk>,
    /// Why user data in it is sent again, for the first chunk for which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<&'static str>,
    /// Whether all the user data in it that is sent again had been on its way to the receiver already and arrived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needless: bool,
}

/// Where a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostBy {
    /// By an event of the scenario.
    Event,
    /// The queue of the bottleneck was full.
    Queue,
    /// At random.
    Chance,
}

/// A chunk of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chunk {
    /// Its type, as RFCs write it: `DATA`.
    pub name: &'static str,
    /// What it says, in few words: `12`, or `9, 11–12` for a SACK of 9 with a gap ack block.
    pub text: String,
    /// TSN of user data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsn: Option<u32>,
    /// Which transmission of it this is, if not the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission: Option<u32>,
}

/// Something that the sender decided or found out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// When.
    pub at_ms: f64,
    /// Of what kind.
    pub kind: DecisionKind,
    /// What: `TSN 12 is lost`.
    pub what: String,
    /// Why: `3 SACKs reported what was sent later`.
    pub why: String,
    /// Since when it was waited for, for timers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<f64>,
}

/// Kinds of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionKind {
    /// Chunks are declared lost.
    Lost,
    /// T3-rtx expired.
    Timeout,
    /// Chunks are sent again that are not known to be lost.
    Guess,
    /// A loss was none.
    Spurious,
    /// The congestion window changed, other than by acknowledgments.
    Window,
    /// Anything else.
    Other,
}

/// The congestion window at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WindowPoint {
    /// When.
    pub at_ms: f64,
    /// Bytes of the congestion window.
    pub cwnd: usize,
    /// Bytes in flight.
    pub flight: usize,
}

/// A message of the application.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Its number, from 1.
    pub number: u64,
    /// When it was to be sent.
    pub sent_ms: f64,
    /// When the receiving application had it.
    pub delivered_ms: Option<f64>,
}

/// A side in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Messages that the sender took.
    pub messages: u64,
    /// Those of them that arrived.
    pub delivered: u64,
    /// Mean transfer time of these, in milliseconds.
    pub mean_ms: Option<f64>,
    /// 99 of 100 were quicker.
    pub p99_ms: Option<f64>,
    /// The slowest.
    pub max_ms: Option<f64>,
    /// User data that arrived, per second from the first message on, in kbit/s.
    pub goodput_kbps: f64,
    /// Chunks with user data that were sent, each time counted.
    pub chunks: u64,
    /// Those of them that were sent before.
    pub again: u64,
    /// Those of these of which an earlier transmission arrived.
    pub needless: u64,
    /// Expirations of T3-rtx.
    pub timeouts: u64,
    /// Packets lost by events.
    pub lost_by_events: u64,
    /// Packets lost in the queue.
    pub lost_in_queue: u64,
    /// Packets lost at random.
    pub lost_by_chance: u64,
}

/// Milliseconds since the beginning.
pub(crate) fn millis(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e6
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
