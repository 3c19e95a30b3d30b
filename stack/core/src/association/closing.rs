//! A graceful end: SHUTDOWN, SHUTDOWN ACK, T2 and T5 (RFC 9260 §9.2).

use std::net::IpAddr;
use std::time::Duration;

use super::addresses::Addresses;
use super::common::Common;
use super::incoming::PacketInHand;
use super::outbox::Control;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::receive::{PacketData, Receiver};
use crate::send::Sender;
use crate::state::State;
use crate::time::Time;

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

/// Its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosingTimer {
    /// T2-shutdown.
    T2,
    /// T5-shutdown-guard.
    T5,
}

/// A graceful end.
#[derive(Debug)]
pub(super) struct Closing {
    step: Step,
    /// T2-shutdown.
    t2: Option<Time>,
    attempts: u32,
    /// T5-shutdown-guard.
    t5: Option<Time>,
    /// Where SHUTDOWN or SHUTDOWN ACK was sent last, or where a SHUTDOWN came from.
    path: PathId,
    /// The source of the answer to that SHUTDOWN, if not the one of its path.
    source: Option<IpAddr>,
    /// Where the next retransmission goes, to answer a repeated SHUTDOWN.
    answer: Option<PathId>,
}

impl Closing {
    pub(super) fn new(step: Step) -> Closing {
        let path = PathId::default();
        Closing { step, t2: None, attempts: 0, t5: None, path, source: None, answer: None }
    }

    /// The next step is this one.
    pub(super) fn enter(&mut self, step: Step) {
        self.step = step;
    }

    #[inline]
    pub(super) const fn state(&self) -> State {
        match self.step {
            Step::Pending => State::ShutdownPending,
            Step::Sent => State::ShutdownSent,
            Step::Received => State::ShutdownReceived,
            Step::AckSent => State::ShutdownAckSent,
        }
    }

    /// Where SHUTDOWN or SHUTDOWN ACK was sent last, or where a SHUTDOWN came from.
    pub(super) const fn path(&self) -> PathId {
        self.path
    }

    /// Where the next retransmission goes, if it answers a repeated SHUTDOWN.
    #[inline]
    pub(super) const fn answer(&self) -> Option<PathId> {
        self.answer
    }

    /// That has left.
    pub(super) fn answered(&mut self) {
        self.answer = None;
    }

    /// A path is gone, and another one takes its place.
    pub(super) fn leave_path(&mut self, gone: PathId, instead: PathId) {
        if self.path == gone {
            (self.path, self.source) = (instead, None);
        }
        self.answer = self.answer.filter(|answer| *answer != gone);
    }

    /// All outstanding data has been acknowledged: takes the next step.
    pub(super) fn progress(&mut self, cx: &mut Common<'_>) {
        match self.step {
            //= RFC 9260 9.2-1 9.2-20
            Step::Pending => {
                self.step = Step::Sent;
                // §9.2: "The sender of the SHUTDOWN chunk MAY also start an overall guard timer
                // T5-shutdown-guard". What takes time before is the delivery of data.
                self.t5 = Some(cx.now + guard(cx.profile()));
                let path = cx.paths.data_path();
                self.send(cx, path, Control::Shutdown(None));
            }
            //= RFC 9260 3.3.9-1 4-11 9.2-13
            Step::Received => {
                self.step = Step::AckSent;
                self.attempts = 0;
                // §6.4: "An endpoint SHOULD transmit reply chunks [...] to the same destination
                // transport address from which it received the control chunk to which it is
                // replying." The peer tries its addresses in turn; the primary may have gone.
                let (path, source) = match cx.paths[self.path].preferred() {
                    true => (self.path, self.source),
                    false => (cx.paths.data_path(), None),
                };
                self.send(cx, path, Control::ShutdownAck(source));
            }
            Step::Sent | Step::AckSent => {}
        }
    }

    //= RFC 9260 3.3.8-1
    /// SHUTDOWN or SHUTDOWN ACK leaves, and T2 runs.
    fn send(&mut self, cx: &mut Common<'_>, path: PathId, control: Control) {
        cx.state = self.state();
        // A SACK or heartbeat that waits is overtaken.
        cx.outbox.drop_shutdowns();
        cx.push(path, control);
        let rto = cx.paths[path].rto();
        let again = cx.expires_again(path, rto);
        (self.path, self.t2) = (path, Some(again));
    }

    /// SHUTDOWN is answered by SHUTDOWN ACK at once: both sides shut down at a time, or our SHUTDOWN ACK was lost.
    pub(super) fn acknowledge(
        &mut self,
        cx: &mut Common<'_>,
        path: PathId,
        source: Option<IpAddr>,
    ) {
        self.step = Step::AckSent;
        self.send(cx, path, Control::ShutdownAck(source));
    }

    /// A SHUTDOWN came while something is still to be acknowledged; `again` if not for the first time.
    pub(super) fn on_shutdown(&mut self, path: PathId, source: Option<IpAddr>, again: bool) {
        (self.path, self.source) = (path, source);
        if !again {
            self.t5 = None; // It begins again if the window closes.
        }
    }

    //= RFC 9260 9.2-7
    /// §9.2: in SHUTDOWN-RECEIVED an endpoint "MUST continue responding to SHUTDOWN chunks from its peer".
    ///
    /// The peer's T2-shutdown has expired. It lives, and has not got what is outstanding. SHUTDOWN ACK has to
    /// wait for that, and T3-rtx may be backed off to a minute by now. So data that is older than an RTO that
    /// is not backed off leaves again now: what RFC 6069 does for TCP when a route has come back.
    ///
    /// The peer counts errors until "any packet" comes: so the data goes where the SHUTDOWN came from (§6.4),
    /// or a heartbeat if it has just left: `false` asks for that.
    ///
    /// A SHUTDOWN that answers DATA is no such sign. If it brought that out again, the copy would be answered
    /// in the same way, for ever where the round trip takes longer than that RTO.
    pub(super) fn answer_again(
        &mut self,
        cx: &mut Common<'_>,
        sender: &mut Sender,
        incoming: &PacketInHand<'_>,
    ) -> bool {
        let path = incoming.path();
        if sender.resend_overdue(&mut cx.sending(), None) {
            self.answer = Some(path).filter(|_| incoming.is_from_confirmed());
            return true;
        }
        let p = &cx.paths[path];
        !p.settings.heartbeats || p.heartbeat.is_awaited()
    }

    //= RFC 9260 9.2-2 9.2-4 9.2-5 9.2-14 9.2-15 9.2-16
    /// T2-shutdown expired: SHUTDOWN or SHUTDOWN ACK is sent again. `false` if that was too often.
    pub(super) fn on_t2(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        addresses: &Addresses,
    ) -> bool {
        let (now, last) = (cx.now, self.path);
        let mut sending = cx.sending();
        let later = sender.put_off_control(&sending, last);
        let error = sending.is_error();
        if later.is_some() {
            self.t2 = later;
            return true;
        }
        self.attempts += u32::from(error);
        if self.attempts > cx.profile().limits.association_max_retrans {
            return false;
        }
        //= RFC 9260 9.2-3
        let profile = cx.profile();
        cx.paths[last].rtt.back_off(profile);
        cx.count_failure(last, error);
        addresses.doubt(cx, last, now);
        let control = match self.step {
            Step::Sent => Control::Shutdown(None),
            Step::AckSent => Control::ShutdownAck(None),
            Step::Pending | Step::Received => return true,
        };
        let path = cx.paths.alternate(last);
        cx.push(path, control);
        (self.path, self.t2) = (path, Some(cx.expires(path)));
        true
    }

    /// What a packet means for it in SHUTDOWN-SENT; `source` is that of what answers it.
    pub(super) fn after_packet(
        &mut self,
        cx: &mut Common<'_>,
        receiver: &mut Receiver,
        incoming: &PacketInHand<'_>,
        data: PacketData,
        source: Option<IpAddr>,
    ) {
        let rto = cx.paths[self.path].rto();
        //= RFC 9260 9.2-6
        // The reception of any packet from the peer SHOULD clear the retransmission count and
        // restart T2.
        self.attempts = 0;
        self.t2 = Some(cx.expires_again(self.path, rto));
        if data.has_new() {
            // What the peer had taken before our SHUTDOWN still comes, for as long as that takes.
            self.t5 = Some(cx.now + guard(cx.profile()));
        }
        // Nothing acknowledges a SHUTDOWN, but what a repeated one brings out comes the way that it went: that
        // works. Of what comes again and again that is not sure: the peer may hear nothing.
        let p = &mut cx.paths[incoming.path()];
        let answered = data.has_new() || !data.is_any();
        let way =
            incoming.is_from_confirmed() && p.address.local().is_none_or(|l| l == incoming.local());
        if answered && way && p.clear_errors(cx.now) {
            cx.path_changed(incoming.path());
        }
        if data.is_any() {
            //= RFC 9260 4-9 6.2-18 9.2-9 9.2-10
            // Each packet with DATA is answered with SHUTDOWN, and a SACK if there are gaps.
            receiver.request_sack();
            // They leave from where it arrived: what was tried since T2 expired may not work.
            self.send(cx, incoming.path(), Control::Shutdown(source));
        }
    }

    /// A window that stays closed is no error (§6.1 A), so nothing else would ever end the wait of
    /// SHUTDOWN-PENDING and SHUTDOWN-RECEIVED for a peer that answers and reads no more.
    pub(super) fn guard_closed_window(&mut self, now: Time, profile: &Profile) {
        if self.is_draining() {
            self.t5.get_or_insert(now + guard(profile));
        }
    }

    /// Data was acknowledged: it may take as long as it takes.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        if self.is_draining() {
            self.t5 = None;
        }
    }

    /// One side has asked for the end, and our data has yet to be acknowledged.
    fn is_draining(&self) -> bool {
        matches!(self.step, Step::Pending | Step::Received)
    }

    /// Other settings hold: T5 runs no longer than it would if it began now.
    pub(super) fn reconfigure(&mut self, now: Time, profile: &Profile) {
        self.t5 = self.t5.map(|at| at.min(now + guard(profile)));
    }

    /// When the first of its timers expires.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.t2.into_iter().chain(self.t5).min()
    }

    /// A timer that is due, and no longer runs.
    pub(super) fn take_due(&mut self, now: Time) -> Option<ClosingTimer> {
        let due = |timer: &mut Option<Time>| timer.take_if(|at| *at <= now).is_some();
        // T5 ends the association.
        (due(&mut self.t5).then_some(ClosingTimer::T5))
            .or_else(|| due(&mut self.t2).then_some(ClosingTimer::T2))
    }

    /// T2 runs no longer than that.
    pub(super) fn repeat_before(&mut self, latest: Time) {
        self.t2 = self.t2.map(|at| at.min(latest));
    }
}

/// How long T5-shutdown-guard runs.
fn guard(profile: &Profile) -> Duration {
    profile.rto.max().mul_f64(profile.limits.shutdown_guard_rto_max)
}
