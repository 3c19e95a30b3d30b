//! The receiving half: what arrived, and when that is acknowledged.
//!
//! RFC 2581 §4.2 with what Linux adds: segments are acknowledged at once for a while (16 of them in the beginning and
//! after a duplicate), else when more than one full segment waits, when something is missing, or after a time that
//! follows the intervals of segments (40 ms or more). A segment that is not full and that the application has read is
//! acknowledged at once as well, as the application sends nothing back.

use std::collections::BTreeMap;

use super::clock::ticks;
use super::options::{Options, WINDOW};

/// The least delay of an ACK.
const LEAST_DELAY: u64 = ticks(40);
/// The most, in one direction only.
const MOST_DELAY: u64 = ticks(500);
/// What a full segment is taken for before one was seen.
const GUESSED_MSS: u64 = 536;
/// Segments that are acknowledged at once.
const AT_ONCE: u64 = 16;

/// What arrived and what was told of it. Numbers count from the SYN; times are in jiffies.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    options: Options,
    /// All before it arrived.
    pub(super) next: u64,
    /// What the last ACK said.
    acked: u64,
    /// What arrived out of order: beginnings and ends.
    waiting: BTreeMap<u64, u64>,
    /// SACK blocks, the newest first.
    blocks: Vec<(u64, u64)>,
    /// A duplicate to be reported.
    duplicate: Option<(u64, u64)>,
    /// The largest segment so far.
    mss: u64,
    /// Segments that will be acknowledged at once.
    at_once: u64,
    /// The present delay of ACKs; 0: nothing arrived yet.
    delay: u64,
    arrived_at: u64,
    /// When a delayed ACK is due.
    timer: Option<u64>,
    /// SRTT and RTO of the handshake, which bound delays.
    srtt: u64,
    rto: u64,
    /// Segments that had arrived before.
    duplicates: u64,
    /// TSval to be echoed.
    pub(super) echo: u32,
}

impl Receiver {
    pub(super) fn new(options: Options, srtt: u64, rto: u64, echo: u32) -> Receiver {
        Receiver {
            options,
            next: 1,
            acked: 1,
            waiting: BTreeMap::new(),
            blocks: Vec::new(),
            duplicate: None,
            mss: GUESSED_MSS,
            at_once: 0,
            delay: 0,
            arrived_at: 0,
            timer: None,
            srtt,
            rto,
            duplicates: 0,
            echo,
        }
    }

    pub(super) const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(super) const fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// Data arrives: whether an ACK is to be sent now.
    pub(super) fn arrived(&mut self, now: u64, begin: u64, end: u64, value: u32) -> bool {
        // RFC 1323 §3.4 (2): the echo is of the segment that the last ACK ended at.
        if begin <= self.acked && value.wrapping_sub(self.echo).cast_signed() >= 0 {
            self.echo = value;
        }
        if end <= self.next {
            // It was sent again: perhaps an ACK was lost.
            self.report(begin, end);
            self.be_quick();
            self.delay = LEAST_DELAY;
            return true;
        }
        if begin > self.next {
            if self.waiting.get(&begin).is_some_and(|known| *known >= end) {
                self.report(begin, end);
            } else {
                self.waiting.insert(begin, end);
                self.add_block(begin, end);
            }
            return true;
        }
        let length = end - begin;
        let small = length < self.mss;
        self.mss = self.mss.max(length);
        self.note_interval(now);
        self.next = end;
        while let Some((from, to)) = self.waiting.first_key_value().map(|(from, to)| (*from, *to)) {
            if from > self.next {
                break;
            }
            self.waiting.pop_first();
            self.next = self.next.max(to);
        }
        let next = self.next;
        self.blocks.retain(|(_, right)| *right > next);
        let much = self.next - self.acked > self.mss;
        if much || self.at_once > 0 || !self.waiting.is_empty() || small {
            return true;
        }
        let most =
            if self.srtt > 0 { self.srtt.clamp(LEAST_DELAY, MOST_DELAY) } else { MOST_DELAY };
        let due = now + self.delay.min(most);
        self.timer = Some(self.timer.map_or(due, |timer| timer.min(due)));
        false
    }

    /// The timer has expired: whether an ACK is to be sent now.
    pub(super) fn tick(&mut self, now: u64) -> bool {
        let expired = self.timer.is_some_and(|at| at <= now);
        if expired {
            self.timer = None;
            // It was waited for in vain.
            self.delay = (self.delay << 1).min(self.rto);
        }
        expired
    }

    /// An ACK is sent: its blocks.
    pub(super) fn acknowledge(&mut self) -> Vec<(u64, u64)> {
        self.acked = self.next;
        self.timer = None;
        if self.at_once > 0 {
            self.at_once -= 1;
            if self.at_once == 0 {
                self.delay = LEAST_DELAY;
            }
        }
        // RFC 2018 §3: with timestamps there is room for three.
        self.duplicate.take().into_iter().chain(self.blocks.iter().copied()).take(3).collect()
    }

    fn report(&mut self, begin: u64, end: u64) {
        self.duplicates += 1;
        if self.options.sack && self.options.dsack {
            self.duplicate = Some((begin, end));
        }
    }

    fn be_quick(&mut self) {
        let most = (u64::from(WINDOW) / (2 * self.mss)).max(2);
        self.at_once = self.at_once.max(most.min(AT_ONCE));
    }

    /// The delay follows the intervals at which data arrives.
    fn note_interval(&mut self, now: u64) {
        let interval = now - self.arrived_at;
        if self.delay == 0 {
            self.be_quick();
            self.delay = LEAST_DELAY;
        } else if interval <= LEAST_DELAY / 2 {
            self.delay = self.delay / 2 + LEAST_DELAY / 2;
        } else if interval < self.delay {
            self.delay = (self.delay / 2 + interval).min(self.rto);
        } else if interval > self.rto {
            // The sender waits for something.
            self.be_quick();
        }
        self.arrived_at = now;
    }

    /// RFC 2018 §4: the first block has what arrived just now, the others are repeated.
    fn add_block(&mut self, begin: u64, end: u64) {
        if !self.options.sack {
            return;
        }
        let (mut left, mut right) = (begin, end);
        self.blocks.retain(|(from, to)| {
            let touches = *from <= right && left <= *to;
            if touches {
                (left, right) = (left.min(*from), right.max(*to));
            }
            !touches
        });
        self.blocks.insert(0, (left, right));
        self.blocks.truncate(3);
    }
}
