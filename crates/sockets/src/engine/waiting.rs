//! Notifications that wait with their association until the program has room for them.
//!
//! The program's connection holds as much as SO_RCVBUF says; the rest waits here, where it costs no more
//! than the association itself: what a peer can cause again and again is left out or said once, and who
//! has come and gone before the program heard of it is not told of at all (`Engine::on_closed`).

use super::Engine;
use super::notification::{Change, Notification, event};
use crate::abi::Fields;

/// Notifications of an association, and bytes of them, beyond which those are left out that a peer can
/// cause at will; and associations that wait for the program to read, beyond which all of these are.
const MAX_CHEAP: usize = 64;
const MAX_CHEAP_BYTES: usize = 16 * 1024;
const MAX_CHEAP_LINE: usize = 64;

/// Bytes of messages that come back beyond which no more do: four of the largest.
const MAX_RETURNED: usize = 64 << 20;

/// `sac_state` of an SCTP_ASSOC_CHANGE.
const STATE: usize = 8;

/// A notification's type, and what the program reads.
type Told = (u16, Vec<u8>);

/// Notifications of one association, in their order.
#[derive(Default)]
pub(super) struct Waiting {
    list: Vec<Told>,
    bytes: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds one about the association of that number.
    pub(super) fn push(&mut self, number: u32, notification: &Notification<'_>) {
        let full = self.list.len() >= MAX_CHEAP || self.bytes >= MAX_CHEAP_BYTES;
        if notification.is_cheap() && full
            || notification.is_returned() && self.bytes >= MAX_RETURNED
        {
            return;
        }
        let kind = notification.event();
        if notification.is_restart() {
            // That the peer has lost everything need not be said twice.
            self.list.retain(|(kind, payload)| {
                let restart = Fields(payload).u16(STATE) == Change::Restart as u16;
                *kind != event::ASSOC_CHANGE || !restart
            });
        }
        let payload = notification.encode(number);
        self.bytes += payload.len();
        self.list.push((kind, payload));
    }
}

impl IntoIterator for Waiting {
    type Item = Told;
    type IntoIter = std::vec::IntoIter<Told>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl Engine {
    /// Whether so many associations wait for the program to read that a notification which a peer can
    /// cause at will is left out.
    pub(super) fn is_crowded(&self, id: u64) -> bool {
        self.sockets.get(&id).is_some_and(|socket| socket.line.len() >= MAX_CHEAP_LINE)
    }
}

#[cfg(test)]
mod tests {
    use tresse::{Message, Ppid, SendFailure, StreamId};

    use super::*;

    #[test]
    fn what_a_peer_can_cause_at_will_is_bounded() {
        let mut waiting = Waiting::default();
        let up = Notification::Association(Change::Up, (1, 1));
        waiting.push(7, &up);
        for n in 0..1000 {
            // Each with other streams.
            waiting.push(7, &Notification::Association(Change::Restart, (n, n)));
            waiting.push(7, &Notification::Adaptation(n.into()));
        }
        assert_eq!(waiting.len(), MAX_CHEAP);
        let told: Vec<_> = waiting.into_iter().collect();
        assert_eq!(told[0].1, up.encode(7));
        let restarts = told.iter().filter(|(kind, _)| *kind == event::ASSOC_CHANGE).skip(1);
        let last = Notification::Association(Change::Restart, (999, 999)).encode(7);
        assert_eq!(restarts.map(|(_, payload)| payload).collect::<Vec<_>>(), [&last]);
        let mut waiting = Waiting::default();
        for _ in 0..1000 {
            waiting.push(7, &Notification::RemoteError { cause: 13, value: &[0; 1400] });
        }
        assert_eq!(waiting.len(), 12);
    }

    #[test]
    fn what_comes_back_is_bounded_and_what_happens_to_the_association_is_told() {
        let message = Message {
            stream: StreamId(0),
            ppid: Ppid(0),
            unordered: false,
            payload: vec![0; 16 << 20].into(),
        };
        let failure = SendFailure { message, context: 0, sent: false };
        let mut waiting = Waiting::default();
        for _ in 0..6 {
            waiting.push(7, &Notification::SendFailed(&failure));
        }
        waiting.push(7, &Notification::Shutdown);
        assert_eq!(waiting.len(), 5);
    }
}
