//! Heartbeats: what one carries, and when the next is due (RFC 9260 §8.3, §5.4).

use std::net::IpAddr;
use std::time::Duration;

use crate::ids::PathId;
use crate::rng::Rng;
use crate::time::Time;

/// This many heartbeats that were not answered in time are remembered. To an unconfirmed address their intervals
/// double, so the first of them waits for fifteen times the RTO that it was sent with.
const MAX_LATE: usize = 4;

/// Bytes of the Heartbeat Information.
pub(crate) const HEARTBEAT_INFO_LEN: usize = 1 + 8 + 8;

//= RFC 9260 3.3.5-2 3.3.5-3 8.3-6
/// The contents of our Heartbeat Info parameter; opaque to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeartbeatInfo {
    pub(crate) path: PathId,
    pub(crate) sent: Time,
    pub(crate) nonce: u64,
}

impl HeartbeatInfo {
    pub(crate) fn encode(self) -> [u8; HEARTBEAT_INFO_LEN] {
        let mut bytes = [0; HEARTBEAT_INFO_LEN];
        bytes[0] = self.path.0;
        bytes[1..9].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        bytes[9..].copy_from_slice(&self.nonce.to_be_bytes());
        bytes
    }

    /// `None` for anything that we did not send. A probe of the path MTU may be padded with zeros.
    pub(crate) fn decode(bytes: &[u8]) -> Option<HeartbeatInfo> {
        let (bytes, padding) = bytes.split_first_chunk::<HEARTBEAT_INFO_LEN>()?;
        if padding.iter().any(|byte| *byte != 0) {
            return None;
        }
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().fold(0u64, |n, b| n << 8 | u64::from(*b))
        };
        Some(HeartbeatInfo {
            path: PathId(bytes[0]),
            sent: Time::from_nanos(number(1..9)),
            nonce: number(9..17),
        })
    }
}

/// Heartbeat state of one path.
#[derive(Debug, Default)]
pub(crate) struct HeartbeatState {
    /// The heartbeat that waits for its answer.
    outstanding: Option<HeartbeatInfo>,
    /// Those that were not answered in time, and may be yet: the last few.
    late: Vec<HeartbeatInfo>,
    /// The heartbeat that waits for its answer, of those that were sent from other sources than that of the path.
    trial: Option<HeartbeatInfo>,
    /// Where an answer to those has come since.
    found: Option<IpAddr>,
    /// When it was first asked whether the peer is still there, because of an INIT from another UDP port.
    asked: Option<Time>,
    /// When a packet of the peer came from its address last.
    heard: Time,
    /// When to look again: the answer is overdue, or the next one is due.
    next: Option<Time>,
    /// When a silent path is asked again before that, and how long after the one before.
    again: Option<(Time, Duration)>,
    /// The first one after the path was silent.
    anew: Option<HeartbeatInfo>,
    sent: u64,
    acked: u64,
}

impl HeartbeatState {
    /// When to look again: the answer is overdue, or the next one is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self.again {
            Some((at, _)) => Some(self.next.map_or(at, |next| next.min(at))),
            None => self.next,
        }
    }

    /// The answer is overdue, or the next one is due.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next.is_some_and(|at| at <= now)
    }

    /// One that leaves aside is due after this time.
    pub(crate) fn insist(&mut self, now: Time, wait: Duration) {
        self.again = Some((now + wait, wait));
    }

    /// No more do.
    pub(crate) fn relent(&mut self) {
        self.again = None;
    }

    /// It is due that one leaves aside: how long after the one before.
    pub(crate) fn insists(&self, now: Time) -> Option<Duration> {
        self.again.filter(|(at, _)| *at <= now).map(|(_, wait)| wait)
    }

    /// It is looked at again then, or never.
    pub(crate) fn plan(&mut self, at: Option<Time>) {
        self.next = at;
    }

    /// It is looked at again no later than `at`.
    pub(crate) fn hasten(&mut self, at: Time) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// Heartbeats that were sent.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Those of them that were answered.
    pub(crate) const fn acked(&self) -> u64 {
        self.acked
    }

    /// One waits for its answer.
    #[inline]
    pub(crate) const fn is_awaited(&self) -> bool {
        self.outstanding.is_some()
    }

    /// This one does.
    pub(crate) fn awaits(&self, info: HeartbeatInfo) -> bool {
        self.outstanding == Some(info)
    }

    /// One leaves, and its answer is waited for.
    pub(crate) fn on_sent(&mut self, info: HeartbeatInfo) {
        self.outstanding = Some(info);
        self.sent += 1;
    }

    /// One leaves whose answer is welcome, but not waited for.
    pub(crate) fn on_sent_aside(&mut self, info: HeartbeatInfo) {
        self.keep_late(info);
        self.sent += 1;
    }

    /// The path has answered what may have waited for it to come back. How long it takes now is for this one to say.
    pub(crate) fn measure_anew(&mut self, info: Option<HeartbeatInfo>) {
        self.anew = info;
    }

    /// Whether this is the one.
    pub(crate) fn measures_anew(&mut self, info: HeartbeatInfo) -> bool {
        self.anew.take_if(|anew| *anew == info).is_some()
    }

    /// No longer waits for an answer; returns what was waited for.
    pub(crate) fn take_awaited(&mut self) -> Option<HeartbeatInfo> {
        self.outstanding.take()
    }

    /// It was sent from other sources than that of the path, and its answer shows one that works.
    pub(crate) fn begin_trial(&mut self, info: HeartbeatInfo) {
        (self.trial, self.found) = (Some(info), None);
    }

    /// This is the trial under way.
    pub(crate) fn tries_source(&self, info: HeartbeatInfo) -> bool {
        self.trial == Some(info)
    }

    /// It is over.
    pub(crate) fn end_trial(&mut self) {
        self.trial = None;
    }

    /// It was answered at `local`, for later.
    pub(crate) fn keep_found(&mut self, local: IpAddr) {
        self.found = Some(local);
    }

    /// Where a trial was answered.
    pub(crate) const fn found(&self) -> Option<IpAddr> {
        self.found
    }

    /// A packet of the peer came from its address.
    #[inline]
    pub(crate) fn on_heard(&mut self, now: Time) {
        self.heard = now;
    }

    /// When it was first asked whether the peer is still there.
    pub(crate) const fn asked(&self) -> Option<Time> {
        self.asked
    }

    /// It is asked now.
    pub(crate) fn ask(&mut self, now: Time) {
        self.asked = Some(now);
    }

    /// It was not answered in time. It may be yet.
    pub(crate) fn keep_late(&mut self, lost: HeartbeatInfo) {
        if self.late.len() == MAX_LATE {
            self.late.remove(0);
        }
        self.late.push(lost);
    }

    /// Takes the answer to `info`, in time or not, once; `false` if none is awaited. Then one to what was sent
    /// earlier says nothing more.
    pub(crate) fn take_answer(&mut self, info: HeartbeatInfo) -> bool {
        let in_time = self.outstanding == Some(info);
        if !in_time && !self.late.contains(&info) {
            return false;
        }
        // What was sent before it is answered no sooner: it is not waited for any more, either.
        if self.outstanding.is_some_and(|waited| waited.sent <= info.sent) {
            self.outstanding = None;
        }
        self.late.retain(|other| other.sent > info.sent);
        self.acked += 1;
        true
    }

    /// Nothing was heard since it was asked whether the peer is still there.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.asked.is_some_and(|asked| self.heard <= asked)
    }
}

//= RFC 9260 8.3-13
/// Time to the next heartbeat on an idle path.
///
/// RFC 9260 §8.3: RTO plus HB.interval, with jittering of +/- 50 % of the RTO. An address that is
/// not yet confirmed is asked once per RTO (§5.4).
pub(crate) fn heartbeat_interval(
    interval: Duration,
    rto: Duration,
    often: bool,
    rng: &mut Rng,
) -> Duration {
    let jittered = rto.mul_f64(0.5 + rng.next_f64());
    if often { rto } else { interval + jittered }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 9260 3.3.5-2 3.3.5-3 8.3-6
    #[test]
    fn info_round_trips_and_rejects_foreign_bytes() {
        let info = HeartbeatInfo { path: PathId(3), sent: Time::from_millis(77), nonce: 1 << 63 };
        assert_eq!(HeartbeatInfo::decode(&info.encode()), Some(info));
        assert_eq!(HeartbeatInfo::decode(&info.encode()[1..]), None);
        assert_eq!(HeartbeatInfo::decode(&[1; 18]), None);
        let padded = [&info.encode()[..], &[0; 1200]].concat();
        assert_eq!(HeartbeatInfo::decode(&padded), Some(info));
    }

    //= RFC 9260 8.3-13
    #[test]
    fn interval_is_jittered_around_rto() {
        let (interval, mut rng) = (Duration::from_secs(30), Rng::from_seed([1; 32]));
        for _ in 0..1000 {
            let wait = heartbeat_interval(interval, Duration::from_secs(2), false, &mut rng);
            assert!(wait >= Duration::from_secs(31) && wait < Duration::from_secs(33));
        }
        assert_eq!(
            heartbeat_interval(interval, Duration::from_secs(2), true, &mut rng),
            Duration::from_secs(2)
        );
    }
}
