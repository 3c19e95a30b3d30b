//! Where an association is in its life (RFC 9260 §4), with what it has then and at no other time.

use std::net::IpAddr;

use bytes::Bytes;

use crate::path::PathId;
use crate::state::State;
use crate::time::Time;

/// A phase, which owns its state: what is over is gone.
#[derive(Debug)]
pub(crate) enum Phase {
    /// COOKIE-WAIT: nothing of the peer is known.
    CookieWait(Opening),
    /// COOKIE-ECHOED: the peer has introduced itself.
    CookieEchoed(Opening, Echo),
    /// ESTABLISHED.
    Established,
    /// From SHUTDOWN-PENDING or SHUTDOWN-RECEIVED on.
    Closing(Closing),
    /// CLOSED. What has arrived can still be read.
    Closed,
}

/// A handshake that we have begun.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// T1-init or T1-cookie, as the state says.
    pub(super) t1: Option<Time>,
    pub(super) attempts: u32,
    /// Extension to ask for after a stale cookie (RFC 9260 §5.2.6).
    pub(super) preservative_ms: u32,
    /// A stale cookie is retried once.
    pub(super) stale_retried: bool,
    /// When the INIT or COOKIE ECHO was first sent, while a sample from it is valid (Karn).
    pub(super) sent_once: Option<Time>,
    /// The application has asked for the end already.
    pub(super) to_be_closed: bool,
}

/// What COOKIE ECHO brings.
#[derive(Debug)]
pub(crate) struct Echo {
    pub(super) cookie: Bytes,
    /// An ERROR to bundle with it: unrecognised parameters of the INIT ACK.
    pub(super) error: Option<Vec<u8>>,
    pub(super) sent: Time,
}

/// How far a graceful end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// SHUTDOWN-PENDING.
    Pending,
    /// SHUTDOWN-SENT.
    Sent,
    /// SHUTDOWN-RECEIVED.
    Received,
    /// SHUTDOWN-ACK-SENT.
    AckSent,
}

/// A graceful end.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(super) step: Step,
    /// T2-shutdown.
    pub(super) t2: Option<Time>,
    pub(super) attempts: u32,
    /// T5-shutdown-guard.
    pub(super) t5: Option<Time>,
    /// Where SHUTDOWN or SHUTDOWN ACK was sent last, or where a SHUTDOWN came from.
    pub(super) path: PathId,
    /// The source of the answer to that SHUTDOWN, if not the one of its path.
    pub(super) source: Option<IpAddr>,
    /// Where the next retransmission goes, to answer a repeated SHUTDOWN.
    pub(super) answer: Option<PathId>,
}

impl Phase {
    /// Its name in RFC 9260.
    #[inline]
    pub(crate) const fn state(&self) -> State {
        match self {
            Phase::CookieWait(_) => State::CookieWait,
            Phase::CookieEchoed(..) => State::CookieEchoed,
            Phase::Established => State::Established,
            Phase::Closing(Closing { step: Step::Pending, .. }) => State::ShutdownPending,
            Phase::Closing(Closing { step: Step::Sent, .. }) => State::ShutdownSent,
            Phase::Closing(Closing { step: Step::Received, .. }) => State::ShutdownReceived,
            Phase::Closing(Closing { step: Step::AckSent, .. }) => State::ShutdownAckSent,
            Phase::Closed => State::Closed,
        }
    }

    /// The handshake under way, if we have begun one.
    pub(super) fn opening(&self) -> Option<&Opening> {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, ..) => Some(opening),
            _ => None,
        }
    }

    /// As [`opening`](Self::opening).
    pub(super) fn opening_mut(&mut self) -> Option<&mut Opening> {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, ..) => Some(opening),
            _ => None,
        }
    }

    /// What COOKIE ECHO brings.
    pub(super) fn echo(&self) -> Option<&Echo> {
        match self {
            Phase::CookieEchoed(_, echo) => Some(echo),
            _ => None,
        }
    }

    /// The end under way.
    #[inline]
    pub(super) fn closing(&self) -> Option<&Closing> {
        match self {
            Phase::Closing(closing) => Some(closing),
            _ => None,
        }
    }

    /// As [`closing`](Self::closing).
    #[inline]
    pub(super) fn closing_mut(&mut self) -> Option<&mut Closing> {
        match self {
            Phase::Closing(closing) => Some(closing),
            _ => None,
        }
    }

    /// From ESTABLISHED, or from an earlier step, to this one.
    pub(super) fn close(&mut self, step: Step) {
        match self {
            Phase::Closing(closing) => closing.step = step,
            Phase::Established => *self = Phase::Closing(Closing::new(step)),
            _ => {}
        }
    }
}

impl Closing {
    fn new(step: Step) -> Closing {
        Closing {
            step,
            t2: None,
            attempts: 0,
            t5: None,
            path: PathId::default(),
            source: None,
            answer: None,
        }
    }
}
