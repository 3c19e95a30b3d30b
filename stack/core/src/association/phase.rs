//! Where an association is in its life (RFC 9260 §4), with what it has then and at no other time.

use super::closing::{Closing, ClosingTimer, Step};
use super::opening::{EchoedCookie, Opening};
use crate::ids::PathId;
use crate::state::State;
use crate::time::Time;

/// A phase, which owns its state: what is over is gone.
#[derive(Debug)]
pub(super) enum Phase {
    /// COOKIE-WAIT: nothing of the peer is known.
    CookieWait(Opening),
    /// COOKIE-ECHOED: the peer has introduced itself.
    CookieEchoed(Opening, EchoedCookie),
    /// ESTABLISHED.
    Established,
    /// From SHUTDOWN-PENDING or SHUTDOWN-RECEIVED on.
    Closing(Closing),
    /// CLOSED. What has arrived can still be read.
    Closed,
}

/// A timer that belongs to a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// T1-init or T1-cookie.
    T1,
    /// One of a graceful end.
    End(ClosingTimer),
}

impl Phase {
    /// Its name in RFC 9260.
    #[inline]
    pub(super) const fn state(&self) -> State {
        match self {
            Phase::CookieWait(_) => State::CookieWait,
            Phase::CookieEchoed(..) => State::CookieEchoed,
            Phase::Established => State::Established,
            Phase::Closing(closing) => closing.state(),
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
    pub(super) fn echo(&self) -> Option<&EchoedCookie> {
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
            Phase::Closing(closing) => closing.enter(step),
            Phase::Established => *self = Phase::Closing(Closing::new(step)),
            _ => {}
        }
        self.closing_mut()
    }

    /// When the first of its timers expires.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => opening.deadline(),
            Phase::Closing(closing) => closing.deadline(),
            Phase::Established | Phase::Closed => None,
        }
    }

    /// A timer that is due, and no longer runs.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Timer> {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => {
                opening.take_due(now).then_some(Timer::T1)
            }
            Phase::Closing(closing) => closing.take_due(now).map(Timer::End),
            Phase::Established | Phase::Closed => None,
        }
    }

    /// What waits for an answer is sent again no later than this: T1 or T2.
    pub(super) fn repeat_before(&mut self, latest: Time) {
        match self {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, _) => {
                opening.repeat_before(latest);
            }
            Phase::Closing(closing) => closing.repeat_before(latest),
            Phase::Established | Phase::Closed => {}
        }
    }

    /// A path is gone, and another one takes its place.
    pub(super) fn leave_path(&mut self, gone: PathId, instead: PathId) {
        if let Phase::Closing(closing) = self {
            closing.leave_path(gone, instead);
        }
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        self.echo().map_or(0, EchoedCookie::memory)
    }
}
