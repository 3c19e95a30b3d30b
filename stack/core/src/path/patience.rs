//! What is not answered on one path, and when that is an error of it (`send/patience.rs`).

use std::time::Duration;

use super::{Pace, Path};
use crate::profile::Profile;
use crate::time::Time;

impl Path {
    /// The RTO after which something that is not answered is an error.
    pub(crate) fn error_rto(&self, profile: &Profile) -> Duration {
        if profile.limits.patience {
            self.rtt.standard_rto(profile, Pace::Error)
        } else {
            self.rto()
        }
    }

    /// How long nothing is sent until cwnd decays: RTO. Where timers are shorter than RFC 9260's, that is RTO as
    /// RFC 9260 has it: otherwise a thin stream would have lost its window by the time a queue builds up.
    pub(crate) fn idle_after(&self, profile: &Profile) -> Duration {
        if profile.limits.patience { self.rtt.standard_rto(profile, Pace::Try) } else { self.rto() }
    }

    /// A heartbeat on a path that is asked more often than by RFC 9260: how long it waits for its answer, which
    /// is not delayed as a SACK may be. No longer than until it is an error of the path.
    pub(crate) fn asking_wait(&self, now: Time, rto: Duration, profile: &Profile) -> Duration {
        if !profile.limits.patience {
            return rto;
        }
        let since = self.reachability.owes_since().unwrap_or(now);
        let due = since + self.rtt.standard_rto(profile, Pace::Try);
        rto.min(due.since(now).max(2 * self.rtt.srtt().unwrap_or(rto)))
    }

    /// A heartbeat that was sent at `sent` is not answered: whether that is an error of the path. It is one
    /// once the path has owed an answer for as long as RFC 9260 would have waited.
    pub(crate) fn is_heartbeat_error(&mut self, now: Time, sent: Time, profile: &Profile) -> bool {
        let rto = self.rtt.standard_rto(profile, Pace::Try);
        let late = self.reachability.owe(now, sent) >= rto;
        if late {
            self.back_off_standard(Pace::Try);
            self.reachability.settle();
        }
        late
    }

    /// T3-rtx expired for data that was sent at `sent`: whether it is an error of the path. Each `error` of the
    /// association is. And so is one once the path has owed an answer for as long as RFC 9260 would have
    /// waited, to whatever was sent meanwhile, and even if other paths have answered: they must not keep one
    /// alive where nothing comes through. `on_time`: RFC 9260 would have tried again by now.
    pub(crate) fn is_timeout_error(
        &mut self,
        now: Time,
        sent: Time,
        profile: &Profile,
        error: bool,
        on_time: bool,
    ) -> bool {
        if error || !profile.limits.patience {
            self.reachability.settle();
            return true;
        }
        let late = self.reachability.owe(now, sent) >= self.rtt.standard_rto(profile, Pace::Error);
        if late {
            self.back_off_standard(Pace::Error);
            if !on_time {
                self.back_off_standard(Pace::Try);
            }
            self.reachability.settle();
        }
        late
    }
}
