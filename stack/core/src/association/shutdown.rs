//! Ending gracefully: SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE, T2 and T5 (RFC 9260 §9.2).

use std::time::Duration;

use tresse_wire::Tsn;

use super::input::Incoming;
use super::phase::{Closing, Step};
use super::{Association, Control, Phase, State};
use crate::event::{CloseReason, Event};
use crate::path::PathId;
use crate::time::Time;

impl Association {
    /// SHUTDOWN primitive (§11.1.3).
    pub(crate) fn shutdown(&mut self, now: Time) {
        match &mut self.phase {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, ..) => {
                opening.to_be_closed = true;
            }
            Phase::Established => self.begin_shutdown(now),
            //= RFC 9260 9.2-7
            // §9.2: in SHUTDOWN-RECEIVED, requests of the upper layer MUST be ignored.
            _ => {}
        }
    }

    pub(super) fn begin_shutdown(&mut self, now: Time) {
        self.phase.close(Step::Pending);
        self.opportunity(); // What Nagle held back is last now.
        self.shutdown_progress(now);
    }

    /// Takes the next step once all outstanding data has been acknowledged.
    pub(super) fn shutdown_progress(&mut self, now: Time) {
        if !self.sender.is_empty() {
            return;
        }
        let guard = now + self.guard();
        let Some(closing) = self.phase.closing_mut() else { return };
        match closing.step {
            //= RFC 9260 9.2-1 9.2-20
            Step::Pending => {
                closing.step = Step::Sent;
                // §9.2: "The sender of the SHUTDOWN chunk MAY also start an overall guard timer
                // T5-shutdown-guard". What takes time before is the delivery of data.
                closing.t5 = Some(guard);
                self.send_shutdown(now, self.paths.data_path(), Control::Shutdown(None));
            }
            //= RFC 9260 3.3.9-1 4-11 9.2-13
            Step::Received => {
                closing.step = Step::AckSent;
                closing.attempts = 0;
                // §6.4: "An endpoint SHOULD transmit reply chunks [...] to the same destination
                // transport address from which it received the control chunk to which it is
                // replying." The peer tries its addresses in turn; the primary may have gone.
                let (from, source) = (closing.path, closing.source);
                let preferred = self.paths[from].preferred();
                let (path, source) = match preferred {
                    true => (from, source),
                    false => (self.paths.data_path(), None),
                };
                self.send_shutdown(now, path, Control::ShutdownAck(source));
            }
            Step::Sent | Step::AckSent => {}
        }
    }

    /// How long T5-shutdown-guard runs.
    pub(super) fn guard(&self) -> Duration {
        let profile = self.profile();
        profile.rto.max().mul_f64(profile.limits.shutdown_guard_rto_max)
    }

    /// A window that stays closed is no error (§6.1 A), so nothing else would ever end the wait of
    /// SHUTDOWN-PENDING and SHUTDOWN-RECEIVED for a peer that answers and reads no more.
    pub(super) fn guard_closed_window(&mut self, now: Time) {
        let guard = now + self.guard();
        if let Some(closing) = self.phase.closing_mut().filter(|closing| closing.is_draining()) {
            closing.t5.get_or_insert(guard);
        }
    }

    /// Data was acknowledged: it may take as long as it takes.
    pub(super) fn note_progress(&mut self) {
        if let Some(closing) = self.phase.closing_mut().filter(|closing| closing.is_draining()) {
            closing.t5 = None;
        }
    }

    //= RFC 9260 3.3.8-1
    fn send_shutdown(&mut self, now: Time, path: PathId, control: Control) {
        // A SACK or heartbeat that waits is overtaken.
        self.outbox.drop_shutdowns();
        self.push_control(path, control);
        let rto = self.paths[path].rto();
        let wait = self.context(now).restart_patience(path, rto);
        self.phase.send_end(path, now + wait);
    }

    //= RFC 9260 9.2-2 9.2-4 9.2-5 9.2-14 9.2-15 9.2-16
    /// T2-shutdown expired: SHUTDOWN or SHUTDOWN ACK is sent again.
    pub(super) fn on_t2(&mut self, now: Time) {
        let Some(last) = self.phase.closing().map(|closing| closing.path) else { return };
        let (sender, mut cx) = self.sending(now);
        let later = sender.put_off_control(&cx, last);
        let error = cx.is_error();
        let limit = self.profile().limits.association_max_retrans;
        let Some(closing) = self.phase.closing_mut() else { return };
        if later.is_some() {
            closing.t2 = later;
            return;
        }
        closing.attempts += u32::from(error);
        if closing.attempts > limit {
            self.close(CloseReason::Unreachable);
            return;
        }
        let step = closing.step;
        let profile = std::sync::Arc::clone(&self.config.profile);
        //= RFC 9260 9.2-3
        self.paths[last].rtt.back_off(&profile);
        self.count_failure(last, error);
        self.doubt_source(now, last, now);
        let control = match step {
            Step::Sent => Control::Shutdown(None),
            Step::AckSent => Control::ShutdownAck(None),
            Step::Pending | Step::Received => return,
        };
        let path = self.paths.alternate(last);
        self.push_control(path, control);
        let rto = self.paths[path].rto();
        let wait = self.context(now).start_patience(path, rto);
        self.phase.send_end(path, now + wait);
    }

    //= RFC 9260 9.2-11 9.2-12
    /// T5-shutdown-guard expired: ABORT.
    pub(super) fn on_t5(&mut self) {
        self.abort_with(Vec::new(), CloseReason::ShutdownTimeout);
    }

    /// SHUTDOWN received. It is answered where it came from, from where it arrived: that pair of addresses
    /// works, and of any other one nobody may know yet.
    pub(super) fn on_shutdown(&mut self, now: Time, incoming: &Incoming<'_>, cumulative: Tsn) {
        let (path, source) = (incoming.path, self.answer_source(incoming));
        match self.state() {
            //= RFC 9260 9.2-24
            // In COOKIE-WAIT and COOKIE-ECHOED it SHOULD be discarded silently.
            State::CookieWait | State::CookieEchoed | State::Closed => {}
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                let again = self.state() == State::ShutdownReceived;
                let Some(closing) = self.phase.close(Step::Received) else { return };
                (closing.path, closing.source) = (path, source);
                if !again {
                    closing.t5 = None; // It begins again if the window closes.
                    self.journal.event(Event::PeerShutdown);
                }
                let before = self.sender.cumulative();
                self.on_cumulative_ack(now, cumulative);
                if !self.is_closed() {
                    // What answers DATA acknowledges it, or has a SACK that says why not (§9.2).
                    let answers = incoming.has_sack || self.sender.cumulative() != before;
                    if again && !answers {
                        self.answer_repeated_shutdown(now, incoming);
                    }
                    self.opportunity();
                    self.shutdown_progress(now);
                }
            }
            //= RFC 9260 9.2-25
            // Both sides shut down at once: answer at once, restart T2.
            State::ShutdownSent => {
                self.phase.close(Step::AckSent);
                self.send_shutdown(now, path, Control::ShutdownAck(source));
            }
            // Our SHUTDOWN ACK was lost.
            State::ShutdownAckSent => self.send_shutdown(now, path, Control::ShutdownAck(source)),
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
    /// or a heartbeat if it has just left.
    ///
    /// A SHUTDOWN that answers DATA is no such sign. If it brought that out again, the copy would be answered
    /// in the same way, for ever where the round trip takes longer than that RTO.
    fn answer_repeated_shutdown(&mut self, now: Time, incoming: &Incoming<'_>) {
        let path = incoming.path;
        let (sender, mut cx) = self.sending(now);
        let resends = sender.resend_overdue(&mut cx);
        let p = &self.paths[path];
        if resends {
            if let Some(closing) = self.phase.closing_mut() {
                closing.answer = Some(path).filter(|_| incoming.is_from_confirmed());
            }
        } else if p.settings.heartbeats && !p.heartbeat.is_awaited() {
            self.send_heartbeat(now, path);
        }
    }

    //= RFC 9260 3.3.13-1 8.5.1-8 9.2-17 9.2-26
    /// SHUTDOWN ACK received; in COOKIE-WAIT and COOKIE-ECHOED the endpoint treats it as out of
    /// the blue (§8.5.1 E).
    pub(super) fn on_shutdown_ack(&mut self, incoming: &Incoming<'_>) {
        if matches!(self.state(), State::ShutdownSent | State::ShutdownAckSent) {
            // It is sent once: like the answer to a SHUTDOWN, on what is known to work.
            let source = self.answer_source(incoming);
            self.push_control(incoming.path, Control::ShutdownComplete(source));
            self.close(CloseReason::Shutdown);
        }
    }

    //= RFC 9260 8.5.1-11 9.2-18 9.2-19
    /// SHUTDOWN COMPLETE received: ignored except in SHUTDOWN-ACK-SENT (§8.5.1 C).
    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state() == State::ShutdownAckSent {
            self.close(CloseReason::Shutdown);
        }
    }

    /// What a packet means for a shutdown under way.
    pub(super) fn shutdown_after_packet(&mut self, now: Time, incoming: &Incoming<'_>) {
        let last = match self.phase.closing() {
            Some(Closing { step: Step::Sent, path, .. }) => *path,
            _ => return,
        };
        let rto = self.paths[last].rto();
        let wait = self.context(now).restart_patience(last, rto);
        let guard = now + self.guard();
        if let Some(closing) = self.phase.closing_mut() {
            //= RFC 9260 9.2-6
            // The reception of any packet from the peer SHOULD clear the retransmission count and
            // restart T2.
            closing.attempts = 0;
            closing.t2 = Some(now + wait);
            if incoming.facts.new_data {
                // What the peer had taken before our SHUTDOWN still comes, for as long as that takes.
                closing.t5 = Some(guard);
            }
        }
        // Nothing acknowledges a SHUTDOWN, but what a repeated one brings out comes the way that it went: that
        // works. Of what comes again and again that is not sure: the peer may hear nothing.
        let p = &mut self.paths[incoming.path];
        let answered = incoming.facts.new_data || !incoming.has_data;
        let way =
            incoming.is_from_confirmed() && p.address.local().is_none_or(|l| l == incoming.local);
        if answered && way && p.clear_errors(now) {
            self.path_changed(incoming.path);
        }
        if incoming.has_data {
            //= RFC 9260 4-9 6.2-18 9.2-9 9.2-10
            // Each packet with DATA is answered with SHUTDOWN, and a SACK if there are gaps.
            self.receiver.request_sack();
            // They leave from where it arrived: what was tried since T2 expired may not work.
            let source = self.answer_source(incoming);
            self.send_shutdown(now, incoming.path, Control::Shutdown(source));
        }
    }

    /// An INIT arrived in SHUTDOWN-ACK-SENT: SHUTDOWN ACK is sent again (§9.2).
    pub(crate) fn resend_shutdown_ack(&mut self) {
        if let Some(path) = self.phase.closing().map(|closing| closing.path) {
            self.push_control(path, Control::ShutdownAck(None));
        }
    }
}

impl Closing {
    /// One side has asked for the end, and our data has yet to be acknowledged.
    fn is_draining(&self) -> bool {
        matches!(self.step, Step::Pending | Step::Received)
    }
}
