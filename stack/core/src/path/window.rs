//! How much may be in flight on a path (RFC 9260 §7.2): the congestion window, what reduces it during Fast
//! Recovery, and with concurrent transfer the limit that keeps its queue short.

use std::time::Duration;

use super::marks::PathMarks;
use crate::congestion::{
    CongestionControl, CongestionSigns, Controller, RateReduction, SsthreshFloor,
};
use crate::profile::{CongestionParameters, Profile};
use crate::scoreboard::PathAck;
use crate::time::Time;

/// What keeps the queue of a path short while several carry data, by what it measures. A trait for one, since what implements it
/// knows windows, and would make a circle with this file.
pub(super) trait FlightLimit: std::fmt::Debug + Send + Sync {
    /// Packets are of this many bytes from now on.
    fn set_mss(&mut self, mss: usize);
    /// There was room on the path, and nothing to send.
    fn on_starved(&mut self);
    /// A SACK acknowledged something on the path; `next` is the sequence number to be sent next. Returns by how many bytes
    /// the window may grow because a trial for more begins.
    fn on_ack(&mut self, now: Time, ack: &PathAck, next: u64) -> usize;
    /// The path was not yet seen full.
    fn is_starting(&self) -> bool;
    /// Losses or others limit the path, not its capacity.
    fn is_pressed(&self) -> bool;
    /// Bytes that a loss leaves of the window at least, where `among` paths are pressed.
    fn spared(&self, among: usize) -> usize;
    /// Loss recovery begins: the path is as full as it gets, or not measurable by loss.
    fn on_loss(&mut self);
    /// Bytes that may be in flight.
    fn bytes(&self) -> usize;
    /// Bytes per second at which packets leave; `None` until the path was seen full.
    fn measured_rate(&self) -> Option<f64>;
}

/// The window of one path.
#[derive(Debug)]
pub(crate) struct Window {
    control: Controller,
    limit: Option<Box<dyn FlightLimit>>,
    signs: Option<Box<CongestionSigns>>,
    /// During fast recovery.
    reduction: Option<RateReduction>,
    /// Highest TSN outstanding when Fast Recovery began (RFC 9260 §7.2.4 rule 6).
    fast_recovery_exit: Option<u64>,
    /// Flight when the last packet had been sent: what RFC 9260 calls the outstanding data before
    /// the arrival of the SACK, even if several SACKs arrive before the next opportunity to send.
    flight_at_send: usize,
    /// T3-rtx expired, and nothing that was sent here has been acknowledged since.
    one_packet: bool,
    last_data_sent: Time,
    /// Congestion window before the last cut by a loss.
    cwnd_at_loss: usize,
    /// ssthresh before T3-rtx expired, for the first time in a row.
    ssthresh_at_timeout: usize,
    floor: SsthreshFloor,
    marks: PathMarks,
}

impl Window {
    /// Bytes that it holds beside itself.
    pub(super) fn boxed(&self) -> usize {
        let signs = self.signs.as_deref().map_or(0, size_of_val);
        self.limit.as_ref().map_or(0, |limit| size_of_val(limit.as_ref())) + signs
    }

    pub(super) fn new(
        control: Controller,
        parameters: &CongestionParameters,
        limit: Option<Box<dyn FlightLimit>>,
    ) -> Window {
        Window {
            control,
            limit,
            signs: CongestionSigns::new(parameters),
            reduction: None,
            fast_recovery_exit: None,
            flight_at_send: 0,
            one_packet: false,
            last_data_sent: Time::ZERO,
            cwnd_at_loss: 0,
            ssthresh_at_timeout: 0,
            floor: SsthreshFloor::default(),
            marks: PathMarks::default(),
        }
    }

    #[inline]
    pub(crate) fn control(&self) -> &dyn CongestionControl {
        self.control.get()
    }

    #[inline]
    pub(crate) fn control_mut(&mut self) -> &mut dyn CongestionControl {
        self.control.get_mut()
    }

    #[inline]
    pub(crate) fn cwnd(&self) -> usize {
        self.control.get().cwnd()
    }

    #[inline]
    pub(crate) fn ssthresh(&self) -> usize {
        self.control.get().ssthresh()
    }

    /// Marks of congestion.
    #[inline]
    pub(crate) const fn marks(&self) -> &PathMarks {
        &self.marks
    }

    #[inline]
    pub(crate) const fn marks_mut(&mut self) -> &mut PathMarks {
        &mut self.marks
    }

    /// Bytes that may be in flight beside other paths: cwnd, or less to keep the queue short.
    #[inline]
    pub(crate) fn limited(&self) -> usize {
        let limit = self.limit.as_ref().map_or(usize::MAX, |limit| limit.bytes());
        self.cwnd().min(limit)
    }

    /// Bytes per second at which packets leave, if a rate was measured.
    pub(super) fn measured_rate(&self) -> Option<f64> {
        self.limit.as_ref().and_then(|limit| limit.measured_rate())
    }

    /// Losses or others limit the path, as far as is known; coupled controls are about such paths.
    pub(crate) fn is_pressed(&self) -> bool {
        self.limit.as_ref().is_none_or(|limit| limit.is_pressed())
    }

    /// In slow start, on a path that was not seen full.
    pub(super) fn is_starting(&self) -> bool {
        let starting = self.limit.as_ref().is_none_or(|limit| limit.is_starting());
        starting && self.cwnd() < self.ssthresh() && !self.is_recovering()
    }

    /// In Fast Recovery.
    #[inline]
    pub(crate) const fn is_recovering(&self) -> bool {
        self.fast_recovery_exit.is_some()
    }

    /// Rate reduction is under way.
    pub(crate) const fn is_reducing(&self) -> bool {
        self.reduction.is_some()
    }

    /// Only one packet may be in flight: T3-rtx expired, and nothing was acknowledged since.
    #[inline]
    pub(crate) const fn is_one_packet(&self) -> bool {
        self.one_packet
    }

    /// Flight when the last packet had been sent.
    #[inline]
    pub(crate) const fn flight_at_send(&self) -> usize {
        self.flight_at_send
    }

    /// The window of another way, whose capacity is unknown.
    pub(super) fn start_over(&mut self, control: Controller) {
        self.control = control;
        self.reduction = None;
        if let Some(signs) = &mut self.signs {
            **signs = CongestionSigns::default();
        }
        self.marks.start_over();
    }

    //= RFC 9260 7.2-3
    /// What a packet holds has changed.
    pub(super) fn set_pmdcs(&mut self, pmdcs: usize) {
        self.control.get_mut().set_pmdcs(pmdcs);
        if let Some(limit) = &mut self.limit {
            limit.set_mss(pmdcs);
        }
    }

    /// A packet with this many bytes of DATA left, after which `flight` bytes are in flight; more `waits`.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: usize, flight: usize, waits: bool) {
        self.last_data_sent = now;
        // §7.2.3: after a timeout one packet is all that may be in flight: that is full use.
        let full = self.one_packet && waits;
        self.flight_at_send = if full { flight.max(self.cwnd()) } else { flight };
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(bytes);
        }
    }

    /// Something that was sent here is acknowledged, or was not lost: more than one packet may be in flight.
    #[inline]
    pub(crate) fn allow_more(&mut self) {
        self.one_packet = false;
    }

    /// T3-rtx expires, and something was acknowledged since it did before.
    pub(crate) fn keep_threshold(&mut self) {
        self.ssthresh_at_timeout = self.ssthresh();
    }

    /// What T3-rtx took for congestion were packets that are too large. cwnd grows from one packet all the same: a path that
    /// takes less is perhaps another one.
    pub(super) fn restore_threshold(&mut self) {
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh().max(self.ssthresh_at_timeout));
        self.control_mut().undo(cwnd, ssthresh);
    }

    /// T3-rtx expired: cwnd was cut, and perhaps one packet is all that may be in flight.
    pub(crate) fn on_timeout(&mut self, one_packet: bool) {
        self.one_packet = one_packet;
    }

    /// What a SACK acknowledged, while the rate is reduced; `false` if it is not.
    #[inline]
    pub(crate) fn reduce(&mut self, bytes: usize, flight: usize, mss: usize) -> bool {
        let Some(reduction) = &mut self.reduction else { return false };
        let ssthresh = self.control.get().ssthresh();
        let cwnd = reduction.on_ack(bytes, flight, ssthresh, mss);
        self.control.get_mut().set_window(cwnd, ssthresh);
        true
    }

    /// Measures the path by what a SACK acknowledged on it; a window that is used grows while there
    /// is no queue.
    pub(crate) fn watch_queue(&mut self, now: Time, ack: &PathAck, next: u64) {
        let Some(limit) = &mut self.limit else { return };
        let more = limit.on_ack(now, ack, next);
        let control = self.control.get_mut();
        if control.is_model_based() {
            return;
        }
        let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
        if more > 0
            && !self.marks.is_echoed()
            && self.fast_recovery_exit.is_none()
            && self.flight_at_send >= cwnd
        {
            control.set_window(cwnd + more, ssthresh);
        }
    }

    /// A SACK acknowledged something that was sent here: how long that took.
    #[inline]
    pub(crate) fn watch_delay(&mut self, now: Time, ack: &PathAck) {
        if let Some(signs) = &mut self.signs {
            signs.on_ack(now, ack);
        }
    }

    /// A chunk that was sent here is lost.
    #[inline]
    pub(crate) fn on_lost(&mut self) {
        if let Some(signs) = &mut self.signs {
            signs.on_lost();
        }
    }

    /// A loss that was found now cuts nothing: the packets behind it saw no queue.
    pub(crate) fn is_random(&self, pmdcs: usize) -> bool {
        let control = self.control.get();
        let signs = self.signs.as_ref().filter(|_| !control.is_model_based());
        !self.is_recovering() && signs.is_some_and(|d| d.is_random(control.cwnd(), pmdcs))
    }

    /// The application, or the peer's window, left room unused.
    pub(crate) fn on_starved(&mut self) {
        if let Some(limit) = &mut self.limit {
            limit.on_starved();
        }
    }

    /// With `flight` bytes in flight: data was sent on the address, and none is any more.
    #[inline]
    pub(crate) fn is_idle(&self, flight: usize) -> bool {
        flight == 0 && self.last_data_sent != Time::ZERO
    }

    //= RFC 9260 6.1-8
    /// §7.2.1: cwnd decays once per RTO while nothing is sent on an address that has carried data; `true` if it did.
    pub(crate) fn decay(&mut self, now: Time, rto: Duration) -> bool {
        let periods = now.since(self.last_data_sent).as_nanos() / rto.as_nanos().max(1);
        if periods == 0 {
            return false;
        }
        let before = self.cwnd();
        for _ in 0..periods.min(32) {
            self.control.get_mut().on_idle();
        }
        // The next decay counts from here.
        self.last_data_sent = now;
        self.cwnd() != before
    }

    /// A loss is about to cut it.
    pub(crate) fn on_loss(&mut self, now: Time) {
        self.floor.on_loss(now);
        self.cwnd_at_loss = self.cwnd();
        if let Some(limit) = &mut self.limit {
            limit.on_loss();
        }
    }

    /// The window is no more than this: the lowest ssthresh after a loss may be more than a window that is small.
    pub(crate) fn lower_to(&mut self, most: usize) {
        let control = self.control.get_mut();
        if control.cwnd() > most {
            let ssthresh = control.ssthresh();
            control.set_window(most, ssthresh);
        }
    }

    /// After a cut, beside other paths of which `among` are pressed: the window need not fall below what the path
    /// holds without a queue.
    pub(crate) fn spare(&mut self, among: usize) {
        let Some(limit) = &self.limit else { return };
        let held = limit.spared(among).min(self.cwnd_at_loss);
        self.hold(held);
    }

    /// After a cut: the window need not fall below what the path holds without the queue that the round trips show.
    pub(crate) fn keep(&mut self) {
        let Some(signs) = &self.signs else { return };
        let held = (self.cwnd_at_loss as f64 * signs.kept()) as usize;
        self.hold(held);
    }

    fn hold(&mut self, held: usize) {
        let control = self.control.get_mut();
        if held > control.ssthresh() && !control.is_model_based() {
            control.set_window(held.max(control.cwnd()), held);
        }
    }

    /// A recovery has begun: where the floor of ssthresh has turned out to be more than the path holds, it is lowered.
    pub(crate) fn begin_low(
        &mut self,
        parameters: &CongestionParameters,
        pmdcs: usize,
        calm: bool,
    ) {
        let control = self.control.get_mut();
        self.floor.begin(control, parameters, pmdcs, self.cwnd_at_loss, calm);
    }

    /// A chunk that was sent at `sent` for the second time is lost: whether that is news of this recovery.
    pub(crate) fn is_lost_again(&self, sent: Time) -> bool {
        self.floor.is_news(sent) && self.is_recovering()
    }

    /// A retransmission of this recovery is lost.
    pub(crate) fn lower_again(&mut self, now: Time, pmdcs: usize) {
        if self.floor.lower(now, self.control.get_mut(), pmdcs) {
            self.reduction = None;
        }
    }

    /// A retransmission of this recovery is lost while there is no queue.
    pub(crate) fn lower_calm(
        &mut self,
        now: Time,
        parameters: &CongestionParameters,
        pmdcs: usize,
    ) {
        self.floor.lower_calm(now, self.control.get_mut(), parameters, pmdcs);
    }

    /// The recovery is over: what the path holds is given back.
    pub(crate) fn restore_floor(&mut self, parameters: &CongestionParameters, pmdcs: usize) {
        SsthreshFloor::restore(self.control.get_mut(), parameters, pmdcs, self.cwnd_at_loss);
    }

    /// Fast Recovery begins, until `exit` is acknowledged.
    pub(crate) fn enter_recovery(&mut self, exit: u64) {
        self.fast_recovery_exit = Some(exit);
    }

    /// Fast Recovery ends if its exit point is `reached`; `true` if it does.
    #[inline]
    pub(crate) fn leave_recovery(&mut self, reached: impl FnOnce(u64) -> bool) -> bool {
        let ends = self.fast_recovery_exit.is_some_and(reached);
        if ends {
            self.fast_recovery_exit = None;
            self.control.get_mut().on_recovered();
        }
        ends
    }

    /// Fast Recovery ends, whatever was acknowledged.
    pub(crate) fn abandon_recovery(&mut self) {
        self.fast_recovery_exit = None;
    }

    /// Fast Recovery begins: the rate is reduced from now on, if `profile` asks for that.
    pub(crate) fn begin_reduction(&mut self, profile: &Profile) {
        let new = RateReduction::new(profile, self.flight_at_send);
        if let Some(new) = new.filter(|_| !self.control().is_model_based()) {
            self.reduction = Some(new);
        }
    }

    /// Rate reduction ends with the recovery; `false` if there was none.
    pub(crate) fn end_reduction(&mut self) -> bool {
        if self.reduction.take().is_none() {
            return false;
        }
        // RFC 6937 §3: "cwnd = ssthresh" at the end of recovery.
        let ssthresh = self.ssthresh();
        self.control.get_mut().set_window(ssthresh, ssthresh);
        true
    }

    /// Rate reduction ends: something else has cut the window, or restores it.
    pub(crate) fn abandon_reduction(&mut self) {
        self.reduction = None;
    }
}
