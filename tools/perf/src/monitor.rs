//! Watches a running test: live lines, RTT samples, and whether anything moves.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

use tresse::{PathState, PathStats};

use super::figures::{Durations, Percentiles};
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

/// Watches one side.
pub(crate) struct Monitor<'a> {
    session: &'a Session,
    role: Role,
    pub(crate) tally: Tally,
    started: Instant,
    intervals: Mutex<Vec<Interval>>,
    rtt: Mutex<Durations>,
}

impl<'a> Monitor<'a> {
    pub(crate) fn new(session: &'a Session, role: Role) -> Monitor<'a> {
        Monitor {
            session,
            role,
            tally: Tally::default(),
            started: Instant::now(),
            intervals: Mutex::default(),
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
        std::mem::take(&mut self.intervals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn rtt(&self) -> Option<Percentiles> {
        self.rtt.lock().unwrap_or_else(PoisonError::into_inner).summary()
    }

    /// User bytes that have arrived, as far as this side knows.
    fn delivered(&self) -> u64 {
        let acknowledged = || {
            let stats = self.session.association.stats();
            stats.user_bytes_sent.saturating_sub(stats.send_buffered as u64)
        };
        match self.role {
            Role::Receiver => self.tally.bytes(),
            Role::Sender => acknowledged(),
            Role::Both => self.tally.bytes() + acknowledged(),
        }
    }

    /// Where new data goes while one path is used at a time: the primary path, or the first that works.
    fn data_path(&self) -> Option<PathStats> {
        let mut paths = self.session.association.path_stats();
        paths.sort_by_key(|path| (path.state != PathState::Active, !path.primary));
        paths.into_iter().next()
    }

    async fn live(&self) -> Infallible {
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await; // The first one comes at once.
        let mut last = (0.0, self.delivered(), self.tally.messages(), 0);
        loop {
            ticks.tick().await;
            let now = self.started.elapsed().as_secs_f64();
            let (bytes, messages) = (self.delivered(), self.tally.messages());
            let retransmitted = self.session.association.stats().retransmissions();
            let path = self.data_path().filter(|_| self.role != Role::Receiver);
            let line = Interval {
                from_s: last.0,
                to_s: now,
                bytes: bytes.saturating_sub(last.1),
                messages: messages - last.2,
                goodput_bit_s: bytes.saturating_sub(last.1) as f64 * 8.0 / (now - last.0).max(1e-9),
                retransmitted_chunks: retransmitted.saturating_sub(last.3),
                srtt_us: path.as_ref().and_then(|p| p.srtt).map(|t| t.as_secs_f64() * 1e6),
                cwnd: path.as_ref().map(|p| p.cwnd),
            };
            last = (now, bytes, messages, retransmitted);
            self.session.output.line(&line.line());
            self.intervals.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
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
        let patience =
            self.session.timeout.max(3 * self.session.test.interval().unwrap_or_default());
        let mut ticks = interval((patience / 20).clamp(RTT_SAMPLING, Duration::from_secs(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut progress, mut since) = ((0, 0), Instant::now());
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
            } else if since.elapsed() >= patience {
                return Failure::Failed(format!(
                    "the peer made no progress for {} (--timeout)",
                    Time(patience)
                ));
            }
        }
    }
}
