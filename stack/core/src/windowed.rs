//! The smallest and the largest of the latest samples (RFC 8985 §6.2 step 1: "windowed min-filtered").

use std::time::Duration;

use crate::time::Time;

/// The shortest and the longest round-trip time of the last one to two periods of this many seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Windowed<const SECONDS: u64 = 60> {
    current: Option<[Duration; 2]>,
    previous: Option<[Duration; 2]>,
    since: Time,
}

impl<const SECONDS: u64> Windowed<SECONDS> {
    /// Takes a sample.
    pub(crate) fn sample(&mut self, now: Time, rtt: Duration) {
        if now.since(self.since) > Duration::from_secs(SECONDS) {
            self.previous = self.current.take();
            self.since = now;
        }
        let [least, most] = self.current.unwrap_or([rtt; 2]);
        self.current = Some([least.min(rtt), most.max(rtt)]);
    }

    /// The smallest, once there is one.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.current.iter().chain(&self.previous).map(|[least, _]| *least).min()
    }

    /// The largest, once there is one.
    pub(crate) fn most(&self) -> Option<Duration> {
        self.current.iter().chain(&self.previous).map(|[_, most]| *most).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_two_periods_is_forgotten() {
        let ms = Duration::from_millis;
        let mut window = Windowed::<60>::default();
        assert_eq!((window.least(), window.most()), (None, None));
        for (second, rtt, least, most) in [
            (1, 50, 50, 50),
            (30, 80, 50, 80),
            (61, 70, 50, 80),
            (90, 75, 50, 80),
            (122, 90, 70, 90),
            (183, 85, 85, 90),
        ] {
            window.sample(Time::from_millis(1000 * second), ms(rtt));
            let expected = (Some(ms(least)), Some(ms(most)));
            assert_eq!((window.least(), window.most()), expected, "after {second} s");
        }
    }
}
