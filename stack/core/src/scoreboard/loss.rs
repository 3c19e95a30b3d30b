//! Chunks declared lost, and sent again.

use super::{ChunkState, Outstanding, Scoreboard};
use crate::ids::{LossCause, PathId};
use crate::time::Time;

/// Whether a chunk that is sent again can be declared lost by miss indications once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eligibility {
    /// Not if it was fast-retransmitted, until a timeout (RFC 9260 §7.2.4 rule 5).
    Rule5,
    /// Not, whatever it is sent again for, until a timeout.
    Spent,
    /// As if it had not been fast-retransmitted.
    Renewed,
    /// Always: its count begins again, and whatever is newly acknowledged above it counts, also what was
    /// sent before it (Linux 2.6.15; Pedersen 2006, Figure 3.9: again after four further SACKs).
    Repeat,
}

impl Scoreboard {
    /// Records that the lost chunk `seq` leaves again, on `path`, in the packet begun last. What
    /// `eligibility` says is about the next fast retransmission of it.
    pub fn record_retransmission(
        &mut self,
        now: Time,
        path: PathId,
        seq: u64,
        eligibility: Eligibility,
    ) {
        let i = (seq - self.base) as usize;
        debug_assert_eq!(self.ring[i].state, ChunkState::Lost);
        let (old_path, old_packet) = (self.ring[i].path, self.ring[i].packet);
        let (size, user_bytes) = (self.ring[i].counted(), self.ring[i].chunk.payload.len());
        let bytes = self.ring[i].size() as u32;
        self.lost.remove(seq);
        self.packets.change(old_packet, |p| p.open -= 1);
        let packet = self.packets.latest();
        self.packets.change(packet, |p| {
            p.in_flight += 1;
            p.open += 1;
            p.bytes += bytes;
        });
        self.user_bytes.enter_flight(user_bytes);
        let chunk = &mut self.ring[i];
        chunk.state = ChunkState::InFlight;
        (chunk.acks.taken_back, chunk.acks.ect) = (false, false);
        chunk.path = path;
        chunk.packet = packet;
        chunk.last_sent = now;
        chunk.transmissions += 1;
        let moved = old_path != path;
        chunk.one_path &= !moved;
        let repeat = eligibility == Eligibility::Repeat;
        match eligibility {
            Eligibility::Rule5 | Eligibility::Repeat => {}
            Eligibility::Spent => chunk.fast_retransmitted = true,
            Eligibility::Renewed => chunk.fast_retransmitted = false,
        }
        let eligible = repeat || !chunk.fast_retransmitted;
        if moved {
            let facts = self.facts(old_path);
            facts.unacked -= 1;
            facts.buffered -= user_bytes;
            if self.earliest(old_path) == Some(seq) {
                self.advance_earliest(old_path, seq + 1);
            }
            let facts = self.facts(path);
            facts.unacked += 1;
            facts.buffered += user_bytes;
            facts.earliest = Some(facts.earliest.map_or(seq, |e| e.min(seq)));
        }
        self.facts(path).flight += size;
        if seq <= self.holes_to && eligible {
            // It begins again, and is only struck by acks of data sent after it.
            let sent = if repeat { Time::ZERO } else { now };
            self.facts(path).missing.insert(seq, 0, sent);
        }
        self.packets.forget_old();
    }

    /// Declares `seq` lost. Returns `false`, and does nothing, if it is not in flight.
    pub fn mark_lost(&mut self, seq: u64, cause: LossCause) -> bool {
        let Some(i) = seq.checked_sub(self.base).map(|i| i as usize) else { return false };
        let Some(chunk) = self.ring.get_mut(i) else { return false };
        if chunk.state != ChunkState::InFlight {
            return false;
        }
        chunk.state = ChunkState::Lost;
        chunk.cause = Some(cause);
        if cause.begins_again() {
            chunk.fast_retransmitted = false;
            chunk.misses = 0;
        } else {
            chunk.fast_retransmitted = true;
            chunk.misses = self.paths[usize::from(chunk.path.0)].missing.misses(seq);
        }
        let (path, size, packet) = (chunk.path, chunk.counted(), chunk.packet);
        let user_bytes = chunk.user_bytes();
        chunk.limits.coming = 0;
        let abandoned = chunk.limits.abandoned;
        self.user_bytes.leave_flight(user_bytes);
        let facts = self.facts(path);
        facts.flight -= size;
        facts.missing.remove(seq);
        self.packets.change(packet, |p| p.in_flight -= 1);
        if abandoned {
            //= RFC 3758 3.5-20
            // RFC 3758 §3.5 F5: it is lost like any other, but not sent again.
            self.lay_down(seq);
        } else {
            self.lost.insert(seq);
        }
        true
    }

    /// Records that `seq`, which is in flight, leaves once more, on `path`, in the packet begun
    /// last. Returns `false`, and does nothing, if it is not in flight.
    pub fn record_copy(&mut self, now: Time, path: PathId, seq: u64) -> bool {
        if !self.is_in_flight(seq) || self.get(seq).is_some_and(|chunk| chunk.limits.abandoned) {
            return false;
        }
        // As if it had been lost and forgotten why, so that what is counted stays in one place.
        let i = (seq - self.base) as usize;
        let before = (self.ring[i].cause, self.ring[i].fast_retransmitted, self.ring[i].misses);
        self.mark_lost(seq, LossCause::FastRetransmit);
        self.ring[i].fast_retransmitted = before.1;
        self.record_retransmission(now, path, seq, Eligibility::Rule5);
        (self.ring[i].cause, self.ring[i].fast_retransmitted, self.ring[i].misses) = before;
        true
    }

    /// What T3-rtx declared lost, up to `highest`, and is not sent again yet, was not lost: it is
    /// in flight as before, if its path `stays`. Returns their sequence numbers.
    pub fn restore_lost(&mut self, highest: u64, stays: impl Fn(PathId) -> bool) -> Vec<u64> {
        let mut restored = Vec::new();
        let mut next = self.lost.first();
        while let Some(seq) = next.filter(|seq| *seq <= highest) {
            let timed_out = |c: &Outstanding| c.cause == Some(LossCause::Timeout) && stays(c.path);
            if self.get(seq).is_some_and(timed_out) {
                restored.push(seq);
            }
            next = self.lost.next_after(seq);
        }
        for seq in &restored {
            let seq = *seq;
            self.lost.remove(seq);
            let chunk = &mut self.ring[(seq - self.base) as usize];
            chunk.state = ChunkState::InFlight;
            let (size, packet, sent) = (chunk.counted(), chunk.packet, chunk.struck_after());
            let path = chunk.path;
            self.user_bytes.enter_flight(chunk.chunk.payload.len());
            self.facts(path).flight += size;
            self.packets.change(packet, |p| p.in_flight += 1);
            if seq <= self.holes_to {
                self.facts(path).missing.insert(seq, 0, sent);
            }
        }
        restored
    }
}
