//! When to send a SACK (RFC 9260 §6.2, §6.7).

use std::time::Duration;

use super::Promptness;
use crate::profile::SackParameters;
use crate::time::Time;

/// What a received packet with DATA chunks means for acknowledging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketFacts {
    /// It had DATA that was accepted for the first time.
    pub(crate) new_data: bool,
    /// It had DATA that we had already.
    pub(crate) duplicates: bool,
    /// It had DATA that was dropped for want of room.
    pub(crate) dropped: bool,
    /// TSNs are missing below the highest one.
    pub(crate) gap: bool,
    /// They were before it.
    pub(crate) had_gap: bool,
    /// A DATA chunk had the I bit.
    pub(crate) immediate: bool,
    /// Its last DATA chunk was one that we had already.
    pub(crate) ends_in_duplicate: bool,
}

/// The delayed acknowledgement algorithm.
#[derive(Debug)]
pub(crate) struct DelayedAck {
    delay: Duration,
    /// A SACK is due for every this many packets.
    every: u32,
    /// What fills a gap is acknowledged at once.
    when_filled: bool,
    /// What ends in a duplicate is.
    if_last_is_duplicate: bool,
    /// Whether data was ever accepted.
    started: bool,
    /// Packets with DATA since the last SACK.
    packets: u32,
    pending: bool,
    due: bool,
    deadline: Option<Time>,
    prompt: Promptness,
}

impl DelayedAck {
    //= RFC 9260 6.2-13 6.2-14
    /// Nothing received yet.
    pub(crate) fn new(parameters: &SackParameters) -> Self {
        // RFC 9260 §6.2: SACK.Delay MUST NOT be more than 500 ms.
        let delay = parameters.delay_ms.clamp(0.0, 500.0) / 1000.0;
        DelayedAck {
            delay: Duration::try_from_secs_f64(delay).unwrap_or_default(),
            every: parameters.packets,
            when_filled: parameters.when_filled,
            if_last_is_duplicate: parameters.if_last_is_duplicate,
            started: false,
            packets: 0,
            pending: false,
            due: false,
            deadline: None,
            prompt: Promptness::new(parameters),
        }
    }

    /// Takes other parameters; they hold for what waits already.
    pub(crate) fn reconfigure(&mut self, now: Time, parameters: &SackParameters) {
        let new = DelayedAck::new(parameters);
        (self.delay, self.every) = (new.delay, new.every);
        (self.when_filled, self.if_last_is_duplicate) = (new.when_filled, new.if_last_is_duplicate);
        self.prompt.reconfigure(parameters);
        // RFC 9260 §6.2: SACK.Delay after the arrival of any unacknowledged chunk, at the latest.
        self.deadline = self.deadline.map(|deadline| deadline.min(now + new.delay));
        self.due |= self.packets >= self.every;
    }

    //= RFC 9260 5.1-18 5.1-19 5.1.5-6 6.2-1 6.2-7 6.2-8 6.2-9 6.2-10 6.7-1 7.2.4-1
    /// Takes note of a packet; one without DATA changes nothing.
    pub(crate) fn on_packet(&mut self, now: Time, facts: PacketFacts) {
        let PacketFacts { new_data, duplicates, dropped, .. } = facts;
        if !(new_data || duplicates || dropped) {
            return;
        }
        self.pending = true;
        self.packets = self.packets.saturating_add(1);
        // RFC 9260 §5.1: after the reception of the first DATA chunk in an association, the
        // endpoint MUST immediately respond with a SACK chunk.
        let first = new_data && !self.started;
        self.started |= new_data;
        // RFC 9260 §6.2: a packet with duplicate and no new DATA chunks MUST be answered at once.
        let only_duplicates = duplicates && !new_data;
        // RFC 9260 §6.2: so must a packet of which a DATA chunk was dropped.
        // RFC 9260 §6.7: while there is a gap, a SACK goes after each packet that does not fill
        // it. RFC 5681 §4.2, which §6.2 follows: and for what fills in all or part of a gap.
        let gap = facts.gap || facts.had_gap && self.when_filled;
        // RFC 9260 §6.2: the I bit asks not to delay the SACK. With duplicates and new data it "MAY" go at once.
        let immediate = facts.immediate || facts.ends_in_duplicate && self.if_last_is_duplicate;
        let undelayed = self.prompt.applies(now, self.delay);
        let now_or_never = undelayed || first || only_duplicates || dropped || gap || immediate;
        // RFC 9260 §6.2: at least for every second packet (not every second DATA chunk).
        if now_or_never || self.packets >= self.every || self.delay.is_zero() {
            self.due = true;
        } else if self.deadline.is_none() {
            // RFC 9260 §6.2: within 200 ms of the arrival of *any* unacknowledged DATA chunk: the
            // first one counts.
            self.deadline = Some(now + self.delay);
        }
    }

    /// Whether a SACK must go now.
    pub(crate) fn due(&self) -> bool {
        self.due
    }

    /// Whether DATA came since the last SACK. RFC 9260 §6.1: then a SACK SHOULD be bundled with
    /// outbound DATA.
    pub(crate) fn pending(&self) -> bool {
        self.pending
    }

    /// When a SACK will become due if nothing else happens.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.due { None } else { self.deadline }
    }

    /// Makes the SACK due if the deadline has come.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.due = true;
        }
    }

    /// Makes a SACK due for another reason, such as a window update.
    pub(crate) fn request(&mut self) {
        self.due = true;
    }

    /// A SACK was sent (alone, with DATA, or as part of a SHUTDOWN).
    pub(crate) fn on_sent(&mut self) {
        self.packets = 0;
        self.pending = false;
        self.due = false;
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests;
