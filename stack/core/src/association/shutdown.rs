//! Ending gracefully: SHUTDOWN, SHUTDOWN ACK and SHUTDOWN COMPLETE, each in the states in which it is taken (RFC 9260 §9.2).
//! What an end under way does is in `closing.rs`.

use tresse_wire::Tsn;

use super::closing::{ClosingTimer, Step};
use super::errors::End;
use super::incoming::PacketInHand;
use super::{Association, Control, Phase, State};
use crate::event::{CloseReason, Event};
use crate::receive::PacketData;
use crate::time::Time;

impl Association {
    /// SHUTDOWN primitive (§11.1.3).
    pub(crate) fn shutdown(&mut self, now: Time) {
        match &mut self.phase {
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, ..) => opening.ask_to_close(),
            Phase::Established => self.begin_shutdown(now),
            //= RFC 9260 9.2-7
            // §9.2: in SHUTDOWN-RECEIVED, requests of the upper layer MUST be ignored.
            _ => {}
        }
    }

    pub(super) fn begin_shutdown(&mut self, now: Time) {
        self.phase.close(Step::Pending);
        self.paths.begin_opportunity(&self.config.profile); // What Nagle held back is last now.
        self.continue_shutdown(now);
    }

    /// A timer of a graceful end has expired.
    pub(super) fn on_shutdown_timer(&mut self, now: Time, timer: ClosingTimer) {
        match timer {
            ClosingTimer::T2 => {
                let (mut cx, parts) = self.parts(now);
                let Some(closing) = parts.phase.closing_mut() else { return };
                if !closing.on_t2(&mut cx, parts.halves.sender, parts.monitor.addresses()) {
                    self.close(CloseReason::Unreachable);
                }
            }
            //= RFC 9260 9.2-11 9.2-12
            // T5-shutdown-guard expired: ABORT.
            ClosingTimer::T5 => {
                self.abort_with(End { causes: Vec::new(), reason: CloseReason::ShutdownTimeout });
            }
        }
    }

    /// SHUTDOWN received. It is answered where it came from, from where it arrived: that pair of addresses
    /// works, and of any other one nobody may know yet.
    pub(super) fn on_shutdown(&mut self, now: Time, incoming: &PacketInHand<'_>, cumulative: Tsn) {
        let path = incoming.path();
        let source = incoming.answer_source(&self.paths, self.addresses());
        let state = self.state();
        match state {
            //= RFC 9260 9.2-24
            // In COOKIE-WAIT and COOKIE-ECHOED it SHOULD be discarded silently.
            State::CookieWait | State::CookieEchoed | State::Closed => {}
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                let again = state == State::ShutdownReceived;
                let Some(closing) = self.phase.close(Step::Received) else { return };
                closing.on_shutdown(path, source, again);
                if !again {
                    self.journal.event(Event::PeerShutdown);
                }
                let before = self.sender.data().cumulative();
                self.on_cumulative_ack(now, cumulative);
                if !self.is_closed() {
                    // What answers DATA acknowledges it, or has a SACK that says why not (§9.2).
                    let answers = incoming.has_sack() || self.sender.data().cumulative() != before;
                    if again && !answers {
                        self.answer_repeated_shutdown(now, incoming);
                    }
                    self.paths.begin_opportunity(&self.config.profile);
                    self.continue_shutdown(now);
                }
            }
            //= RFC 9260 9.2-25
            // Both sides shut down at once: answer at once, restart T2. Or our SHUTDOWN ACK was lost.
            State::ShutdownSent | State::ShutdownAckSent => {
                let (mut cx, parts) = self.parts(now);
                if let Some(closing) = parts.phase.closing_mut() {
                    closing.acknowledge(&mut cx, path, source);
                }
            }
        }
    }

    /// The peer does not get what it has to acknowledge: that leaves again, or a heartbeat does.
    fn answer_repeated_shutdown(&mut self, now: Time, incoming: &PacketInHand<'_>) {
        let (mut cx, parts) = self.parts(now);
        let sender = parts.halves.sender;
        let Some(closing) = parts.phase.closing_mut() else { return };
        if !closing.answer_again(&mut cx, sender, incoming) {
            parts.monitor.send_heartbeat(&mut cx, sender, incoming.path());
        }
    }

    //= RFC 9260 3.3.13-1 8.5.1-8 9.2-17 9.2-26
    /// SHUTDOWN ACK received; in COOKIE-WAIT and COOKIE-ECHOED the endpoint treats it as out of
    /// the blue (§8.5.1 E).
    pub(super) fn on_shutdown_ack(&mut self, incoming: &PacketInHand<'_>) {
        if matches!(self.state(), State::ShutdownSent | State::ShutdownAckSent) {
            // It is sent once: like the answer to a SHUTDOWN, on what is known to work.
            let source = incoming.answer_source(&self.paths, self.addresses());
            self.outbox.push(&self.paths, incoming.path(), Control::ShutdownComplete(source));
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
    #[inline]
    pub(super) fn shutdown_after_packet(
        &mut self,
        now: Time,
        incoming: &PacketInHand<'_>,
        data: PacketData,
    ) {
        if self.state() == State::ShutdownSent {
            let source = incoming.answer_source(&self.paths, self.addresses());
            let (mut cx, parts) = self.parts(now);
            if let Some(closing) = parts.phase.closing_mut() {
                closing.after_packet(&mut cx, parts.halves.receiver, incoming, data, source);
            }
        }
    }

    /// An INIT arrived in SHUTDOWN-ACK-SENT: SHUTDOWN ACK is sent again (§9.2).
    pub(crate) fn resend_shutdown_ack(&mut self) {
        if let Some(path) = self.phase.closing().map(|closing| closing.path()) {
            self.outbox.push(&self.paths, path, Control::ShutdownAck(None));
        }
    }
}
