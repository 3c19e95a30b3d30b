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

/// A timer that belongs to a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// T1-init or T1-cookie.
    T1,
    /// T2-shutdown.
    T2,
    /// T5-shutdown-guard.
    T5,
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

    /// From ESTABLISHED, or from an earlier step, to this one; `None` if there is nothing to end.
    pub(super) fn close(&mut self, step: Step) -> Option<&mut Closing> {
        match self {
            Phase::Closing(closing) => closing.step = step,
            Phase::Established => *self = Phase::Closing(Closing::new(step)),
            _ => {}
        }
        self.closing_mut()
    }

    /// When the first of its timers expires.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => opening.t1,
            Phase::Closing(closing) => closing.t2.into_iter().chain(closing.t5).min(),
            Phase::Established | Phase::Closed => None,
        }
    }

    /// A timer that is due, and no longer runs.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Timer> {
        let due = |timer: &mut Option<Time>| timer.take_if(|at| *at <= now).is_some();
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => {
                due(&mut opening.t1).then_some(Timer::T1)
            }
            // T5 ends the association.
            Phase::Closing(closing) => (due(&mut closing.t5).then_some(Timer::T5))
                .or_else(|| due(&mut closing.t2).then_some(Timer::T2)),
            Phase::Established | Phase::Closed => None,
        }
    }

    /// What waits for an answer is sent again at this time: T1 or T2.
    pub(super) fn repeat_at(&mut self, at: Time) {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => opening.t1 = Some(at),
            Phase::Closing(closing) => closing.t2 = Some(at),
            Phase::Established | Phase::Closed => {}
        }
    }

    /// The same, if it would be later.
    pub(super) fn repeat_before(&mut self, latest: Time) {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => {
                opening.t1 = opening.t1.map(|at| at.min(latest));
            }
            Phase::Closing(closing) => closing.t2 = closing.t2.map(|at| at.min(latest)),
            Phase::Established | Phase::Closed => {}
        }
    }

    /// SHUTDOWN or SHUTDOWN ACK leaves on `path`, and again at this time.
    pub(super) fn send_end(&mut self, path: PathId, again: Time) {
        if let Phase::Closing(closing) = self {
            (closing.path, closing.t2) = (path, Some(again));
        }
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        match self {
            Phase::CookieEchoed(_, echo) => echo.memory(),
            _ => 0,
        }
    }
}

impl Echo {
    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        self.cookie.len() + self.error.as_ref().map_or(0, Vec::capacity)
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
