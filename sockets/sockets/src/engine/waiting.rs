//! Notifications that wait with their association until the program has room for them.
//!
//! The program's connection holds as much as SO_RCVBUF says; the rest waits here, where it costs no more
//! than the association itself: what a peer can cause again and again is left out or said once, and who
//! has come and gone before the program heard of it is not told of at all (`Engine::on_closed`).

use super::notification::{Change, Notification, event};
use tresse_socket_protocol::abi::Fields;

/// Notifications of an association, and bytes of them, beyond which those are left out that a peer can
/// cause at will.
const MAX_CHEAP: usize = 64;
const MAX_CHEAP_BYTES: usize = 16 * 1024;

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
    cheap: bool,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether it has the beginning of the association.
    pub(super) fn begins(&self) -> bool {
        self.list.iter().any(|told| is_change(told, Change::Up))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are some that a peer can cause at will.
    pub(super) fn is_cheap(&self) -> bool {
        self.cheap
    }

    /// Adds those of another list.
    pub(super) fn append(&mut self, other: &mut Waiting) {
        let Waiting { list, bytes, cheap } = std::mem::take(other);
        self.list.extend(list);
        self.bytes += bytes;
        self.cheap |= cheap;
    }

    /// Adds one about the association of that number.
    pub(super) fn push(&mut self, number: u32, notification: &Notification<'_>) {
        let full = self.list.len() >= MAX_CHEAP || self.bytes >= MAX_CHEAP_BYTES;
        if notification.is_cheap() && full
            || notification.is_returned() && self.bytes >= MAX_RETURNED
        {
            // RFC 6458 §6.1.10: "it will append a final notification SCTP_NOTIFICATIONS_STOPPED_EVENT".
            return self.push(number, &Notification::Stopped);
        }
        let kind = notification.event();
        let like_it = |told: &Told| match kind {
            event::ASSOC_CHANGE => is_change(told, Change::Restart),
            _ => told.0 == kind,
        };
        if notification.is_said_once()
            && let Some(at) = self.list.iter().rposition(like_it)
        {
            let (_, before) = self.list.remove(at);
            self.bytes -= before.len();
        }
        self.cheap |= notification.is_cheap();
        let payload = notification.encode(number);
        self.bytes += payload.len();
        self.list.push((kind, payload));
    }
}

fn is_change((kind, payload): &Told, change: Change) -> bool {
    *kind == event::ASSOC_CHANGE && Fields(payload).u16(STATE) == change as u16
}

impl IntoIterator for Waiting {
    type Item = Told;
    type IntoIter = std::vec::IntoIter<Told>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
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
            waiting.push(7, &Notification::SenderDry);
            waiting.push(7, &Notification::RemoteError { cause: n, value: &[] });
            assert_eq!(waiting.bytes, waiting.list.iter().map(|(_, told)| told.len()).sum());
        }
        assert_eq!(waiting.len(), MAX_CHEAP + 1);
        let told: Vec<_> = waiting.into_iter().collect();
        assert_eq!(told[0].1, up.encode(7));
        let others = told[1..].iter().filter(|(kind, _)| *kind != event::REMOTE_ERROR);
        let last = [
            Notification::Association(Change::Restart, (999, 999)),
            Notification::Adaptation(999),
            Notification::SenderDry,
            Notification::Stopped,
        ];
        assert_eq!(
            others.map(|(_, payload)| payload.clone()).collect::<Vec<_>>(),
            last.map(|notification| notification.encode(7))
        );
        let mut waiting = Waiting::default();
        for _ in 0..1000 {
            waiting.push(7, &Notification::RemoteError { cause: 13, value: &[0; 1400] });
        }
        assert_eq!(waiting.len(), 13);
        assert_eq!(
            waiting.list.last().map(|told| told.0),
            Some(event::NOTIFICATIONS_STOPPED_EVENT)
        );
    }

    #[test]
    fn what_comes_back_is_bounded_and_what_happens_to_the_association_is_told() {
        let message = Message {
            stream: StreamId(0),
            ppid: Ppid(0),
            unordered: false,
            payload: vec![0; 16 << 20].into(),
        };
        let failure = SendFailure { message, whole: true, context: 0, sent: false };
        let mut waiting = Waiting::default();
        for _ in 0..6 {
            waiting.push(7, &Notification::SendFailed(&failure));
        }
        waiting.push(7, &Notification::Shutdown);
        let kinds: Vec<u16> = waiting.into_iter().map(|told| told.0).collect();
        assert_eq!(kinds[..4], [event::SEND_FAILED_EVENT; 4]);
        assert_eq!(kinds[4..], [event::NOTIFICATIONS_STOPPED_EVENT, event::SHUTDOWN_EVENT]);
    }
}
