//! How old the newest message is that the receiver has: what matters where each message replaces those before it.

use std::time::Duration;

use tresse_core::Time;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(1);

/// Milliseconds since the newest message was sent that had arrived, at each moment from the first arrival to `end`. A message
/// is when it was sent and when it arrived, in the order of arrival.
pub(super) fn ages(messages: &[(Time, Time)], end: Time) -> Vec<f64> {
    let Some((_, first)) = messages.first() else { return Vec::new() };
    let (mut now, mut next, mut newest) = (*first, 0, Time::ZERO);
    let mut ages = Vec::new();
    while now < end {
        while let Some((sent, _)) = messages.get(next).filter(|(_, arrived)| *arrived <= now) {
            newest = newest.max(*sent);
            next += 1;
        }
        ages.push(now.since(newest).as_nanos() as f64 / 1e6);
        now += EVERY;
    }
    ages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_newer_counts_and_what_comes_late_does_not() {
        let at = Time::from_millis;
        let messages = [(at(0), at(10)), (at(5), at(15)), (at(3), at(16))];
        let ages = ages(&messages, at(18));
        assert_eq!(ages, [10.0, 11.0, 12.0, 13.0, 14.0, 10.0, 11.0, 12.0]);
        assert_eq!(super::ages(&[], at(18)), Vec::<f64>::new());
    }
}
