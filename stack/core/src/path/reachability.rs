//! Whether a path works (RFC 9260 §5.4, §8.2): what was answered there, and what was not.

use std::time::Duration;

use super::{Failures, Pace};
use crate::ids::PathState;
use crate::profile::Profile;
use crate::settings::PathSettings;
use crate::time::Time;

/// What is known of a path.
#[derive(Debug)]
pub(crate) struct Reachability {
    /// Verified to belong to the peer (RFC 9260 §5.4).
    confirmed: bool,
    /// Not beyond Path.Max.Retrans.
    active: bool,
    /// Its state when that was last told.
    told: Option<PathState>,
    errors: u32,
    failures: Failures,
    /// Consecutive expirations here of the timer that RFC 9260 would have, for each [`Pace`].
    missed: [u32; 2],
    /// When that was sent which it owes an answer to, and which was taken elsewhere before RFC 9260 would
    /// have counted an error.
    owes_since: Option<Time>,
    /// When ICMP last said that the destination is unreachable, and was believed.
    unreachable_at: Option<Time>,
    /// When something was last acknowledged here, or the first packet of the flight left.
    answered: Time,
    /// Since when it owes an answer for too long (as `recovery/silent_path.rs` judges), if it does.
    silent: Option<Time>,
    /// How often in a row it did, since something was acknowledged here.
    silences: u32,
}

impl Reachability {
    pub(super) const fn new(confirmed: bool) -> Reachability {
        Reachability {
            confirmed,
            active: true,
            told: None,
            errors: 0,
            failures: Failures::new(),
            missed: [0; 2],
            owes_since: None,
            unreachable_at: None,
            answered: Time::ZERO,
            silent: None,
            silences: 0,
        }
    }

    /// Verified to belong to the peer.
    #[inline]
    pub(crate) const fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// It belongs to the peer; `true` if that is news.
    pub(crate) fn confirm(&mut self) -> bool {
        !std::mem::replace(&mut self.confirmed, true)
    }

    /// Confirmed, and not beyond Path.Max.Retrans.
    #[inline]
    pub(crate) const fn is_usable(&self) -> bool {
        self.confirmed && self.active
    }

    /// The error count.
    pub(crate) const fn errors(&self) -> u32 {
        self.errors
    }

    /// Consecutive expirations, errors or not.
    #[inline]
    pub(crate) const fn failures(&self) -> u32 {
        self.failures.in_a_row()
    }

    /// Consecutive expirations of the timer that RFC 9260 would have.
    pub(crate) const fn missed(&self, pace: Pace) -> u32 {
        self.missed[pace as usize]
    }

    //= RFC 7829 3.2-19
    #[inline]
    pub(super) const fn state(&self, settings: &PathSettings) -> PathState {
        match (self.active, self.confirmed) {
            (false, _) => PathState::Inactive,
            (true, false) => PathState::Unconfirmed,
            //= RFC 7829 3.2-2
            (true, true) if self.failures.are_too_many(settings) => PathState::PotentiallyFailed,
            (true, true) => PathState::Active,
        }
    }

    /// It does not remain the primary path.
    pub(super) const fn hands_over(&self, settings: &PathSettings) -> bool {
        self.failures.hand_over(settings)
    }

    /// The state before, as it was told last, and the one that is told now.
    pub(super) fn take_change(&mut self, settings: &PathSettings) -> (PathState, PathState) {
        let state = self.state(settings);
        // That it is active is news of an address only once it was not.
        let begun = match (self.confirmed, state) {
            (true, PathState::PotentiallyFailed | PathState::Inactive) => PathState::Active,
            _ => PathState::Unconfirmed,
        };
        let told = if self.confirmed { state } else { PathState::Unconfirmed };
        (self.told.replace(told).unwrap_or(begun), state)
    }

    /// Other thresholds: a lower one holds for the errors that there are.
    pub(super) fn on_settings(&mut self, settings: &PathSettings) {
        self.active &= self.errors <= settings.max_retrans;
    }

    //= RFC 9260 8.2-1 8.2-2 8.3-4
    /// Something was not answered. Only an error makes it inactive.
    ///
    /// RFC 9260 §8.2: inactive once the counter exceeds Path.Max.Retrans.
    pub(super) fn on_failure(&mut self, error: bool, settings: &PathSettings) {
        self.failures.on_failure();
        //= RFC 9260 8.3-5
        // §8.3: on an inactive address the counter SHOULD stop increasing.
        if self.active && error {
            self.errors += 1;
            if self.errors > settings.max_retrans {
                self.active = false;
            }
        }
    }

    /// An expiration of T3-rtx was found to be spurious: the peer had answered.
    pub(super) const fn on_spurious_timeout(&mut self, profile: &Profile) {
        self.failures.on_spurious_timeout(profile);
    }

    //= RFC 9260 8.2-3 8.3-7 8.3-9 8.3-10
    /// The peer answered over this path.
    pub(super) fn on_answer(&mut self) {
        self.errors = 0;
        self.failures.on_answer();
        self.missed = [0; 2];
        self.owes_since = None;
        self.silent = None;
        self.active = true;
    }

    /// The timer of RFC 9260 has expired here.
    pub(super) fn on_missed(&mut self, pace: Pace) {
        let missed = &mut self.missed[pace as usize];
        *missed = missed.saturating_add(1);
    }

    /// Since when it owes an answer, if it does.
    pub(crate) const fn owes_since(&self) -> Option<Time> {
        self.owes_since
    }

    /// What was sent at `sent` is not answered: how long it has owed an answer, to that or to something before.
    pub(crate) fn owe(&mut self, now: Time, sent: Time) -> Duration {
        now.since(*self.owes_since.get_or_insert(sent))
    }

    /// What it owed was counted.
    pub(crate) fn settle(&mut self) {
        self.owes_since = None;
    }

    /// ICMP says that the destination is unreachable: whether that is believed, which it is once per RTO.
    pub(crate) fn believes_unreachable(&mut self, now: Time, rto: Duration) -> bool {
        let recent = self.unreachable_at.is_some_and(|at| now.since(at) < rto);
        if !recent {
            self.unreachable_at = Some(now);
        }
        !recent
    }

    /// When something was last acknowledged here, or the first packet of the flight left.
    pub(crate) const fn answered(&self) -> Time {
        self.answered
    }

    /// From now on an answer is owed.
    #[inline]
    pub(crate) fn owes_from(&mut self, now: Time) {
        self.answered = now;
    }

    /// Something was acknowledged here.
    #[inline]
    pub(crate) fn on_acked(&mut self, now: Time) {
        self.silences = 0;
        self.owes_from(now);
    }

    /// How often in a row it fell silent, since something was acknowledged here.
    pub(crate) const fn silences(&self) -> u32 {
        self.silences
    }

    /// It owes an answer for too long.
    #[inline]
    pub(crate) const fn is_silent(&self) -> bool {
        self.silent.is_some()
    }

    /// It does, and what was sent at `sent` asked it since.
    pub(crate) fn is_silent_at(&self, sent: Time) -> bool {
        self.silent.is_some_and(|since| sent >= since)
    }

    /// Nobody asks it any more, and its silence says nothing.
    pub(crate) fn end_silence(&mut self) {
        self.silent = None;
    }

    pub(crate) fn fall_silent(&mut self, now: Time) {
        self.silent = Some(now);
        self.silences = self.silences.saturating_add(1);
    }
}

#[cfg(test)]
impl Reachability {
    /// This many things in a row were not answered.
    pub(crate) fn fail(&mut self, errors: u32) {
        self.errors = errors;
        self.failures.set(errors);
    }

    /// Beyond Path.Max.Retrans.
    pub(crate) fn deactivate(&mut self) {
        self.active = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AssociationConfig;

    #[test]
    fn where_a_timeout_was_spurious_one_more_is_not_enough() {
        let settings = PathSettings {
            max_retrans: 2,
            pf_max_retrans: 0,
            ..PathSettings::of(&AssociationConfig::default())
        };
        let mut path = Reachability::new(true);
        path.on_failure(true, &settings);
        assert_eq!(path.state(&settings), PathState::PotentiallyFailed);
        let mut profile = Profile::default();
        path.on_spurious_timeout(&profile);
        assert_eq!(path.state(&settings), PathState::PotentiallyFailed);
        profile.limits.pf_forgives_spurious = true;
        path.on_spurious_timeout(&profile);
        assert_eq!(path.state(&settings), PathState::Active);
        path.on_answer();
        for state in [PathState::Active, PathState::PotentiallyFailed, PathState::Inactive] {
            path.on_failure(true, &settings);
            assert_eq!(path.state(&settings), state);
        }
        // Three errors: another primary path at two, for one is forgiven, and at Path.Max.Retrans where there is no PF state.
        let switch = |ps_max_retrans| PathSettings { ps_max_retrans, ..settings };
        assert!(path.hands_over(&switch(1)) && !path.hands_over(&switch(2)));
        assert!(path.hands_over(&PathSettings { pf_max_retrans: 2, ..switch(2) }));
        // RFC 7829 §3.2 rule 1: with a threshold as high as that of failure, or the highest one, there is no such state.
        let highest = PathSettings { max_retrans: u32::MAX, pf_max_retrans: u32::MAX, ..settings };
        assert_eq!(path.state(&highest), PathState::Inactive);
    }
}
