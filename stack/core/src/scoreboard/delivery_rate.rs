//! Delivery rate samples (draft-ietf-ccwg-bbr-06 §4.1; before that draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Idea: each packet remembers how much of its path had been delivered when it left. When it is acknowledged, what was
//! delivered in between, and how long that took to be sent and to be acknowledged, is a sample of what the path delivers.
//!
//! Bytes and seconds; C is a path, P a packet, and the sample is that of the packet sent last, of those that a SACK acknowledges:
//! ```text
//! P leaves:   C.first_sent = C.delivered_at = now                            if nothing was in flight
//!             P.(first_sent, delivered_at, delivered, lost) = those of C     P.in_flight: with P
//! SACK:       C.delivered += bytes, C.delivered_at = now, C.first_sent = P.sent
//!             interval = max(P.sent - P.first_sent, now - P.delivered_at)
//!             rate = (C.delivered - P.delivered) / interval                  none if interval < shortest RTT
//! ```
//! While the application, and not the path, decides how much is in flight, samples say so until what was in flight then
//! is delivered.
//!
//! Kept for each packet and not for each chunk, in a ring beside that of the packets, and only for those who ask. Differences:
//! what one SACK both acknowledges and shows to be lost counts as lost from the next sample on; the acknowledgement
//! of a chunk that was sent twice is taken for that of the last copy, which the bound on the interval is for.

use super::departures::{Departure, Progress};
use super::outcome::PathAck;
use super::{Outstanding, Scoreboard};
use crate::ids::PathId;
use crate::time::Time;

/// What a SACK tells of the rate at which a path delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Bytes that the path has delivered since the association began.
    pub total: u64,
    /// `total` when the packet left that the sample is of.
    pub prior: u64,
    /// Bytes per second; 0 if the interval was too short to be believed.
    pub rate: f64,
    /// Bytes acknowledged for the first time by this SACK.
    pub newly_acked: usize,
    /// Bytes in flight when the packet had left.
    pub sent_in_flight: usize,
    /// Bytes in flight after the SACK.
    pub in_flight: usize,
    /// Bytes declared lost since the packet left.
    pub lost: u64,
    /// The application, not the path, has limited it.
    pub app_limited: bool,
}

impl RateSample {
    /// Bytes delivered since the packet left.
    pub fn delivered(&self) -> u64 {
        self.total - self.prior
    }
}

/// What the loss of a chunk tells of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossSample {
    /// Its sequence number.
    pub seq: u64,
    /// Its bytes.
    pub bytes: usize,
    /// Bytes in flight when its packet had left.
    pub sent_in_flight: usize,
    /// Bytes declared lost since its packet left: itself included.
    pub lost: u64,
    /// Bytes that the path has delivered since the association began.
    pub total: u64,
    /// The application, not the path, limited what was in flight.
    pub app_limited: bool,
}

impl Scoreboard {
    /// Samples are asked for from now on; they are of packets that leave afterwards.
    pub fn sample_delivery_rates(&mut self) {
        self.rates.get_or_insert_default();
    }

    /// Samples are asked for.
    pub fn samples_delivery_rates(&self) -> bool {
        self.rates.is_some()
    }

    /// The packet begun last has left on `path`, with chunks up to `highest`; the `first` when nothing was in flight.
    pub fn note_departure(&mut self, now: Time, path: PathId, highest: u64, first: bool) {
        let (in_flight, open) = (self.flight(path), self.packets.first());
        let packet = self.packets.latest();
        let Some(rates) = &mut self.rates else { return };
        let progress = rates.path(path);
        if first {
            progress.first_sent = now;
            progress.delivered_at = now;
        }
        let Progress { first_sent, delivered_at, delivered, lost, app_limited, .. } = *progress;
        let app_limited = app_limited.is_some();
        let departure = Departure {
            path,
            highest,
            sent: now,
            first_sent,
            delivered_at,
            delivered,
            lost,
            in_flight,
            app_limited,
        };
        rates.depart(open, packet, departure);
    }

    /// The path could carry more than there is, or may be sent.
    pub fn note_app_limited(&mut self, path: PathId) {
        let in_flight = self.flight(path) as u64;
        if let Some(rates) = &mut self.rates {
            let progress = rates.path(path);
            progress.app_limited = Some((progress.delivered + in_flight).max(1));
        }
    }

    /// Whether the application limits what is in flight on `path`.
    pub fn is_app_limited(&self, path: PathId) -> bool {
        self.rates.as_ref().is_some_and(|rates| rates.is_app_limited(path))
    }

    /// The sample of a SACK that acknowledged `ack` on `path`, if there is one. To be asked once for each.
    pub fn rate_sample(&mut self, now: Time, path: PathId, ack: &PathAck) -> Option<RateSample> {
        let in_flight = self.flight(path);
        let rates = self.rates.as_mut()?;
        let latest = ack.latest?;
        let departure = rates.departure_of(path, latest.seq, latest.sent).copied();
        let progress = rates.path(path);
        progress.delivered += ack.bytes as u64;
        progress.delivered_at = now;
        if progress.app_limited.is_some_and(|until| progress.delivered > until) {
            progress.app_limited = None;
        }
        let p = departure?;
        progress.first_sent = p.sent;
        if latest.transmissions == 1 {
            let rtt = now.since(p.sent);
            progress.shortest = Some(progress.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        }
        let interval = p.sent.since(p.first_sent).max(now.since(p.delivered_at));
        let long = progress.shortest.is_none_or(|shortest| interval >= shortest);
        let delivered = progress.delivered - p.delivered;
        let rate = if long && !interval.is_zero() {
            delivered as f64 / interval.as_secs_f64()
        } else {
            0.0
        };
        Some(RateSample {
            total: progress.delivered,
            prior: p.delivered,
            rate,
            newly_acked: ack.bytes,
            sent_in_flight: p.in_flight,
            in_flight,
            lost: progress.lost - p.lost,
            app_limited: p.app_limited,
        })
    }

    /// What the loss of `seq` tells, which has just been declared.
    pub fn loss_sample(&mut self, seq: u64) -> Option<LossSample> {
        self.rates.as_ref()?;
        let chunk: &Outstanding = self.get(seq)?;
        let (path, packet, bytes) = (chunk.path, chunk.packet, chunk.counted());
        let rates = self.rates.as_mut()?;
        let departure = rates.departure(packet).filter(|left| left.path == path).copied();
        let progress = rates.path(path);
        progress.lost += bytes as u64;
        let p = departure?;
        Some(LossSample {
            seq,
            bytes,
            sent_in_flight: p.in_flight,
            lost: progress.lost - p.lost,
            total: progress.delivered,
            app_limited: p.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tresse_wire::{DataFlags, Fsn, GapAckBlock, GapAckBlocks, Mid, Ppid, StreamId, Tsn};

    use super::*;
    use crate::ids::LossCause;
    use crate::scoreboard::{AckOutcome, Eligibility, NewChunk};

    const PATH: PathId = PathId(0);
    /// A chunk with its header.
    const SIZE: usize = 1000;

    struct Board(Scoreboard);

    impl Board {
        fn new() -> Board {
            let mut board = Scoreboard::new(Tsn(1));
            board.sample_delivery_rates();
            Board(board)
        }

        /// A packet with one chunk leaves.
        fn send(&mut self, ms: u64) -> u64 {
            let first = self.0.flight(PATH) == 0;
            self.0.begin_packet();
            let payload = Bytes::from(vec![0; SIZE - 16]);
            let (stream, mid, fsn, ppid) = (StreamId(0), Mid(0), Fsn(0), Ppid(0));
            let flags = DataFlags::default();
            let chunk = NewChunk { stream, mid, fsn, ppid, flags, context: 0, key: None, payload };
            let seq = self.0.record_new(Time::from_millis(ms), PATH, chunk);
            self.0.note_departure(Time::from_millis(ms), PATH, seq, first);
            seq
        }

        /// All up to `seq` is acknowledged, and what `gap` says beyond it.
        fn ack(&mut self, ms: u64, seq: u64, gap: Option<(u16, u16)>) -> RateSample {
            let gap: Vec<[u8; 4]> = gap
                .iter()
                .map(|(start, end)| GapAckBlock { start: *start, end: *end }.to_bytes())
                .collect();
            let mut outcome = AckOutcome::default();
            let tsn = Scoreboard::tsn(seq);
            self.0.on_sack(tsn, GapAckBlocks::new(&gap), &mut outcome, |_| {}).unwrap();
            self.0.rate_sample(Time::from_millis(ms), PATH, &outcome.paths[0]).unwrap()
        }
    }

    #[test]
    fn a_full_path_shows_its_rate() {
        // A packet a millisecond, acknowledged 20 ms later: 1 MB/s.
        let mut board = Board::new();
        let seqs: Vec<u64> = (0..40).map(|ms| board.send(100 + ms)).collect();
        for (ms, seq) in (120..).zip(&seqs) {
            let sample = board.ack(ms, *seq, None);
            assert_eq!(sample.newly_acked, SIZE);
            assert_eq!(sample.in_flight, SIZE * (39 - (ms as usize - 120)));
            assert!(!sample.app_limited);
            if ms == 120 {
                // One packet in the first round trip, while nothing is known of the rest.
                assert!((sample.rate - 50_000.0).abs() < 1e-6, "{}", sample.rate);
            }
        }
        // Here all 40 had left before anything came back: each sample spans its own way from the start.
        let last = board.send(200);
        let sample = board.ack(220, last, None);
        assert_eq!((sample.prior, sample.total), (40 * 1000, 41 * 1000));
        assert!((sample.rate - 50_000.0).abs() < 1e-6, "the path was idle before it");
    }

    #[test]
    fn acknowledgements_that_come_at_once_are_no_rate() {
        // Ten packets within 90 ms whose SACKs are held up and come in one: no more than was sent in that time.
        let mut board = Board::new();
        let first = board.send(0);
        board.ack(20, first, None);
        let seqs: Vec<u64> = (0..10).map(|n| board.send(30 + 10 * n)).collect();
        board.ack(141, seqs[0], None);
        let sample = board.ack(142, seqs[9], None);
        // 10 000 bytes in 112 ms since the first of them left.
        assert!((sample.rate - 10_000.0 / 0.112).abs() < 1.0, "{}", sample.rate);
    }

    #[test]
    fn an_interval_below_the_round_trip_is_not_believed() {
        let mut board = Board::new();
        let first = board.send(0);
        let second = board.send(0);
        board.ack(50, first, None);
        // Declared lost, sent again, and the first copy is acknowledged a millisecond later.
        assert!(board.0.mark_lost(second, LossCause::Rack));
        board.0.loss_sample(second);
        board.0.begin_packet();
        board.0.record_retransmission(Time::from_millis(60), PATH, second, Eligibility::Rule5);
        board.0.note_departure(Time::from_millis(60), PATH, second, true);
        let sample = board.ack(61, second, None);
        assert_eq!((sample.rate, sample.delivered()), (0.0, 1000));
    }

    #[test]
    fn what_the_application_limits_says_so_until_it_is_delivered() {
        let mut board = Board::new();
        let first = board.send(0);
        board.0.note_app_limited(PATH);
        assert!(board.0.is_app_limited(PATH));
        let second = board.send(1);
        let third = board.send(2);
        assert!(!board.ack(20, first, None).app_limited, "it left before");
        assert!(board.0.is_app_limited(PATH), "no more than that is delivered");
        assert!(board.ack(21, second, None).app_limited);
        assert!(!board.0.is_app_limited(PATH));
        assert!(board.ack(22, third, None).app_limited, "it left while that was so");
        let fourth = board.send(30);
        assert!(!board.ack(50, fourth, None).app_limited);
    }

    #[test]
    fn losses_count_from_the_departure_on() {
        let mut board = Board::new();
        let seqs: Vec<u64> = (0..10).map(|ms| board.send(ms)).collect();
        assert_eq!(board.ack(20, seqs[0], Some((3, 5))).lost, 0);
        assert!(board.0.mark_lost(seqs[1], LossCause::Rack));
        let lost = board.0.loss_sample(seqs[1]).unwrap();
        // Two packets were in flight when it had left.
        let expected = LossSample {
            seq: seqs[1],
            bytes: 1000,
            sent_in_flight: 2000,
            lost: 1000,
            total: 4000,
            app_limited: false,
        };
        assert_eq!(lost, expected);
        assert!(board.0.mark_lost(seqs[2], LossCause::Rack));
        assert_eq!(board.0.loss_sample(seqs[2]).unwrap().lost, 2000);
        let sample = board.ack(30, seqs[0], Some((3, 9)));
        assert_eq!((sample.lost, sample.sent_in_flight), (2000, 10_000));
        // What leaves now knows of them.
        let later = board.send(31);
        assert_eq!(board.ack(50, later, None).lost, 0);
    }

    #[test]
    fn nothing_is_kept_of_those_who_do_not_ask() {
        let mut board = Board(Scoreboard::new(Tsn(1)));
        let seq = board.send(0);
        assert!(board.0.mark_lost(seq, LossCause::Rack));
        assert_eq!(board.0.loss_sample(seq), None);
        assert_eq!(board.0.rate_sample(Time::ZERO, PATH, &PathAck::default()), None);
        assert!(board.0.rates.is_none());
    }

    #[test]
    fn departures_of_packets_that_are_done_are_forgotten() {
        let mut board = Board::new();
        for n in 0..1000 {
            let seq = board.send(n);
            if n >= 10 {
                board.ack(n, seq - 10, None);
            }
        }
        assert!(board.0.rates.as_ref().unwrap().len() <= 13);
    }
}
