//! Ready-made programs: a verified load and its measurement, a router and a NAT.

mod message;
mod nat;
mod record;
mod router;
mod sender;
mod sink;

pub use message::{Content, content, inspect};
pub use nat::Nat;
pub use record::{EventRecord, TraceRecord};
pub use router::Router;
pub use sender::{Bulk, Plan, ScheduledMessage, Sender, SentMessage};
pub use sink::{Delivery, Sink, SinkStats};

use tresse_core::Time;

/// How long one message took from the sending to the receiving application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTime {
    /// Number of the message at its sender, from 0.
    pub index: u64,
    /// Stream.
    pub stream: u16,
    /// Bytes of user data.
    pub size: usize,
    /// When the sending application wanted it sent (simulation time).
    pub sent: Time,
    /// When it reached the receiving application, `None` if it did not.
    pub delivered: Option<Time>,
}

impl TransferTime {
    /// The message transfer time, `None` for a message that did not arrive.
    pub fn duration(&self) -> Option<std::time::Duration> {
        self.delivered.map(|at| at.since(self.sent))
    }
}

/// Matches what one [`Sender`] sent with what a [`Sink`] received from it, in the order of
/// sending. Of a message received twice the first delivery counts. `deliveries` must come from
/// that sender only; messages shorter than 8 bytes carry no whole index and count as not
/// delivered.
pub fn transfer_times<'a>(
    sent: &[SentMessage],
    deliveries: impl IntoIterator<Item = &'a Delivery>,
) -> Vec<TransferTime> {
    let mut times: Vec<TransferTime> = sent
        .iter()
        .map(|message| TransferTime {
            index: message.index,
            stream: message.stream,
            size: message.size,
            sent: message.wanted_at,
            delivered: None,
        })
        .collect();
    for delivery in deliveries {
        let position = delivery
            .index
            .and_then(|index| times.binary_search_by_key(&index, |time| time.index).ok());
        if let Some(time) = position.and_then(|i| times.get_mut(i)) {
            time.delivered.get_or_insert(delivery.at);
        }
    }
    times
}
