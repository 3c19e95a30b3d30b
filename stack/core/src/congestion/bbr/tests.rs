//! BBR on a link that is a rate, a delay and a queue (draft-ietf-ccwg-bbr-06, appendix A, has the cases).

use std::collections::VecDeque;

use super::*;
use crate::profile::CongestionParameters;
use crate::rng::Rng;

const MSS: usize = 1000;
/// Beta.
const BETA_TIMES: f64 = 0.7;
const MS: Duration = Duration::from_millis(1);

/// A packet on its way, and what was known when it left.
#[derive(Clone, Copy)]
struct Packet {
    seq: u64,
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    lost: u64,
    in_flight: usize,
    app_limited: bool,
    /// It has waited too long.
    marked: bool,
    /// When its SACK comes, or its loss is found.
    ends: Time,
    arrives: bool,
}

struct Link {
    control: Bbr,
    rng: Rng,
    now: Time,
    rate: f64,
    rtt: Duration,
    /// Bytes that wait at most.
    queue: f64,
    loss: f64,
    free_at: Time,
    next_send: Time,
    packets: VecDeque<Packet>,
    seq: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    dropped: u64,
    recovery_ends: Option<u64>,
    app_limited: Option<u64>,
    /// Bytes that the application has, if not any number.
    ready: Option<usize>,
    /// Packets that wait longer are marked, if they are not new to a sender that has heard of a mark.
    marks_above: Option<Duration>,
    marks: u64,
    marked_until: u64,
}

fn control() -> Bbr {
    Bbr::new(Rfc9260::new(&CongestionParameters::default(), MSS, false))
}

impl Link {
    /// Megabits per second, milliseconds, bandwidth-delay products of queue.
    fn new(mbps: f64, rtt_ms: u64, queue: f64) -> Link {
        let (rate, rtt) = (mbps * 125_000.0, rtt_ms as u32 * MS);
        let start = Time::from_millis(1000);
        Link {
            control: control(),
            rng: Rng::from_seed([3; 32]),
            now: start,
            rate,
            rtt,
            queue: (queue * rate * rtt.as_secs_f64()).max(4.0 * MSS as f64),
            loss: 0.0,
            free_at: start,
            next_send: start,
            packets: VecDeque::new(),
            seq: 1,
            delivered: 0,
            delivered_at: start,
            first_sent: start,
            lost: 0,
            dropped: 0,
            recovery_ends: None,
            app_limited: None,
            ready: None,
            marks_above: None,
            marks: 0,
            marked_until: 0,
        }
    }

    fn in_flight(&self) -> usize {
        self.packets.len() * MSS
    }

    fn send(&mut self) {
        if self.packets.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
            if self.app_limited.is_some() {
                self.control.on_restart(self.now);
            }
        }
        let waits = self.free_at.since(self.now).as_secs_f64() * self.rate;
        let full = waits > self.queue;
        self.dropped += u64::from(full);
        if !full {
            let takes = Duration::from_secs_f64(MSS as f64 / self.rate);
            self.free_at = self.free_at.max(self.now) + takes;
        }
        let waiting = self.free_at.since(self.now);
        let arrives = !full && self.rng.next_f64() >= self.loss;
        // What is lost is found out when the next packet would have been acknowledged.
        let ends = self.free_at + self.rtt + if arrives { Duration::ZERO } else { MS };
        self.packets.push_back(Packet {
            seq: self.seq,
            sent: self.now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: self.in_flight() + MSS,
            app_limited: self.app_limited.is_some(),
            marked: self.marks_above.is_some_and(|least| waiting > least),
            ends,
            arrives,
        });
        self.seq += 1;
        let step = Duration::from_secs_f64(MSS as f64 / self.control.pacing_rate().unwrap());
        self.next_send = self.next_send.max(self.now) + step;
        if let Some(ready) = &mut self.ready {
            *ready -= MSS;
        }
    }

    fn acknowledge(&mut self, p: Packet, flight_before: usize) {
        self.delivered += MSS as u64;
        self.delivered_at = self.now;
        self.first_sent = p.sent;
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        if self.recovery_ends.is_some_and(|end| p.seq >= end) {
            self.recovery_ends = None;
            self.control.on_recovered();
        }
        if p.marked && p.seq > self.marked_until {
            (self.marks, self.marked_until) = (self.marks + 1, self.seq);
            self.control.on_mark(&Coupled::default());
        }
        let interval = p.sent.since(p.first_sent).max(self.now.since(p.delivered_at));
        let delivered = self.delivered - p.delivered;
        let sample = RateSample {
            total: self.delivered,
            prior: p.delivered,
            rate: delivered as f64 / interval.as_secs_f64(),
            newly_acked: MSS,
            sent_in_flight: p.in_flight,
            in_flight: self.in_flight(),
            lost: self.lost - p.lost,
            app_limited: p.app_limited,
        };
        let rtt = self.now.since(p.sent);
        self.control.on_ack(&AckFacts {
            now: self.now,
            srtt: Some(rtt),
            rtt: Some(rtt),
            newest: Some(p.seq),
            next: self.seq,
            rate: Some(&sample),
            bytes: MSS,
            flight_before,
            cumulative_advanced: true,
            ..AckFacts::default()
        });
        if self.control.holds_back() {
            self.note_app_limited();
        }
    }

    fn note_app_limited(&mut self) {
        self.app_limited = Some(self.delivered + self.in_flight() as u64);
    }

    fn lose(&mut self, p: Packet) {
        self.lost += MSS as u64;
        self.control.on_lost(&LossSample {
            seq: p.seq,
            bytes: MSS,
            sent_in_flight: p.in_flight,
            lost: self.lost - p.lost,
            total: self.delivered,
            app_limited: p.app_limited,
        });
        if self.recovery_ends.is_none() {
            self.recovery_ends = Some(self.seq);
            self.control.on_loss(&Coupled::default());
        }
    }

    /// The next thing happens.
    fn step(&mut self) {
        let may = self.in_flight() < self.control.cwnd();
        let has = self.ready.is_none_or(|ready| ready >= MSS);
        let ends = self.packets.iter().map(|p| p.ends).min();
        let send = (may && has).then_some(self.next_send.max(self.now));
        if may && !has && self.app_limited.is_none() {
            self.note_app_limited();
        }
        if let Some(at) = send.filter(|at| ends.is_none_or(|ends| *at <= ends)) {
            self.now = at;
            self.send();
            return;
        }
        let Some(ends) = ends else { return };
        self.now = ends;
        let i =
            self.packets.iter().position(|p| p.ends == ends).expect("the earliest is among them");
        let flight_before = self.in_flight();
        let p = self.packets.remove(i).expect("so it is");
        if p.arrives { self.acknowledge(p, flight_before) } else { self.lose(p) }
    }

    /// Goes on for this long; returns the share of the link that was delivered.
    fn run(&mut self, seconds: f64) -> f64 {
        let (end, before) = (self.now + Duration::from_secs_f64(seconds), self.delivered);
        while self.now < end && (!self.packets.is_empty() || self.ready.is_none_or(|r| r >= MSS)) {
            self.step();
        }
        (self.delivered - before) as f64 / (self.rate * seconds)
    }

    /// Until it is in this state.
    fn run_to(&mut self, state: State) {
        for _ in 0..1_000_000 {
            if self.control.state == state {
                return;
            }
            self.step();
        }
        panic!("never in {state:?}, but in {:?}", self.control.state);
    }
}

#[test]
fn a_path_is_found_full_and_its_queue_drained() {
    for (mbps, rtt) in [(5.0, 10), (5.0, 100), (20.0, 40), (100.0, 10), (100.0, 100)] {
        let mut link = Link::new(mbps, rtt, 4.0);
        link.run_to(State::Drain);
        let bw = link.control.model.max_bw();
        assert!((bw / link.rate - 1.0).abs() < 0.05, "{mbps} Mbit/s, {rtt} ms: {bw}");
        let started = link.now.since(Time::from_millis(1000)).as_secs_f64();
        let doublings = (link.rate * link.rtt.as_secs_f64() / 4000.0).log2().max(0.0);
        let rounds = started / link.rtt.as_secs_f64();
        assert!(rounds < 2.0 * doublings + 12.0, "{mbps} Mbit/s, {rtt} ms: {rounds} rounds");
        let drained_from = link.control.rounds.count();
        link.run_to(State::Down);
        let (in_flight, bw) = (link.in_flight() as f64, link.control.model.max_bw());
        let most = link.control.inflight(bw) + MSS as f64;
        let long = link.control.rounds.count() >= drained_from + 4;
        assert!(long || in_flight <= most, "{mbps} Mbit/s, {rtt} ms: {in_flight} of {most}");
        assert_eq!(link.dropped, 0, "two bandwidth-delay products are in flight at most");
    }
}

#[test]
fn the_link_is_used_and_queues_stay_short() {
    for (mbps, rtt) in [(5.0, 10), (5.0, 100), (20.0, 40), (100.0, 10), (100.0, 100)] {
        let mut link = Link::new(mbps, rtt, 4.0);
        link.run(3.0);
        let used = link.run(20.0);
        assert!(used > 0.94, "{mbps} Mbit/s, {rtt} ms: {used}");
        let rtt = link.control.min_rtt.get().unwrap();
        assert!(rtt <= link.rtt + 2 * MS, "{rtt:?}");
    }
}

#[test]
fn random_loss_is_not_congestion() {
    for loss in [0.001, 0.01] {
        for (mbps, rtt) in [(5.0, 10), (5.0, 100), (20.0, 40), (91.0, 10), (100.0, 100)] {
            let mut link = Link::new(mbps, rtt, 1.0);
            link.loss = loss;
            link.run(3.0);
            let used = link.run(20.0);
            assert!(used > 0.8, "{loss}: {mbps} Mbit/s, {rtt} ms: {used}");
        }
    }
}

#[test]
fn a_short_queue_is_not_filled_for_ever() {
    let mut link = Link::new(20.0, 40, 0.3);
    link.run(3.0);
    let (dropped, sent) = (link.dropped, link.seq);
    let used = link.run(30.0);
    let lost = (link.dropped - dropped) as f64 / (link.seq - sent) as f64;
    assert!(used > 0.85, "{used}");
    assert!(lost < 0.02, "{lost}");
    assert!(link.control.model.inflight_longterm.is_finite());
}

#[test]
fn a_path_that_becomes_narrower_or_wider_is_believed() {
    let mut link = Link::new(20.0, 40, 2.0);
    link.run(10.0);
    link.rate /= 10.0;
    // Two cycles, while the old queue of 0.8 s drains.
    link.run(24.0);
    let bw = link.control.model.max_bw() / link.rate;
    assert!((0.9..1.3).contains(&bw), "{bw}");
    link.rate *= 10.0;
    // In each cycle of about three seconds it grows by a quarter a round.
    link.run(20.0);
    assert!(link.run(5.0) > 0.9);
}

#[test]
fn the_shortest_round_trip_is_looked_for_every_five_seconds() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.run_to(State::ProbeRtt);
    assert!(link.now > Time::from_millis(6000), "{:?}", link.now);
    let before = link.control.prior_cwnd;
    let begun = link.now;
    link.run_to(State::Cruise);
    let took = link.now.since(begun);
    assert!((200 * MS..400 * MS).contains(&took), "{took:?}");
    link.run(0.3);
    assert!(link.control.cwnd >= 0.8 * before, "{} of {before}", link.control.cwnd);
    // A longer way shows once what was shorter is forgotten.
    link.rtt = 80 * MS;
    link.run(30.0);
    assert!(link.control.min_rtt.get().unwrap() >= 80 * MS);
    assert!(link.run(10.0) > 0.85);
}

#[test]
fn too_much_loss_in_up_sets_a_bound_and_ends_it() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.run_to(State::Down);
    link.run_to(State::Up);
    let in_flight = link.control.target_inflight() as usize;
    let lost = |seq, lost| LossSample {
        seq,
        bytes: MSS,
        sent_in_flight: in_flight,
        lost,
        total: link.delivered,
        app_limited: false,
    };
    let allowed = (0.02 * in_flight as f64) as u64;
    let (few, many) = (lost(1, allowed), lost(2, allowed + 1000));
    link.control.on_lost(&few);
    assert_eq!(link.control.state, State::Up);
    link.control.on_lost(&many);
    assert_eq!(link.control.state, State::Down);
    // (inflight - 1000) + (0.02 (inflight - 1000) - lost before it) / 0.98
    let before = in_flight as f64 - 1000.0;
    let expected = before + (0.02 * before - allowed as f64) / 0.98;
    assert!((link.control.model.inflight_longterm - expected).abs() < 1.0);
    link.control.on_lost(&many);
    let bound = link.control.model.inflight_longterm;
    assert!((bound - expected).abs() < 1.0, "one reaction to one Up");
    // It was spurious.
    link.control.on_loss(&Coupled::default());
    link.control.undo(0, 0);
    assert!(link.control.cwnd >= link.control.prior_cwnd);
}

#[test]
fn a_spurious_loss_gives_bounds_and_state_back() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.run_to(State::Down);
    link.run_to(State::Up);
    let (cwnd, total) = (link.control.cwnd, link.delivered);
    let lost = LossSample {
        seq: 5,
        bytes: MSS,
        sent_in_flight: 50_000,
        lost: 20_000,
        total,
        app_limited: false,
    };
    link.control.on_lost(&lost);
    assert_eq!(link.control.state, State::Down);
    assert!(link.control.model.inflight_longterm.is_finite());
    link.control.undo(0, 0);
    assert_eq!(link.control.state, State::Refill);
    assert!(link.control.model.inflight_longterm.is_infinite());
    assert!(link.control.cwnd >= cwnd);
}

#[test]
fn a_loss_outside_of_up_lowers_the_bounds_by_30_percent_at_most_until_the_next_refill() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.run_to(State::Cruise);
    link.loss = 0.5;
    while link.control.model.bw_shortterm.is_infinite() {
        assert_eq!(link.control.state, State::Cruise);
        link.step();
    }
    let max = link.control.model.max_bw();
    assert!(link.control.model.bw_shortterm >= 0.7 * max * 0.999);
    link.loss = 0.0;
    link.run_to(State::Refill);
    assert!(link.control.model.bw_shortterm.is_infinite());
}

//= RFC 3168 5-2
#[test]
fn a_mark_is_a_loss_that_is_certain() {
    let mark = |link: &mut Link| link.control.on_mark(&Coupled::default());
    // It ends Startup, as it ends the slow start of others, with what the path has delivered.
    let mut link = Link::new(20.0, 40, 4.0);
    link.run(0.2);
    assert_eq!(link.control.state, State::Startup);
    mark(&mut link);
    let bound = link.control.model.inflight_longterm;
    assert!(bound.is_finite() && bound >= 4.0 * MSS as f64, "{bound}");
    link.step();
    link.run(0.05);
    assert_ne!(link.control.state, State::Startup);
    // Where BBR probes it ends that.
    for state in [State::Refill, State::Up] {
        let mut link = Link::new(20.0, 40, 4.0);
        link.run_to(State::Down);
        link.run_to(state);
        let target = link.control.target_inflight();
        mark(&mut link);
        assert_eq!(link.control.state, State::Down, "from {state:?}");
        assert_eq!(link.control.model.inflight_longterm, BETA_TIMES * target);
    }
    // Elsewhere it is a round with a loss: 30 % at most, until the next Refill.
    let mut link = Link::new(20.0, 40, 4.0);
    link.run_to(State::Cruise);
    let max = link.control.model.max_bw();
    mark(&mut link);
    link.run(0.1);
    let bound = link.control.model.bw_shortterm;
    assert!((BETA_TIMES * max * 0.999..=max).contains(&bound), "{bound} of {max}");
    link.run_to(State::Refill);
    assert!(link.control.model.bw_shortterm.is_infinite());
}

/// Before anything was measured, too.
#[test]
fn a_mark_of_the_first_window_leaves_a_window() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.control.on_mark(&Coupled::default());
    assert!(link.control.cwnd() >= 4 * MSS);
    link.run(3.0);
    assert!(link.run(20.0) > 0.8);
}

#[test]
fn a_link_that_marks_is_used_with_a_shorter_queue() {
    let waits = |marks: Option<Duration>| {
        let mut link = Link::new(20.0, 40, 4.0);
        link.marks_above = marks;
        link.run(3.0);
        let (mut sum, mut n) = (0.0, 0.0);
        let (end, before) = (link.now + Duration::from_secs(30), link.delivered);
        while link.now < end {
            link.step();
            sum += link.free_at.since(link.now).as_secs_f64();
            n += 1.0;
        }
        let used = (link.delivered - before) as f64 / (link.rate * 30.0);
        (used, sum / n, link.marks)
    };
    let (plain, marked) = (waits(None), waits(Some(5 * MS)));
    assert!(marked.2 > 5, "{marked:?}");
    assert!(marked.1 < plain.1, "{marked:?} {plain:?}");
    assert!(marked.0 > 0.8, "{marked:?} {plain:?}");
}

#[test]
fn a_timeout_leaves_one_packet_and_a_round_without_loss_gives_the_window_back() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.run_to(State::Cruise);
    let before = link.control.cwnd;
    link.control.on_timeout(false, &Coupled::default());
    assert_eq!(link.control.cwnd(), MSS);
    link.step();
    link.run(0.5);
    assert!(link.control.cwnd >= 0.9 * before, "{} of {before}", link.control.cwnd);
}

#[test]
fn what_the_application_limits_is_no_bandwidth() {
    let mut link = Link::new(20.0, 40, 4.0);
    link.run(4.0);
    let bw = link.control.model.max_bw();
    // A packet every round trip for ten seconds, and then a message of a megabyte.
    for _ in 0..250 {
        link.ready = Some(MSS);
        link.run(0.04);
        link.now += link.rtt;
    }
    assert!((link.control.model.max_bw() / bw - 1.0).abs() < 0.1);
    link.ready = Some(1_000_000);
    let begun = link.now;
    while !link.packets.is_empty() || link.ready.is_some_and(|ready| ready >= MSS) {
        link.step();
    }
    let took = link.now.since(begun).as_secs_f64();
    // 0.4 s at the rate of the link.
    assert!(took < 0.75, "{took}");
}

#[test]
fn the_first_window_is_that_of_rfc_9260_and_leaves_paced() {
    let mut control = control();
    assert_eq!(control.cwnd(), 4000);
    assert_eq!(control.pacing_rate(), Some(2.77 * 4000.0 / 0.001));
    control.set_pmdcs(500);
    assert_eq!(control.cwnd(), 2000, "nothing has filled it yet");
}
