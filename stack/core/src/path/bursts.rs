//! What keeps packets from leaving in bursts: Max.Burst (RFC 9260 §6.1 D), and pacing.

use std::time::Duration;

use super::pacing::{self, Pacer};
use super::window::Window;
use crate::profile::{MultipathParameters, Profile};
use crate::time::Time;

/// How much of what the window allows may leave now.
#[derive(Debug, Default)]
pub(crate) struct Bursts {
    /// Bytes of new chunks that may leave before the next opportunity to send (Max.Burst,
    /// RFC 9260 §6.1 D); a packet may begin while any are left.
    credit: usize,
    /// Pacing, if the association asks for it.
    pacer: Option<Pacer>,
    /// A packet must wait for its turn.
    held_back: bool,
    /// When there is something to do about that.
    until: Option<Time>,
}

impl Bursts {
    /// Of a path that carries data beside others if it is `concurrent`; its congestion control may say at which rate.
    pub(super) fn new(
        multipath: &MultipathParameters,
        concurrent: bool,
        sets_rate: bool,
    ) -> Bursts {
        Bursts { pacer: Pacer::new(multipath, concurrent, sets_rate), ..Bursts::default() }
    }

    /// A packet of new chunks may begin.
    #[inline]
    pub(crate) const fn has_credit(&self) -> bool {
        self.credit > 0
    }

    #[inline]
    pub(crate) const fn is_paced(&self) -> bool {
        self.pacer.is_some()
    }

    /// Pacing holds the next packet back.
    #[inline]
    pub(crate) const fn is_held_back(&self) -> bool {
        self.held_back
    }

    /// When pacing lets the next packet go, if one waits for that.
    #[inline]
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.until
    }

    //= RFC 9260 6.1-14 6.1-15
    /// An opportunity to send came: this many more bytes may leave, all of them if there is no limit.
    ///
    /// §6.1 D: if flightsize + Max.Burst * PMDCS < cwnd, that is the limit for now.
    #[inline]
    pub(crate) fn grant(&mut self, bytes: Option<usize>) {
        self.credit = bytes.map_or(usize::MAX, |bytes| self.credit.saturating_add(bytes));
    }

    /// A new chunk of this many bytes left.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_sub(bytes);
    }

    /// The opportunity is over: what is left is not saved up.
    #[inline]
    pub(crate) fn expire(&mut self) {
        self.credit = 0;
    }

    /// Looks whether pacing holds the next packet back.
    #[inline]
    pub(crate) fn look(&mut self, now: Time) {
        self.held_back = self.pacer.as_ref().is_some_and(|pacer| !pacer.is_due(now));
    }

    /// A packet of this many bytes left.
    #[inline]
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        bytes: usize,
        profile: &Profile,
        window: &Window,
        srtt: Option<Duration>,
    ) {
        let Some(pacer) = &mut self.pacer else { return };
        if let Some(rate) = pacing::rate(profile, window, srtt) {
            pacer.on_sent(now, bytes, rate);
            self.held_back = !pacer.is_due(now);
        }
    }

    /// Whether a packet `waits` that only pacing holds back.
    pub(crate) fn wait(&mut self, waits: bool) {
        let pacer = self.pacer.as_ref().filter(|_| self.held_back && waits);
        self.until = pacer.map(Pacer::next);
    }

    /// Its time has come.
    pub(crate) fn wake(&mut self) {
        self.until = None;
    }
}
