//! When something is lost, and what is sent again: NewReno, SACK and FACK as Linux 2.6.15 has them.
//!
//! Sarolahti & Kuznetsov (2002), *Congestion control in Linux TCP*, §2 to §4. The sender is open, in disorder (ACKs
//! repeat), in recovery (RFC 3782) or in loss (after a timeout), the last two until what was sent by then is
//! acknowledged. Not as in the RFCs: a hole below the highest SACK counts like a duplicate ACK; SACK without FACK
//! takes only the first segment for lost, again at each duplicate or partial ACK; and while in loss the window does
//! not grow (the byte counting of 2.6.15 to 2.6.17 forgot it), so that one segment is sent again each round trip.

use super::queue::Sent;
use super::sender::Sender;
use super::state::{DUPLICATES, News, State};

impl Sender {
    /// Bytes that were acknowledged count for the window, except in a recovery.
    pub(super) fn count_bytes(&mut self, bytes: u64) {
        if self.recovery.state <= State::Disorder {
            self.congestion.bytes_acked += bytes;
        }
    }

    pub(super) fn may_grow(&self) -> bool {
        self.recovery.state != State::Recovery
    }

    /// Looks at an ACK that is not an ordinary one.
    pub(super) fn judge(&mut self, now: u64, news: News, acked: u64, echo: u64) {
        let mut duplicate = !news.acked;
        if self.queue.is_empty() {
            self.queue.duplicates = 0;
        }
        if self.queue.reported() == 0 {
            self.queue.forward = 0;
        }
        let proven = self.queue.forward > self.recovery.reordering;
        if news.beyond && self.una < self.recovery.high && !self.recovery.is_open() && proven {
            let lost = self.queue.forward - self.recovery.reordering;
            self.take_for_lost(lost);
        }
        if self.recovery.is_open() {
            self.recovery.undo.first_at = None;
        } else if self.una >= self.recovery.high && self.reach_high(echo) {
            return;
        }
        match self.recovery.state {
            State::Recovery if !news.acked => {
                if duplicate {
                    self.count_duplicate();
                }
            }
            State::Recovery => {
                self.take_off_duplicates(acked);
                duplicate = self.is_partial_a_loss(acked, echo);
            }
            State::Loss => {
                if acked > 0 {
                    self.recovery.timeouts = 0;
                }
                if !self.undo_loss(echo) {
                    self.congestion.moderate(self.queue.in_flight());
                    self.send_lost(now);
                    return;
                }
                if !self.recovery.is_open() || !self.begin_recovery(now, news, duplicate) {
                    return;
                }
            }
            State::Open | State::Disorder => {
                if !self.begin_recovery(now, news, duplicate) {
                    return;
                }
            }
        }
        if duplicate || self.has_head_timed_out(now) {
            self.update_lost(now);
        }
        self.congestion.shrink(self.queue.in_flight());
        self.send_lost(now);
    }

    /// What was sent when the state began is acknowledged: whether there is no more to do.
    fn reach_high(&mut self, echo: u64) -> bool {
        match self.recovery.state {
            State::Open => {}
            State::Loss => {
                self.recovery.timeouts = 0;
                return self.undo_or_end(echo);
            }
            State::Disorder => {
                self.undo_by_duplicates();
                let without = self.recovery.undo.from.is_none() || !self.options.sack;
                // With SACK, what all duplicate ACKs tell is awaited.
                if without || self.una != self.recovery.high {
                    self.recovery.undo.from = None;
                    self.recovery.open();
                }
            }
            State::Recovery => {
                if !self.options.sack {
                    self.queue.duplicates = 0;
                }
                if self.undo_or_end(echo) {
                    return true;
                }
                self.congestion.complete();
            }
        }
        false
    }

    /// Begins a recovery if it is time to: whether it is.
    fn begin_recovery(&mut self, now: u64, news: News, duplicate: bool) -> bool {
        if !self.options.sack && news.acked {
            self.queue.duplicates = 0;
        }
        if duplicate {
            self.count_duplicate();
        }
        if self.recovery.state == State::Disorder {
            self.undo_by_duplicates();
        }
        if !self.is_time_to_recover(now) {
            self.stay();
            return false;
        }
        let undo = &mut self.recovery.undo;
        undo.from = Some(self.una);
        undo.needed = self.queue.resent() as i64;
        undo.ssthresh = Some(self.congestion.worth(false));
        self.recovery.high = self.next;
        self.congestion.cut();
        self.congestion.begin();
        self.recovery.state = State::Recovery;
        true
    }

    /// There is no recovery: open, or in disorder if something is strange.
    fn stay(&mut self) {
        let resent = self.queue.resent();
        if resent == 0 {
            self.recovery.undo.first_at = None;
        }
        let strange = self.queue.reported() > 0 || resent > 0 || self.recovery.undo.from.is_some();
        let state = if strange { State::Disorder } else { State::Open };
        if self.recovery.state != state {
            self.recovery.state = state;
            self.recovery.high = self.next;
        }
        self.congestion.moderate(self.queue.in_flight());
    }

    fn is_time_to_recover(&self, now: u64) -> bool {
        let (queue, reordering) = (&self.queue, self.recovery.reordering);
        // Without SACK the missing segment itself counts.
        let reach = if self.options.sack { queue.forward } else { queue.duplicates + 1 };
        if queue.lost() > 0 || reach > reordering || self.has_head_timed_out(now) {
            return true;
        }
        // Few are in flight and nothing can be sent that would tell more.
        let packets = queue.len();
        packets <= reordering
            && queue.reported() >= (packets / 2).max(DUPLICATES)
            && !self.may_send()
    }

    /// The first segment was sent longer ago than the RTO.
    fn has_head_timed_out(&self, now: u64) -> bool {
        self.queue.head().is_some_and(|head| now - head.at > self.rtt.rto())
    }

    /// A duplicate ACK stands for a segment that arrived.
    fn count_duplicate(&mut self) {
        if !self.options.sack {
            self.queue.duplicates += 1;
            self.limit_duplicates(0);
        }
    }

    /// Of segments that were acknowledged one was missing, and the others had duplicate ACKs.
    fn take_off_duplicates(&mut self, acked: u64) {
        if !self.options.sack && acked > 0 {
            self.queue.duplicates = self.queue.duplicates.saturating_sub(acked - 1);
            self.limit_duplicates(acked);
        }
    }

    /// More duplicate ACKs than there can be: segments overtook each other.
    fn limit_duplicates(&mut self, acked: u64) {
        let packets = self.queue.len();
        let holes = self.queue.lost().max(1).min(packets);
        if self.queue.duplicates + holes > packets {
            self.queue.duplicates = packets - holes;
            self.recovery.reordered(packets + acked);
        }
    }

    /// Takes what has to be for lost.
    fn update_lost(&mut self, now: u64) {
        let beyond = self.queue.forward.saturating_sub(self.recovery.reordering);
        self.take_for_lost(if self.recovery.fack { beyond.max(1) } else { 1 });
        // The timer starts again with every ACK, so segments become overdue without a timeout.
        if self.options.sack && self.has_head_timed_out(now) {
            let rto = self.rtt.rto();
            let overdue = |at: u64| now - at > rto;
            for sent in self.queue.iter_mut().filter(|s| s.is_untouched() && overdue(s.at)) {
                sent.lost = true;
            }
        }
    }

    /// Of the first segments, this many, those that nothing is known of are lost.
    fn take_for_lost(&mut self, first: u64) {
        let high = self.recovery.high;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        for sent in self.queue.iter_mut().take(first).take_while(|sent| sent.end <= high) {
            sent.lost |= sent.is_untouched();
        }
    }

    /// Sends again what is lost, as far as the window lets it. With SACK and nothing new to send, also what may be.
    fn send_lost(&mut self, now: u64) {
        self.send_those(now, u64::MAX, |sent| sent.is_due());
        if self.recovery.is_recovering() && self.options.sack && !self.may_send() {
            let forward = self.queue.forward;
            self.send_those(now, forward, |sent| sent.is_untouched());
        }
    }

    fn send_those(&mut self, now: u64, among: u64, which: impl Fn(&Sent) -> bool) {
        let among = usize::try_from(among).unwrap_or(usize::MAX);
        let mut room = self.congestion.cwnd.saturating_sub(self.queue.in_flight());
        let due = self.queue.iter().take(among).enumerate().filter(|(_, sent)| which(sent));
        let due: Vec<usize> = due.map(|(index, _)| index).collect();
        for index in due {
            if room == 0 {
                return;
            }
            room -= 1;
            self.send_again(now, index);
            if index == 0 {
                self.restart_timer(now);
            }
        }
    }

    /// A timeout: all that was not reported is lost.
    pub(super) fn lose_all(&mut self) {
        let recovery = &mut self.recovery;
        let again = recovery.state == State::Loss && recovery.timeouts == 0;
        if recovery.state <= State::Disorder || self.una == recovery.high || again {
            // Not yet done for this window.
            recovery.undo.ssthresh = Some(self.congestion.worth(false));
            self.congestion.cut();
        }
        self.congestion.collapse();
        recovery.undo.needed = 0;
        let any = self.queue.iter().any(|sent| sent.ever_resent);
        recovery.undo.from = (!any).then_some(self.una);
        self.queue.duplicates = 0;
        self.queue.forward = 0;
        let mut forward = 0;
        for (index, sent) in self.queue.iter_mut().enumerate() {
            sent.lost = !sent.sacked;
            sent.resent = false;
            if sent.sacked {
                forward = index as u64 + 1;
            }
        }
        self.queue.forward = forward;
        recovery.reordering = recovery.reordering.min(DUPLICATES);
        recovery.state = State::Loss;
        recovery.high = self.next;
        recovery.timeouts += 1;
    }
}
