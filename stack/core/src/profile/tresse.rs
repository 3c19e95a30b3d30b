//! The profile `tresse` as code, for those who do without TOML: what it has other than RFC 9260. Why is said in
//! `profiles/tresse.toml` and in the overlays that it joins; a test compares both.

use super::*;

impl Profile {
    /// The profile `tresse`: the default of an association.
    pub fn tresse() -> Arc<Profile> {
        static TRESSE: OnceLock<Arc<Profile>> = OnceLock::new();
        Arc::clone(TRESSE.get_or_init(|| Arc::new(profile())))
    }
}

/// What `profiles/tresse.toml` says.
fn profile() -> Profile {
    let mut profile = Profile {
        name: "tresse".into(),
        description:
            "The project's own: what helps from all of them, one setting for every workload".into(),
        ..Profile::default()
    };
    profile.congestion.algorithm = CongestionAlgorithm::Lia;
    profile.congestion.halve_at_every_timeout = false;
    profile.congestion.fill_packet_after_timeout = true;
    profile.congestion.overloaded_floor = 2.0;
    profile.limits.pf_max_retrans = 0;
    profile.limits.pf_forgives_spurious = true;
    profile.limits.patience = true;
    find_losses(&mut profile);
    time(&mut profile);
    bundle(&mut profile);
    profile.prr.enabled = true;
    profile.budget.enabled = true;
    detect_spurious(&mut profile);
    profile.streams.scheduler = StreamScheduler::FairCapacity;
    profile.streams.reserve = 0.125;
    profile.multipath.scheduler = Scheduler::Blest;
    profile.multipath.queue_limit_packets = 10;
    profile.multipath.pacing = 1.05;
    profile.multipath.retransmission = RetransmissionPolicy::Earliest;
    profile.multipath.fast_retransmit_again = true;
    profile.multipath.silent_path = true;
    profile
}

fn find_losses(profile: &mut Profile) {
    profile.rack.enabled = true;
    profile.rack.count_while_app_limited = true;
    profile.tail_loss_probe.enabled = true;
    profile.tail_loss_probe.trust_immediate_sack = true;
    profile.early_retransmit_packets.enabled = true;
    profile.early_retransmit_switch_off.enabled = true;
    profile.limited_transmit.enabled = true;
    profile.limited_transmit.only_thin = true;
    profile.thin_fast_retransmit.enabled = true;
}

fn time(profile: &mut Profile) {
    profile.thin_rto_min.enabled = true;
    profile.thin_no_backoff.enabled = true;
    profile.thin_no_backoff.expirations = 4;
    profile.rto_restart.enabled = true;
    profile.sack.ask_when_idle = true;
}

fn bundle(profile: &mut Profile) {
    profile.bundle_fast_retransmit.enabled = true;
    profile.bundle_fast_retransmit.overdue_only = true;
    profile.bundle_new.enabled = true;
    profile.bundle_new.overdue_only = true;
    profile.bundle_new.overdue_rttvar = 1.0;
}

fn detect_spurious(profile: &mut Profile) {
    profile.eifel_retransmit_bit.enabled = true;
    profile.dup_tsn.enabled = true;
    profile.f_rto.enabled = true;
    // With 4 a delay spike of Ladha et al. Fig. 14 (a) on a narrow link passes for a queue, and costs 3 %.
    profile.spurious_response.standing_queue = 8.0;
}
