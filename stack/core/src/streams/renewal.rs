//! Streams that have begun again, and FORWARD TSN chunks of the time before (RFC 6525 §5.2.2, RFC 3758 §3.6).
//!
//! A stream begins again once all has arrived, or was passed over, that the peer had sent before. The peer may not know that: the
//! answer and SACKs can be lost. It may then give up what it had sent, whether that has arrived or not, and if it gives up
//! something of another stream with it, its FORWARD TSN goes beyond the last TSN of the time before. SSNs of the time before are
//! listed in a chunk that is not out of date, and nothing in it says so: applied to the new time, they would pass over its
//! messages.
//!
//! But the peer sends nothing new before it has our answer (§5.1.2 A1, §5.2.7 H4), with which comes the SACK that is owed: then it
//! lists nothing more of the time before. So once a chunk of the new time is there and none before it is missing, a FORWARD TSN
//! that is not out of date is of the new time as well, and is believed. Until then what it lists of the stream is passed by. What
//! is lost by that the order itself tells: SSNs grow as TSNs do, so that ordered messages before one that lacks no chunk before it
//! are there or will not come. If the FORWARD TSN was of the new time after all, its stream waits no longer than for chunks that
//! are missing.
//! This holds as well for peers that send the new time before the answer.

/// What is known of the new time of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Renewal {
    /// It has not begun again, or a chunk of the new time has come before which none is missing.
    #[default]
    Known,
    /// Nothing.
    Fresh,
    /// Nothing but a FORWARD TSN, which may be of the time before.
    Doubted,
}

impl Renewal {
    /// A FORWARD TSN lists the stream: whether that is passed by.
    pub(super) fn doubts(&mut self) -> bool {
        let doubts = *self != Renewal::Known;
        if doubts {
            *self = Renewal::Doubted;
        }
        doubts
    }

    /// A chunk of a message has come, and none before it is missing: whether all messages before it are passed over that are
    /// not there.
    pub(super) fn settle(&mut self) -> bool {
        std::mem::take(self) == Renewal::Doubted
    }
}
