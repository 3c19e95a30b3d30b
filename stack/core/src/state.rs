//! The state of an association (RFC 9260 §4).

/// States of an association (RFC 9260 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// COOKIE-WAIT.
    CookieWait,
    /// COOKIE-ECHOED.
    CookieEchoed,
    /// ESTABLISHED.
    Established,
    /// SHUTDOWN-PENDING.
    ShutdownPending,
    /// SHUTDOWN-SENT.
    ShutdownSent,
    /// SHUTDOWN-RECEIVED.
    ShutdownReceived,
    /// SHUTDOWN-ACK-SENT.
    ShutdownAckSent,
    /// CLOSED: it has ended, and is not forgotten yet.
    Closed,
}

impl State {
    /// All states, in the order of an association's life.
    pub const ALL: [State; 8] = [
        State::CookieWait,
        State::CookieEchoed,
        State::Established,
        State::ShutdownPending,
        State::ShutdownSent,
        State::ShutdownReceived,
        State::ShutdownAckSent,
        State::Closed,
    ];

    /// Its name in lower case, such as `cookie-wait`.
    pub const fn name(self) -> &'static str {
        match self {
            State::CookieWait => "cookie-wait",
            State::CookieEchoed => "cookie-echoed",
            State::Established => "established",
            State::ShutdownPending => "shutdown-pending",
            State::ShutdownSent => "shutdown-sent",
            State::ShutdownReceived => "shutdown-received",
            State::ShutdownAckSent => "shutdown-ack-sent",
            State::Closed => "closed",
        }
    }

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

    /// §8.3: from ESTABLISHED on; "discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK
    /// chunk".
    pub(crate) const fn is_monitored(self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// §5.4: "These probing procedures [...] are ended when all paths are confirmed", and no chunk may be sent
    /// to an address before: in SHUTDOWN-SENT data may come from there alone, for which no SACK could leave, and
    /// in SHUTDOWN-ACK-SENT the peer's SHUTDOWN, for which no SHUTDOWN ACK could.
    pub(crate) const fn verifies(self) -> bool {
        self.is_monitored() || matches!(self, State::ShutdownSent | State::ShutdownAckSent)
    }

    /// In these states streams may change (RFC 6525): as long as one end may send data, it may need what it has asked for.
    pub(crate) const fn may_reconfigure(self) -> bool {
        self.may_send_data() || matches!(self, State::ShutdownSent)
    }

    //= RFC 5061 5.1.1-5
    /// ASCONF chunks are sent and answered in these states.
    pub(crate) const fn may_change_addresses(self) -> bool {
        self.may_reconfigure()
    }

    /// The handshake is not over yet.
    pub(crate) const fn is_opening(self) -> bool {
        matches!(self, State::CookieWait | State::CookieEchoed)
    }
}
