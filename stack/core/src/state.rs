//! The state of an association (RFC 9260 §4).

/// States of RFC 9260 §4. CLOSED is `Closed` for an association that is not yet forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Closed,
}

impl State {
    //= RFC 9260 5-1 6-1
    /// DATA may be sent in these states, and SACKs are taken (§9.2).
    #[inline]
    pub(crate) const fn may_send_data(self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// DATA is taken in these states: until our SHUTDOWN is answered; the sender of SHUTDOWN has none left (§6, §9.2).
    #[inline]
    pub(crate) const fn takes_data(self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownSent)
    }
}
