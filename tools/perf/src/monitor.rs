//! Watches a running test: live lines, RTT samples, and whether anything moves.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

use tresse::PathStats;

use super::agreed::data_path;
use super::figures::{Durations, Percentiles};
use super::handed::{Amounts, Handed};
use super::outcome::Failure;
use super::report::Interval;
use super::session::Session;
use tresse_console::units::Time;

/// How often the association's last RTT is looked up.
const RTT_SAMPLING: Duration = Duration::from_millis(5);

/// Which side of the test is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sender,
    Receiver,
    /// Flows in both directions.
    Both,
}

/// What the worker counts and the monitor reads.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    messages: AtomicU64,
    bytes: AtomicU64,
    /// Anything received from the peer's program.
    heard: AtomicU64,
    /// The peer's program owes an answer.
    waiting: AtomicBool,
}

impl Tally {
    pub(crate) fn count(&self, bytes: usize) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn wait_for_peer(&self) {
        self.waiting.store(true, Ordering::Relaxed);
    }

    pub(crate) fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The lines so far, and where the last one ended.
#[derive(Debug, Default)]
struct Live {
    intervals: Vec<Interval>,
    at: Duration,
    delivered: Amounts,
    retransmitted: u64,
}

/// Watches one side.
pub(crate) struct Monitor<'a> {
    session: &'a Session,
    role: Role,
    pub(crate) tally: Tally,
    started: Instant,
    /// What this side has sent.
    pub(crate) handed: Arc<Handed>,
    /// User bytes that the association took before the test.
    before: u64,
    live: Mutex<Live>,
    rtt: Mutex<Durations>,
}

impl<'a> Monitor<'a> {
    pub(crate) fn new(session: &'a Session, role: Role) -> Monitor<'a> {
        Monitor {
            session,
            role,
            tally: Tally::default(),
            handed: Arc::default(),
            before: session.association.stats().user_bytes_sent,
            started: Instant::now(),
            live: Mutex::default(),
            rtt: Mutex::new(Durations::new()),
        }
    }

    /// Watches until something is wrong.
    pub(crate) async fn run(&self) -> Failure {
        tokio::select! {
            failure = self.watch_progress() => failure,
            never = self.live() => match never {},
            never = self.sample_rtt() => match never {},
            () = self.session.interrupts.at_least(2) => Failure::Interrupted,
        }
    }

    pub(crate) fn intervals(&self) -> Vec<Interval> {
        std::mem::take(&mut self.live.lock().unwrap_or_else(PoisonError::into_inner).intervals)
    }

    pub(crate) fn rtt(&self) -> Option<Percentiles> {
        self.rtt.lock().unwrap_or_else(PoisonError::into_inner).summary()
    }

    /// What has arrived, as far as this side knows: what it received, and what is acknowledged of what it sent.
    fn delivered(&self) -> Amounts {
        let stats = self.session.association.stats();
        let acknowledged = stats.user_bytes_sent.saturating_sub(stats.send_buffered as u64);
        self.arrived(acknowledged.saturating_sub(self.before))
    }

    fn arrived(&self, acknowledged: u64) -> Amounts {
        let received = Amounts { messages: self.tally.messages(), bytes: self.tally.bytes() };
        match self.role {
            Role::Receiver => received,
            Role::Sender => self.handed.arrived(acknowledged),
            Role::Both => {
                let sent = self.handed.arrived(acknowledged);
                Amounts {
                    messages: received.messages + sent.messages,
                    bytes: received.bytes + sent.bytes,
                }
            }
        }
    }

    /// Where new data goes while one path is used at a time: the primary path, or the first that works.
    fn data_path(&self) -> Option<PathStats> {
        data_path(&self.session.association.path_stats()).cloned()
    }

    async fn live(&self) -> Infallible {
        let mut ticks = interval(self.session.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await; // The first one comes at once.
        loop {
            ticks.tick().await;
            // The end of the test closes its last interval, or, if what was sent takes long to arrive, the next tick.
            if self.ends_now() {
                ticks.tick().await;
            }
            self.interval(self.delivered());
        }
    }

    /// Whether the test is over about now, as far as time ends it.
    fn ends_now(&self) -> bool {
        let end = self.session.test.duration_ms.map(Duration::from_millis);
        end.is_some_and(|end| self.started.elapsed().abs_diff(end) < self.session.interval / 8)
    }

    /// Closes the last interval; `complete` if the other side says that all has arrived.
    pub(crate) fn end(&self, complete: bool) {
        let delivered = if complete { self.arrived(u64::MAX) } else { self.delivered() };
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, last) = (live.at, live.delivered);
        drop(live);
        // What is left of an interval after the last message says nothing.
        if delivered != last || self.started.elapsed() >= since + self.session.interval / 2 {
            self.interval(delivered);
        }
    }

    /// What went on since the last interval, of which `delivered` is the end.
    fn interval(&self, delivered: Amounts) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.started.elapsed();
        let retransmitted = self.session.association.stats().retransmissions();
        let path = self.data_path().filter(|_| self.role != Role::Receiver);
        let (from_s, to_s) = (live.at.as_secs_f64(), now.as_secs_f64());
        let bytes = delivered.bytes.saturating_sub(live.delivered.bytes);
        let line = Interval {
            from_s,
            to_s,
            bytes,
            messages: delivered.messages.saturating_sub(live.delivered.messages),
            goodput_bit_s: bytes as f64 * 8.0 / (to_s - from_s).max(1e-9),
            retransmitted_chunks: retransmitted.saturating_sub(live.retransmitted),
            srtt_us: path.as_ref().and_then(|p| p.srtt).map(|t| t.as_secs_f64() * 1e6),
            cwnd: path.as_ref().map(|p| p.cwnd),
        };
        (live.at, live.delivered, live.retransmitted) = (now, delivered, retransmitted);
        self.session.output.line(&line.line());
        live.intervals.push(line);
    }

    /// Looks up the last RTT whenever a SACK has come since the last look.
    async fn sample_rtt(&self) -> Infallible {
        let mut ticks = interval(RTT_SAMPLING);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sacks = self.session.association.stats().sacks_received;
        loop {
            ticks.tick().await;
            let seen = self.session.association.stats().sacks_received;
            if seen == sacks || self.role == Role::Receiver {
                continue;
            }
            sacks = seen;
            let path = self.data_path();
            let mut rtt = self.rtt.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sample) = path.and_then(|p| p.last_rtt) {
                rtt.record(u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX));
            }
        }
    }

    /// Fails when the peer should have done something and has not for the whole timeout.
    async fn watch_progress(&self) -> Failure {
        // A receiver cannot know of more than one message in an interval.
        let limit = self.session.timeout.max(3 * self.session.test.interval().unwrap_or_default());
        let mut ticks = interval((limit / 20).clamp(RTT_SAMPLING, Duration::from_secs(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut progress, mut since) = ((Amounts::default(), 0), Instant::now());
        loop {
            ticks.tick().await;
            let now = (self.delivered(), self.tally.heard.load(Ordering::Relaxed));
            let expecting = match self.role {
                Role::Receiver => true,
                Role::Sender | Role::Both => {
                    self.tally.waiting.load(Ordering::Relaxed)
                        || self.session.association.stats().send_buffered > 0
                }
            };
            if now != progress || !expecting {
                (progress, since) = (now, Instant::now());
            } else if since.elapsed() >= limit {
                return Failure::Failed(format!(
                    "the peer made no progress for {} (--timeout)",
                    Time(limit)
                ));
            }
        }
    }
}
