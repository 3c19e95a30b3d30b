//! Packets that may leave whatever cwnd says (RFC 9260 §6.3.3 E3, §7.2.4 rule 3), and those that wait although
//! it would let them go.

use crate::ids::LossCause;
use crate::profile::Profile;

/// What was permitted at the last events, and is not used up.
#[derive(Debug, Default)]
pub(crate) struct CwndOverrides {
    /// New packets that may leave beyond cwnd.
    extra: u32,
    //= RFC 9260 7.2.4-4
    /// One packet of lost chunks leaves whatever cwnd says (RFC 9260 §7.2.4 rule 3, §6.3.3 E3).
    retransmit_now: bool,
    /// The rest of it waits for a SACK (`congestion.one_packet_until_sack`).
    rest_waits: bool,
    /// A chunk in flight that leaves again because an early timer has expired, and why.
    repeat: Option<(u64, LossCause)>,
}

impl CwndOverrides {
    /// What is lost may leave: one packet of it, whatever cwnd says; the rest may have to wait for a SACK.
    pub(super) fn retransmit(&mut self, profile: &Profile) {
        self.retransmit_now = true;
        self.rest_waits = profile.congestion.one_packet_until_sack;
    }

    /// One packet of lost chunks may leave.
    pub(crate) fn retransmit_one(&mut self) {
        self.retransmit_now = true;
    }

    /// One packet of lost chunks leaves whatever cwnd says.
    #[inline]
    pub(crate) const fn retransmits_now(&self) -> bool {
        self.retransmit_now
    }

    /// What is lost waits for a SACK.
    #[inline]
    pub(crate) const fn rest_waits(&self) -> bool {
        self.rest_waits
    }

    /// A packet of lost chunks left.
    #[inline]
    pub(crate) fn on_retransmitted(&mut self) {
        self.retransmit_now = false;
    }

    /// A SACK came.
    #[inline]
    pub(crate) fn on_sack(&mut self) {
        self.rest_waits = false;
    }

    /// A chunk in flight may leave again before T3-rtx expires.
    #[inline]
    pub(crate) fn repeat(&mut self, repeat: Option<(u64, LossCause)>) {
        self.repeat = repeat.or(self.repeat);
    }

    /// The chunk that may leave again before T3-rtx expires, which it does now.
    #[inline]
    pub(crate) fn take_repeat(&mut self) -> Option<(u64, LossCause)> {
        self.repeat.take()
    }

    /// This many new packets may leave beyond cwnd.
    #[inline]
    pub(crate) fn add_extra(&mut self, packets: u32) {
        self.extra += packets;
    }

    /// A new packet may leave beyond cwnd.
    #[inline]
    pub(crate) const fn has_extra(&self) -> bool {
        self.extra > 0
    }

    /// One of these left.
    pub(crate) fn use_extra(&mut self) {
        self.extra -= 1;
    }

    /// The opportunity to send is over: what is left is not saved up.
    #[inline]
    pub(crate) fn expire(&mut self) {
        self.extra = 0;
    }
}
