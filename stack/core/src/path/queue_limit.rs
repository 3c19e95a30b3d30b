//! A limit of the rate, and of the bytes in flight, on one of several paths, so that their queue stays short.
//!
//! Idea: loss-based congestion control fills whatever queue the path has, and everything that the
//! other paths deliver meanwhile waits for what stands in it. A path needs its bandwidth-delay
//! product in flight and a little more; beyond that a byte only adds delay. (As TCP Vegas, Brakmo &
//! Peterson 1995, and BBR, Cardwell et al. 2016, do; congestion control still rules below the limit.)
//!
//! ```text
//! rate     largest of the last 10 rounds: bytes acknowledged / duration; a round ends when the
//!          first chunk sent after its beginning is acknowledged
//! min_rtt  smallest RTT of the last 10 to 20 s
//! headroom = bdp / 8, at least 2 and at most `queue_limit_packets` packets; bdp = rate min_rtt
//!                       packets leave at     in flight, at most
//! until the path is full as pacing.rs says   2 bdp + headroom    while rate grows by a quarter within 3 rounds, and nothing is lost
//! then                   0.99 rate           2 bdp + headroom
//! a trial                (1 + 1 / 2^s) rate  2 bdp + headroom
//! draining               0.75 rate           bdp - headroom      for one round: once the path is full, every 10 s
//!                                                                (min_rtt is seen again), and when rivals.rs asks
//! ```
//! It is the rate that keeps the queue short. What is in flight says little: SACKs come back over the other
//! paths as well, and those of a fast one overtake those of a slow one, in clumps, so that min_rtt is shorter
//! than the average chunk takes. A limit of bdp would then allow less than the rate, which would be measured
//! again, and fall from round to round.
//!
//! A round saw no queue if its smallest RTT was below min_rtt + headroom / (twice its own rate). In a round in
//! which there was too little to send only a larger rate counts. A round in which most took longer
//! than twice what the limit explains, and at least 4 packets, at less than a quarter of `rate`, shows that the path has become
//! narrower: what was seen before it is forgotten. After one with enough to send and
//! without a queue the next two try for more: the congestion window, if it was used, grows by bdp / 2^s,
//! as one packet per round would take minutes to fill a long fat path. A trial that did not raise
//! the rate by a quarter of that is not repeated for 16 rounds, and the next one is half as large
//! (s + 1); one that did is followed by one twice as large. 3 <= s <= 7.
//!
//! A loss says that the queue overflowed, or nothing at all of it: either way the window need not
//! fall below what the path holds without a queue (TCP Westwood+, Grieco & Mascolo 2004), unless losses come
//! more often than they would to a flow of RFC 9260 that fills the path ([`pressure`](pressure)):
//! `ssthresh = max(ssthresh of the controller, min(cwnd, bdp, kept))`.
//!
//! Where another flow fills the queue ([`rivals`](rivals)) nothing of this limits, paces or spares: the congestion
//! window competes alone.

mod pressure;
mod rates;
mod rivals;
mod trials;

use std::time::Duration;

use self::pressure::Pressure;
use self::rates::Rates;
use self::rivals::Rivals;
use self::trials::Trials;
use super::window::FlightLimit;
use crate::profile::MultipathParameters;
use crate::scoreboard::PathAck;
use crate::time::Time;

/// Of the rate, what is sent: a little less than was measured, since the largest of several is rather too large.
const CRUISING: f64 = 0.99;
/// Of the rate, what is sent while the queue drains.
const DRAINING: f64 = 0.75;
/// Half the time that the smallest RTT is remembered for.
const WINDOW: Duration = Duration::from_secs(10);
/// A path is narrower, not only shared, if its queue is drained this many times slower than before.
const NARROWER: f64 = 4.0;

#[derive(Clone, Copy, Debug)]
struct Round {
    since: Time,
    delivered: u64,
    /// First sequence number sent after its beginning.
    end: u64,
    /// There was too little to send.
    starved: bool,
    /// The smallest RTT seen.
    rtt: Option<Duration>,
    /// Bytes acknowledged later than the limit can explain.
    late: u64,
}

/// What is known of one path.
#[derive(Debug)]
pub(crate) struct QueueLimit {
    max_headroom: usize,
    mss: usize,
    delivered: u64,
    round: Option<Round>,
    rates: Rates,
    /// The smallest RTT of the window before this one, and of this one.
    min_rtt: [Option<Duration>; 2],
    window_since: Time,
    /// The queue drains until this is acknowledged.
    drain: Option<u64>,
    trials: Trials,
    pressure: Pressure,
    rivals: Rivals,
}

/// One for a path with packets of `mss` bytes that carries data beside others, if the profile asks for it.
pub(super) fn flight_limit(
    parameters: &MultipathParameters,
    mss: usize,
) -> Option<Box<dyn FlightLimit>> {
    let packets = parameters.queue_limit_packets;
    (packets > 0).then(|| Box::new(QueueLimit::new(packets, mss)) as Box<dyn FlightLimit>)
}

impl QueueLimit {
    /// At most this many packets of `mss` bytes beyond the bandwidth-delay product.
    pub(crate) fn new(packets: u32, mss: usize) -> QueueLimit {
        QueueLimit {
            max_headroom: packets as usize * mss,
            mss,
            delivered: 0,
            round: None,
            rates: Rates::default(),
            min_rtt: [None; 2],
            window_since: Time::ZERO,
            drain: None,
            trials: Trials::default(),
            pressure: Pressure::default(),
            rivals: Rivals::default(),
        }
    }

    fn note_rtt(&mut self, now: Time, rtt: Duration, next_seq: u64) {
        if now.since(self.window_since) >= WINDOW {
            self.window_since = now;
            self.min_rtt = [self.min_rtt[1], None];
            self.drain = Some(next_seq);
        }
        let smaller = |min: Option<Duration>| Some(min.map_or(rtt, |min| min.min(rtt)));
        self.min_rtt[1] = smaller(self.min_rtt[1]);
        if let Some(round) = &mut self.round {
            round.rtt = smaller(round.rtt);
        }
    }

    /// A round is over. Returns whether the queue should drain, to see whose it is.
    fn note_round(&mut self, round: &Round, now: Time) -> bool {
        let duration = now.since(round.since).as_secs_f64();
        if duration <= 0.0 {
            return false;
        }
        let rate = (self.delivered - round.delivered) as f64 / duration;
        let queue = Duration::from_secs_f64(self.headroom() as f64 / (2.0 * rate.max(1.0)));
        let empty = round.rtt.is_some_and(|rtt| rtt < self.shortest_rtt() + queue);
        self.pressure.on_round();
        let ours = self.longest_of_ours();
        let starting = self.is_starting();
        let asks = !starting && self.rivals.on_round(round.rtt, ours, empty);
        self.trials.on_round();
        if self.has_narrowed(round, rate) {
            self.rates.forget(rate);
            self.trials.stop();
        }
        if round.starved && rate <= self.rate() {
            self.trials.stop_if_over();
            return asks;
        }
        self.rates.note(rate);
        self.trials.judge(self.rate());
        if empty && !round.starved {
            self.trials.begin(self.rate());
        }
        asks
    }

    /// The RTT that what is in flight here explains.
    fn longest_of_ours(&self) -> Duration {
        let headroom = self.headroom() as f64 / self.rate().max(1.0);
        2 * self.shortest_rtt() + Duration::from_secs_f64(headroom)
    }

    fn note_late(&mut self, rtt: Duration, bytes: usize) {
        let late = rtt.as_secs_f64() * self.rate() > 2.0 * self.bytes() as f64;
        if let Some(round) = self.round.as_mut().filter(|_| late) {
            round.late += bytes as u64;
        }
    }

    /// A queue that should not be there, drained slowly: what is remembered is no longer so. A
    /// packet or two can be late because their SACK was delayed.
    fn has_narrowed(&self, round: &Round, rate: f64) -> bool {
        let delivered = self.delivered - round.delivered;
        let queue = delivered >= 4 * self.mss as u64 && 2 * round.late > delivered;
        queue && rate * NARROWER < self.rate()
    }

    /// Bytes per second; 0 before the first round.
    fn rate(&self) -> f64 {
        self.rates.largest()
    }

    /// The bandwidth-delay product in bytes, 0 before it was measured.
    fn bdp(&self) -> usize {
        (self.rate() * self.shortest_rtt().as_secs_f64()) as usize
    }

    fn shortest_rtt(&self) -> Duration {
        self.min_rtt.iter().flatten().min().copied().unwrap_or_default()
    }

    /// Bytes that may stand in the queue.
    fn headroom(&self) -> usize {
        (self.bdp() / 8).max(2 * self.mss).min(self.max_headroom)
    }

    /// Packets that the path holds without a queue.
    fn packets(&self) -> f64 {
        self.bdp() as f64 / self.mss as f64
    }
}

impl FlightLimit for QueueLimit {
    fn set_mss(&mut self, mss: usize) {
        self.max_headroom = self.max_headroom / self.mss * mss;
        self.mss = mss;
    }

    fn on_starved(&mut self) {
        if let Some(round) = &mut self.round {
            round.starved = true;
        }
    }

    fn on_ack(&mut self, now: Time, ack: &PathAck, next_seq: u64) -> usize {
        self.delivered += ack.bytes as u64;
        let Some(highest) = ack.highest_newly_acked else { return 0 };
        let latest = ack.latest.filter(|l| l.transmissions == 1 && l.sent <= now);
        let rtt = latest.map(|latest| now.since(latest.sent));
        if let Some(rtt) = rtt {
            self.note_rtt(now, rtt, next_seq);
            self.note_late(rtt, ack.bytes);
        }
        if self.drain.is_some_and(|end| highest >= end) {
            self.drain = None;
            self.rivals.on_drained(rtt, self.longest_of_ours());
        }
        let finished = self.round.filter(|round| highest >= round.end);
        if let Some(round) = finished {
            let was_starting = self.is_starting();
            let asks = self.note_round(&round, now);
            let begins = was_starting && !self.is_starting();
            if begins || (asks && self.drain.is_none()) {
                self.drain = Some(next_seq);
            }
        }
        if finished.is_some() || self.round.is_none() {
            let delivered = self.delivered;
            let end = next_seq;
            self.round =
                Some(Round { since: now, delivered, end, starved: false, rtt: None, late: 0 });
        }
        if finished.is_some() { self.trials.bytes(self.bdp()) } else { 0 }
    }

    fn is_starting(&self) -> bool {
        self.rates.are_growing()
    }

    fn is_pressed(&self) -> bool {
        self.rivals.are_here() || self.pressure.is_felt(self.packets())
    }

    fn spared(&self, among: usize) -> usize {
        if self.rivals.are_here() {
            return 0;
        }
        let kept = self.pressure.kept() * self.mss as f64 / among.max(1) as f64;
        self.bdp().min(kept as usize)
    }

    fn on_loss(&mut self) {
        self.rates.on_loss();
        self.pressure.on_loss(self.packets());
        self.trials.on_loss();
    }

    fn bytes(&self) -> usize {
        let bdp = self.bdp();
        if bdp == 0 || self.rivals.are_here() {
            return usize::MAX;
        }
        let headroom = self.headroom();
        let drains = self.drain.is_some() && !self.is_starting();
        let full = bdp.saturating_mul(2).saturating_add(headroom);
        let limit = if drains { bdp.saturating_sub(headroom) } else { full };
        limit.max(2 * self.mss)
    }

    fn measured_rate(&self) -> Option<f64> {
        if self.is_starting() || self.bdp() == 0 || self.rivals.are_here() {
            return None;
        }
        let gain = if self.drain.is_some() { Some(DRAINING) } else { self.trials.gain() };
        Some(gain.unwrap_or(CRUISING) * self.rate())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::path::pacing::Pacer;
    use crate::scoreboard::LatestAck;

    const MSS: usize = 1000;

    /// A path of `rate` bytes per second and a base RTT.
    struct Link {
        limit: QueueLimit,
        now: Time,
        next: u64,
        /// Sequence number, when it left, when its SACK comes.
        in_flight: VecDeque<(u64, Time, Time)>,
        free_at: Time,
        rate: f64,
        rtt: Duration,
        pacer: Pacer,
        /// How long packets stood in the queue, summed.
        waited: Duration,
    }

    impl Link {
        fn new(rate: f64, rtt_ms: u64) -> Link {
            Link {
                limit: QueueLimit::new(10, MSS),
                now: Time::from_millis(1000),
                next: 1,
                in_flight: VecDeque::new(),
                free_at: Time::ZERO,
                rate,
                rtt: Duration::from_millis(rtt_ms),
                pacer: Pacer::default(),
                waited: Duration::ZERO,
            }
        }

        fn fill(&mut self, bytes: usize) {
            while self.in_flight.len() * MSS < bytes {
                if let Some(rate) = self.limit.measured_rate() {
                    let due = self.now.max(self.pacer.next());
                    if self.in_flight.front().is_some_and(|(_, _, acked)| *acked < due) {
                        break;
                    }
                    self.now = due;
                    self.pacer.on_sent(due, MSS, rate);
                }
                self.waited += self.free_at.since(self.now);
                let serialised = Duration::from_secs_f64(MSS as f64 / self.rate);
                self.free_at = self.free_at.max(self.now) + serialised;
                self.in_flight.push_back((self.next, self.now, self.free_at + self.rtt));
                self.next += 1;
            }
        }

        /// Delivers this many packets, sending as the limit and a window in slow start allow; returns
        /// bytes per second of the last half.
        fn run(&mut self, packets: usize) -> f64 {
            let (mut window, mut half) = (10, self.now);
            for i in 0..packets {
                self.fill(self.limit.bytes().min(window * MSS));
                window += 1;
                let (seq, sent, acked) = self.in_flight.pop_front().unwrap();
                self.now = acked;
                let ack = PathAck {
                    bytes: MSS,
                    chunks: 1,
                    highest_newly_acked: Some(seq),
                    latest: Some(LatestAck { seq, sent, transmissions: 1, once: 0, packet: 0 }),
                    ..PathAck::default()
                };
                self.limit.on_ack(self.now, &ack, self.next);
                if i == packets / 2 {
                    half = self.now;
                    self.waited = Duration::ZERO;
                }
            }
            (packets / 2) as f64 * MSS as f64 / self.now.since(half).as_secs_f64()
        }
    }

    #[test]
    fn the_path_is_full_and_its_queue_short() {
        for (rate, rtt) in [(1.25e6, 2), (25e6, 20), (1.25e6, 100)] {
            let mut link = Link::new(rate, rtt);
            let reached = link.run(20_000);
            assert!(reached > 0.97 * rate, "{reached} of {rate}");
            // On average no more than 15 % of the bandwidth-delay product and a few packets stand in it.
            let queue = link.waited.as_secs_f64() / 10_000.0 * rate;
            let bdp = rate * rtt as f64 / 1000.0;
            assert!(queue < 0.15 * bdp + 4.0 * MSS as f64, "{queue} for {bdp}");
        }
    }

    #[test]
    fn a_path_that_becomes_much_narrower_is_believed_at_once() {
        let mut link = Link::new(25e6, 20);
        link.run(20_000);
        assert!(link.limit.bytes() > 450_000);
        link.rate = 250e3;
        // What was in flight, what filled the window meanwhile, and one round more.
        link.run(3000);
        assert!(link.limit.bytes() < 2 * 2 * 5_000 + 12 * MSS, "{}", link.limit.bytes());
        let reached = link.run(2_000);
        assert!(reached > 0.95 * link.rate, "{reached}");
    }

    #[test]
    fn nothing_is_limited_before_it_was_measured() {
        let mut limit = QueueLimit::new(10, MSS);
        assert_eq!(limit.bytes(), usize::MAX);
        limit.on_ack(Time::from_millis(1), &PathAck::default(), 1);
        assert_eq!(limit.bytes(), usize::MAX);
    }

    #[test]
    fn a_starved_round_says_nothing_of_the_rate() {
        let mut link = Link::new(25e6, 20);
        link.run(20_000);
        let before = link.limit.bytes();
        for _ in 0..50 {
            // One packet per round trip.
            link.in_flight.clear();
            link.fill(MSS);
            link.limit.on_starved();
            link.run(1);
        }
        assert!(link.limit.bytes() >= before / 2, "{} of {before}", link.limit.bytes());
    }
}
