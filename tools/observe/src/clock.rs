//! The endpoint's clock and the calendar's.

use std::fmt;
use std::time::{Duration, SystemTime};

use tresse::Time;

/// Says when, by the calendar, a moment of an endpoint was. The two are compared once, so that a
/// clock that is set does not change the distances.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WallClock {
    /// Time from 1970 to the endpoint's beginning.
    epoch: Option<Duration>,
}

impl WallClock {
    /// Time from 1970 to `at`; the first time it is asked, `at` must be about now.
    pub(crate) fn since_1970(&mut self, at: Time) -> Duration {
        let at = Duration::from_nanos(at.as_nanos());
        let epoch = self.epoch.get_or_insert_with(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            now.saturating_sub(at)
        });
        *epoch + at
    }
}

/// A time since 1970 as RFC 3339 writes it, in UTC with milliseconds.
pub(crate) struct Rfc3339(pub(crate) Duration);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // Years begin in March here, so that the leap day is the last one; 400 years have always
        // the same number of days.
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year = era * 400 + year + next;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_400, "2000-02-29T00:00:00.250Z"),
            (951_868_799, "2000-02-29T23:59:59.250Z"),
            (951_868_800, "2000-03-01T00:00:00.250Z"),
            (1_767_225_599, "2025-12-31T23:59:59.250Z"),
            (1_767_225_600, "2026-01-01T00:00:00.250Z"),
            (4_107_542_399, "2100-02-28T23:59:59.250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.250Z"),
        ] {
            let time = Duration::from_secs(seconds) + Duration::from_millis(250);
            assert_eq!(Rfc3339(time).to_string(), text);
        }
    }

    #[test]
    fn distances_stay() {
        let mut clock = WallClock::default();
        let first = clock.since_1970(Time::from_millis(1_000));
        let second = clock.since_1970(Time::from_millis(1_234));
        assert_eq!(second - first, Duration::from_millis(234));
    }
}
