//! The retransmission timeout that the standard would have (RFC 9260 §6.3.1, RFC 6298).

/// Estimates RTO from round-trip times seen on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rto {
    min_ms: f64,
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: f64,
    rttvar: f64,
    /// When the last sample was taken, in nanoseconds.
    at: u64,
}

/// RFC 9260 §16: RTO.Max.
const MAX_MS: f64 = 60_000.0;

impl Rto {
    pub(crate) const fn new(min_ms: f64) -> Rto {
        Rto { min_ms, estimate: None }
    }

    /// Data sent at `sent` is acknowledged now.
    pub(crate) fn sample(&mut self, now: u64, sent: u64, rtt_ms: f64) {
        let Some(e) = &mut self.estimate else {
            // RFC 9260 §6.3.1 C2.
            self.estimate = Some(Estimate { srtt: rtt_ms, rttvar: rtt_ms / 2.0, at: now });
            return;
        };
        // RFC 9260 §6.3.1 C4: "no more than once per round trip".
        if sent < e.at {
            return;
        }
        // RFC 9260 §6.3.1 C3.
        e.rttvar = 0.75 * e.rttvar + 0.25 * (e.srtt - rtt_ms).abs();
        e.srtt = 0.875 * e.srtt + 0.125 * rtt_ms;
        e.at = now;
    }

    /// The estimate in milliseconds, once there is a sample.
    pub(crate) fn ms(&self) -> Option<f64> {
        let Estimate { srtt, rttvar, .. } = self.estimate?;
        Some((srtt + 4.0 * rttvar).clamp(self.min_ms, MAX_MS))
    }

    /// The least that a timer runs which starts now, in milliseconds.
    pub(crate) fn least_ms(&self) -> f64 {
        self.ms().unwrap_or(self.min_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_standard() {
        let mut rto = Rto::new(1.0);
        assert_eq!(rto.ms(), None);
        rto.sample(100, 0, 100.0);
        assert_eq!(rto.ms(), Some(300.0));
        // Sent before the first sample was taken: the same round trip.
        rto.sample(150, 50, 900.0);
        assert_eq!(rto.ms(), Some(300.0));
        rto.sample(300, 200, 100.0);
        // RTTVAR 37.5, SRTT 100.
        assert_eq!(rto.ms(), Some(250.0));
        assert_eq!(Rto { min_ms: 1000.0, ..rto }.ms(), Some(1000.0));
    }
}
