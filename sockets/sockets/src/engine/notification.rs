//! Notifications as programs read them (RFC 6458 §6.1), in Linux' layout.

use std::net::SocketAddr;

use tresse::{AuthenticationEvent, ReconfigurationOutcome, ResetDirection, SendFailure, StreamId};

use super::exposure::AddressState;
use tresse_socket_protocol::abi::Struct;

pub(crate) use tresse_socket_protocol::options::event;

/// The last of those that have bits in a row.
const LAST: u16 = event::SEND_FAILED_EVENT;

/// The bit of SCTP_SENDER_DRY_EVENT.
pub(crate) const SENDER_DRY_BIT: u16 = 1 << (event::SENDER_DRY_EVENT - event::DATA_IO_EVENT);

/// The bit of a type of notifications in a subscription, if there is such a type.
pub(crate) fn bit_of(kind: u16) -> Option<u16> {
    match kind {
        event::DATA_IO_EVENT..=LAST => Some(1 << (kind - event::DATA_IO_EVENT)),
        event::NOTIFICATIONS_STOPPED_EVENT => Some(1 << 15),
        _ => None,
    }
}

/// Whether a notification is among those of these bits.
pub(crate) fn is_among(kind: u16, events: u16) -> bool {
    bit_of(kind).is_some_and(|bit| events & bit != 0)
}

/// `sac_state`.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Up = 0,
    Lost = 1,
    Restart = 2,
    ShutdownComplete = 3,
    CannotStart = 4,
}

/// Something to tell.
pub(crate) enum Notification<'a> {
    //= RFC 6458 5.3.1-1
    /// SCTP_ASSOC_CHANGE, with our streams and the peer's.
    Association(Change, (u16, u16)),
    /// SCTP_ASSOC_CHANGE at the end, with what the peer's ABORT says, if it sent one: code and value of
    /// its cause; 0 if none.
    Ended { change: Change, cause: u16, value: &'a [u8] },
    /// SCTP_PEER_ADDR_CHANGE.
    PathChanged { address: SocketAddr, state: AddressState },
    /// SCTP_SEND_FAILED_EVENT.
    SendFailed(&'a SendFailure),
    /// SCTP_SEND_FAILED, its deprecated form.
    OldSendFailed(&'a SendFailure),
    /// SCTP_REMOTE_ERROR.
    RemoteError { cause: u16, value: &'a [u8] },
    /// SCTP_SHUTDOWN_EVENT.
    Shutdown,
    /// SCTP_PARTIAL_DELIVERY_EVENT with SCTP_PARTIAL_DELIVERY_ABORTED (RFC 6458 §6.1.7).
    PartialDeliveryAborted { stream: u16, ssn: u16 },
    /// SCTP_ADAPTATION_INDICATION.
    Adaptation(u32),
    /// SCTP_AUTHENTICATION_EVENT.
    Authentication(AuthenticationEvent),
    /// SCTP_SENDER_DRY_EVENT.
    SenderDry,
    /// SCTP_NOTIFICATIONS_STOPPED_EVENT (RFC 6458 §6.1.10): some that came after those before it were left out.
    Stopped,
    /// SCTP_STREAM_RESET_EVENT (RFC 6525 §6.1.1).
    StreamReset {
        direction: ResetDirection,
        outcome: ReconfigurationOutcome,
        streams: &'a [StreamId],
    },
    /// SCTP_ASSOC_RESET_EVENT (RFC 6525 §6.1.2), with the next TSNs of both ends.
    AssociationReset { outcome: ReconfigurationOutcome, local: u32, remote: u32 },
    /// SCTP_STREAM_CHANGE_EVENT (RFC 6525 §6.1.3), with our streams and the peer's.
    StreamChange { outcome: ReconfigurationOutcome, streams: (u16, u16) },
}

/// SCTP_STREAM_RESET_INCOMING_SSN and SCTP_STREAM_RESET_OUTGOING_SSN.
const fn reset_flags(direction: ResetDirection) -> u16 {
    match direction {
        ResetDirection::Incoming => 1,
        ResetDirection::Outgoing => 2,
        ResetDirection::Both => 3,
    }
}

/// The bits for denied and failed, the same in all events of RFC 6525.
const fn outcome_flags(outcome: ReconfigurationOutcome) -> u16 {
    match outcome {
        ReconfigurationOutcome::Denied => 4,
        ReconfigurationOutcome::Failed => 8,
        ReconfigurationOutcome::Performed | ReconfigurationOutcome::NothingToDo => 0,
    }
}

//= RFC 6458 6.1.4-2 6.1.11-2
/// `sinfo_flags` and `snd_flags` of a message that comes back: SCTP_DATA_NOT_FRAG if all of it is there, SCTP_DATA_LAST_FRAG if its
/// first fragments were acknowledged. As in Linux they are those of a DATA chunk, in which U is another bit than SCTP_UNORDERED.
const fn fragment_flags(failure: &SendFailure) -> u16 {
    const LAST_FRAG: u16 = 1;
    const NOT_FRAG: u16 = 3;
    const U: u16 = 4;
    let part = if failure.whole { NOT_FRAG } else { LAST_FRAG };
    if failure.message.unordered { part | U } else { part }
}

impl Notification<'_> {
    //= RFC 6458 6.1.1-1 6.1.2-1 6.1.3-1 6.1.4-1 6.1.5-2 6.1.6-1 6.1.7-1 6.1.8-1 6.1.9-1 6.1.11-1
    pub(crate) fn event(&self) -> u16 {
        match self {
            Notification::Association(..) | Notification::Ended { .. } => event::ASSOC_CHANGE,
            Notification::PathChanged { .. } => event::PEER_ADDR_CHANGE,
            Notification::SendFailed(_) => event::SEND_FAILED_EVENT,
            Notification::OldSendFailed(_) => event::SEND_FAILED,
            Notification::RemoteError { .. } => event::REMOTE_ERROR,
            Notification::PartialDeliveryAborted { .. } => event::PARTIAL_DELIVERY_EVENT,
            Notification::Adaptation(_) => event::ADAPTATION_INDICATION,
            Notification::Authentication(_) => event::AUTHENTICATION_EVENT,
            Notification::SenderDry => event::SENDER_DRY_EVENT,
            Notification::Stopped => event::NOTIFICATIONS_STOPPED_EVENT,
            Notification::Shutdown => event::SHUTDOWN_EVENT,
            Notification::StreamReset { .. } => event::STREAM_RESET_EVENT,
            Notification::AssociationReset { .. } => event::ASSOC_RESET_EVENT,
            Notification::StreamChange { .. } => event::STREAM_CHANGE_EVENT,
        }
    }

    /// Whether a peer can cause it at will, each time with something else to tell.
    pub(crate) fn is_cheap(&self) -> bool {
        matches!(
            self,
            Notification::RemoteError { .. }
                | Notification::PathChanged { .. }
                | Notification::Authentication(_)
                | Notification::StreamReset { .. }
                | Notification::AssociationReset { .. }
                | Notification::StreamChange { .. }
        )
    }

    /// Whether it brings back a message that could not be sent.
    pub(crate) fn is_returned(&self) -> bool {
        matches!(self, Notification::SendFailed(_) | Notification::OldSendFailed(_))
    }

    /// Whether the last one says all that those before it have said.
    pub(crate) fn is_said_once(&self) -> bool {
        matches!(
            self,
            Notification::Association(Change::Restart, _)
                | Notification::Adaptation(_)
                | Notification::SenderDry
                | Notification::Stopped
        )
    }

    pub(crate) fn encode(&self, association: u32) -> Vec<u8> {
        let mut s = Struct::default();
        let flags = match self {
            // SCTP_DATA_SENT or SCTP_DATA_UNSENT.
            Notification::SendFailed(failure) | Notification::OldSendFailed(failure) => {
                u16::from(failure.sent)
            }
            Notification::StreamReset { direction, outcome, .. } => {
                reset_flags(*direction) | outcome_flags(*outcome)
            }
            Notification::AssociationReset { outcome, .. }
            | Notification::StreamChange { outcome, .. } => outcome_flags(*outcome),
            _ => 0,
        };
        s.u16(self.event()).u16(flags).u32(0);
        match self {
            Notification::Association(change, (outbound, inbound)) => {
                s.u16(*change as u16).u16(0).u16(*outbound).u16(*inbound).u32(association);
            }
            Notification::Ended { change, cause, value } => {
                // As Linux: the code in network byte order, and streams that are no more.
                s.u16(*change as u16).u16(cause.to_be()).u16(0).u16(0).u32(association);
                // RFC 6458 §6.1.1: "if the sac_state is SCTP_COMM_LOST and an ABORT chunk was received
                // for this association, sac_info[] contains the entire ABORT chunk"; Linux leaves out
                // the header of the chunk, and programs look for the cause where it has it.
                if matches!(change, Change::Lost) && *cause != 0 {
                    let len = 4 + value.len() as u16;
                    s.bytes(&cause.to_be_bytes()).bytes(&len.to_be_bytes()).bytes(value);
                }
            }
            Notification::PathChanged { address, state } => {
                s.storage(*address).u32(*state as u32).u32(0).u32(association);
            }
            //= RFC 6458 6.1.4-3 6.1.11-3
            // The cause is left 0: RFC 6458 §6.1.11 names none, and Linux has 0 too.
            Notification::SendFailed(failure) => {
                let SendFailure { message, context, .. } = failure;
                let flags = fragment_flags(failure);
                let ppid = u32::from_ne_bytes(message.ppid.0.to_be_bytes());
                s.u32(0).u16(message.stream.0).u16(flags).u32(ppid).u32(*context);
                s.u32(association).u32(association).bytes(&message.payload);
            }
            Notification::RemoteError { cause, value } => {
                s.bytes(&cause.to_be_bytes()).u16(0).u32(association).bytes(value);
            }
            Notification::OldSendFailed(failure) => {
                let SendFailure { message, context, .. } = failure;
                let flags = fragment_flags(failure);
                let ppid = u32::from_ne_bytes(message.ppid.0.to_be_bytes());
                s.u32(0).u16(message.stream.0).u16(0).u16(flags).u16(0).u32(ppid);
                s.u32(*context).u32(0).u32(0).u32(0).u32(association);
                s.u32(association).bytes(&message.payload);
            }
            Notification::PartialDeliveryAborted { stream, ssn } => {
                // In the order of Linux, not in that of the RFC.
                s.u32(0).u32(association).u32((*stream).into()).u32((*ssn).into());
            }
            Notification::Adaptation(indication) => {
                s.u32(*indication).u32(association);
            }
            Notification::Authentication(what) => {
                // SCTP_AUTH_NEW_KEY, SCTP_AUTH_FREE_KEY, SCTP_AUTH_NO_AUTH.
                let (key, before, indication) = match *what {
                    AuthenticationEvent::NewKey { key, before } => (key, before, 0),
                    AuthenticationEvent::FreeKey { key } => (key, 0, 1),
                    _ => (0, 0, 2),
                };
                s.u16(key).u16(before).u32(indication).u32(association);
            }
            Notification::Shutdown | Notification::SenderDry => {
                s.u32(association);
            }
            // "Only the sctp_tlv structure is used".
            Notification::Stopped => {}
            Notification::StreamReset { streams, .. } => {
                s.u32(association);
                streams.iter().for_each(|stream| {
                    s.u16(stream.0);
                });
            }
            Notification::AssociationReset { local, remote, .. } => {
                s.u32(association).u32(*local).u32(*remote);
            }
            Notification::StreamChange { streams: (outbound, inbound), .. } => {
                s.u32(association).u16(*inbound).u16(*outbound);
            }
        }
        let mut bytes = s.0;
        let length = bytes.len() as u32;
        bytes[4..8].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse::{Message, Ppid};
    use tresse_socket_protocol::abi::Fields;

    //= RFC 6458 6.1.1-1 6.1.2-1 6.1.3-1 6.1.4-1 6.1.5-2 6.1.6-1 6.1.7-1 6.1.8-1 6.1.9-1 6.1.11-1
    #[test]
    fn each_begins_with_its_type() {
        let address = "192.0.2.1:5".parse().unwrap();
        let message = Message {
            stream: StreamId(0),
            ppid: Ppid(0),
            unordered: false,
            payload: Default::default(),
        };
        let failure = SendFailure { message, whole: true, context: 0, sent: false };
        let change = Change::Lost;
        let none = AuthenticationEvent::NotSupported;
        for (told, kind) in [
            (Notification::Association(Change::Up, (1, 1)), 0x8001),
            (Notification::Ended { change, cause: 0, value: b"" }, 0x8001),
            (Notification::PathChanged { address, state: AddressState::Added }, 0x8002),
            (Notification::OldSendFailed(&failure), 0x8003),
            (Notification::RemoteError { cause: 7, value: b"" }, 0x8004),
            (Notification::Shutdown, 0x8005),
            (Notification::PartialDeliveryAborted { stream: 3, ssn: 4 }, 0x8006),
            (Notification::Adaptation(1), 0x8007),
            (Notification::Authentication(none), 0x8008),
            (Notification::SenderDry, 0x8009),
            (Notification::SendFailed(&failure), 0x800d),
        ] {
            let bytes = told.encode(9);
            assert_eq!(Fields(&bytes).u16(0), kind);
            assert_eq!(Fields(&bytes).u32(4) as usize, bytes.len(), "{kind:x}");
        }
    }

    //= RFC 6458 6.1.4-2 6.1.4-3 6.1.11-2 6.1.11-3
    #[test]
    fn sizes_are_those_of_the_header() {
        let up = Notification::Association(Change::Up, (3, 4)).encode(9);
        assert_eq!(up.len(), 20);
        let f = Fields(&up);
        assert_eq!((f.u16(0), f.u32(4), f.u16(12), f.u16(14), f.u32(16)), (0x8001, 20, 3, 4, 9));
        let lost = Notification::Ended { change: Change::Lost, cause: 12, value: b"bye" }.encode(9);
        assert_eq!((lost.len(), Fields(&lost).u16(10)), (27, 12u16.to_be()));
        assert_eq!(lost[20..], *b"\0\x0c\0\x07bye");
        let address = "192.0.2.1:5".parse().unwrap();
        let path =
            Notification::PathChanged { address, state: AddressState::Unreachable }.encode(9);
        assert_eq!((path.len(), Fields(&path).u32(136), Fields(&path).u32(144)), (148, 1, 9));
        assert_eq!(Notification::Shutdown.encode(9).len(), 12);
        assert_eq!(Notification::Stopped.encode(9), [0xf3, 0x83, 0, 0, 8, 0, 0, 0]);
        let f = Notification::Adaptation(7).encode(9);
        assert_eq!((f.len(), Fields(&f).u32(8), Fields(&f).u32(12)), (16, 7, 9));
        let aborted = Notification::PartialDeliveryAborted { stream: 3, ssn: 4 }.encode(9);
        let f = Fields(&aborted);
        assert_eq!((aborted.len(), f.u16(0), f.u32(4), f.u32(8)), (24, 0x8006, 24, 0));
        assert_eq!((f.u32(12), f.u32(16), f.u32(20)), (9, 3, 4));
        let (direction, outcome) = (ResetDirection::Outgoing, ReconfigurationOutcome::Denied);
        let streams = &[StreamId(7), StreamId(9)];
        let reset = Notification::StreamReset { direction, outcome, streams }.encode(9);
        let f = Fields(&reset);
        assert_eq!((reset.len(), f.u16(0), f.u16(2), f.u32(8)), (16, 0x800a, 6, 9));
        assert_eq!((f.u16(12), f.u16(14)), (7, 9));
        let outcome = ReconfigurationOutcome::Failed;
        let all = Notification::AssociationReset { outcome, local: 5, remote: 6 }.encode(9);
        let f = Fields(&all);
        assert_eq!((all.len(), f.u16(0), f.u16(2)), (20, 0x800b, 8));
        assert_eq!((f.u32(8), f.u32(12), f.u32(16)), (9, 5, 6));
        let outcome = ReconfigurationOutcome::Performed;
        let added = Notification::StreamChange { outcome, streams: (3, 4) }.encode(9);
        let f = Fields(&added);
        assert_eq!((added.len(), f.u16(0), f.u16(2)), (16, 0x800c, 0));
        assert_eq!((f.u32(8), f.u16(12), f.u16(14)), (9, 4, 3));
        for (what, told) in [
            (AuthenticationEvent::NewKey { key: 3, before: 2 }, (3, 2, 0)),
            (AuthenticationEvent::FreeKey { key: 3 }, (3, 0, 1)),
            (AuthenticationEvent::NotSupported, (0, 0, 2)),
        ] {
            let event = Notification::Authentication(what).encode(9);
            let f = Fields(&event);
            assert_eq!((event.len(), f.u16(0), f.u32(4), f.u32(16)), (20, 0x8008, 20, 9));
            assert_eq!((f.u16(8), f.u16(10), f.u32(12)), told);
        }
        let message = Message {
            stream: StreamId(3),
            ppid: Ppid(7),
            unordered: false,
            payload: b"text".as_slice().into(),
        };
        for (whole, unordered, told) in
            [(true, false, 3), (true, true, 7), (false, false, 1), (false, true, 5)]
        {
            let message = Message { unordered, ..message.clone() };
            let failure = SendFailure { message, whole, context: 8, sent: true };
            let new = Notification::SendFailed(&failure).encode(9);
            let f = Fields(&new);
            assert_eq!((new.len(), f.u16(2), f.u16(12), f.u16(14)), (36, 1, 3, told));
            assert_eq!((f.u32(20), f.u32(28), &new[32..]), (8, 9, &b"text"[..]));
            let old = Notification::OldSendFailed(&failure).encode(9);
            let f = Fields(&old);
            assert_eq!((old.len(), f.u16(2), f.u16(12), f.u16(16)), (52, 1, 3, told));
            assert_eq!((f.u32(24), f.u32(44), &old[48..]), (8, 9, &b"text"[..]));
        }
        let error = Notification::RemoteError { cause: 7, value: b"abc" }.encode(9);
        assert_eq!((error.len(), Fields(&error).u32(12)), (19, 9));
    }
}
