//! Built-in profiles, overlays, overrides and mistakes in them.

use super::*;
use crate::congestion::Controller;

#[test]
fn every_built_in_profile_loads_and_round_trips() {
    for name in Profile::names() {
        let profile = Profile::named(name).unwrap();
        assert_eq!(profile.name, name);
        assert!(!profile.description.is_empty(), "{name} has no description");
        assert_eq!(profile.with_overrides(&profile.to_toml()).unwrap(), profile);
    }
}

#[test]
fn the_profiles_in_code_are_those_of_the_files() {
    for profile in [Profile::tresse(), Profile::standard()] {
        assert_eq!(*profile, Profile::named(&profile.name).unwrap());
    }
}

#[test]
fn rfc9260_is_the_default_and_follows_section_16() {
    let standard = Profile::named("rfc9260").unwrap();
    let defaults = Profile { description: standard.description.clone(), ..Profile::default() };
    assert_eq!(standard, defaults);
}

#[test]
fn overlays_stand_on_what_is_left_of_them() {
    let alone = Profile::named("early-retransmit-packets").unwrap();
    assert_eq!(alone.fast_retransmit.threshold, 3);
    let on_kernel = Profile::named("lksctp-2.6.15+early-retransmit-packets").unwrap();
    assert_eq!(on_kernel.fast_retransmit.threshold, 4);
    assert!(on_kernel.fast_retransmit.repeat);
    assert!(on_kernel.early_retransmit_packets.enabled && alone.early_retransmit_packets.enabled);
}

#[test]
fn the_last_of_two_congestion_controls_counts() {
    let name = "tresse+lia+rack+cmt-rpv2+limited-transmit";
    let profile = Profile::named(name).unwrap();
    assert_eq!(profile.congestion.algorithm, CongestionAlgorithm::CmtRpv2);
    let alone = Profile::named("tresse+cmt-rpv2+rack+limited-transmit").unwrap();
    let renamed = Profile { name: name.into(), description: profile.description.clone(), ..alone };
    assert_eq!(profile, renamed);
}

/// `RoundRobin` as `round-robin`.
fn kebab(choice: &dyn std::fmt::Debug) -> String {
    let (name, mut kebab) = (format!("{choice:?}"), String::new());
    for c in name.chars() {
        if c.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(c.to_lowercase());
    }
    kebab
}

#[test]
fn every_choice_has_a_profile() {
    let named = |name: &str| Profile::named(name).unwrap_or_else(|error| panic!("{error}"));
    for algorithm in CongestionAlgorithm::ALL {
        assert_eq!(named(&kebab(algorithm)).congestion.algorithm, *algorithm);
    }
    for scheduler in StreamScheduler::ALL {
        let name = format!("stream-{}", kebab(scheduler));
        assert_eq!(named(&name).streams.scheduler, *scheduler);
    }
    // One path after the other, as without concurrent transfer, needs none.
    for scheduler in Scheduler::ALL.iter().filter(|one| **one != Scheduler::Primary) {
        let name = format!("schedule-{}", kebab(scheduler));
        assert_eq!(named(&name).multipath.scheduler, *scheduler);
    }
}

/// Who asks for controls, or for schedulers, gets all of them and nothing else.
#[test]
fn overlays_stand_in_the_section_of_their_kind() {
    let standard = Profile::standard();
    let control = |profile: &Profile| {
        let control = Controller::new(&profile.congestion, 1200, false);
        if control.get().is_coupled() { "concurrent transfer" } else { "control" }
    };
    let sections: [(&str, Vec<&str>); 4] = [
        ("stream scheduler", Profile::stream_schedulers().collect()),
        ("concurrent transfer", Profile::multipath_mechanisms().collect()),
        ("control", Profile::congestion_controls().collect()),
        ("mechanism", Profile::mechanisms().collect()),
    ];
    for (section, names) in &sections {
        for name in names {
            let profile = Profile::named(name).unwrap();
            let kinds = [
                (profile.streams != standard.streams).then_some("stream scheduler"),
                (profile.multipath != standard.multipath).then_some("concurrent transfer"),
                (profile.congestion != standard.congestion).then(|| control(&profile)),
            ];
            for kind in kinds.into_iter().flatten() {
                assert_eq!(kind, *section, "{name} in named.rs");
            }
        }
    }
    let schedulers = StreamScheduler::ALL.iter().map(|one| format!("stream-{}", kebab(one)));
    assert!(sections[0].1.iter().copied().eq(schedulers));
}

//= RFC 9260 6.2-13 6.2-14
#[test]
fn mistakes_are_named() {
    let unknown = Profile::named("rfc9260+warp").unwrap_err().to_string();
    let lists = format!("; `tresse lab profiles` lists all {}", Profile::names().count());
    assert_eq!(unknown, format!("unknown profile \"warp\"{lists}"));
    let misspelt = Profile::named("tresse+f-rta").unwrap_err().to_string();
    assert_eq!(misspelt, format!("unknown profile \"f-rta\": did you mean \"f-rto\"?{lists}"));
    let standard = Profile::standard();
    for (text, word) in [
        ("[rto]\nmin = 3", "no profile parameter rto.min: did you mean rto.min_ms?; `tresse"),
        ("min_ms = 3", "no profile parameter min_ms: did you mean rto.min_ms?; `tresse"),
        ("nonsense.of = { mine = 3 }", "no profile parameter nonsense.of.mine; `tresse"),
        ("rto = 3", "rto"),
        ("[rto]\nmin_ms = 'x'", "min_ms"),
        ("rto = [", "array"),
        ("[sack]\ndelay_ms = 501", "sack.delay_ms"),
        ("[rto]\nmin_ms = nan", "rto.min_ms"),
        ("[rto]\nmin_ms = 70000", "= 70000 is out of range: 0 to rto.max_ms, which is 60000"),
        ("[rto]\nmin_ms = -5", "= -5 is out of range: 0 to rto.max_ms, which is 60000"),
        ("[rto]\nmin_ms = 1e9", "0 to rto.max_ms, which is 60000"),
        ("[rto]\nmax_ms = 0", "rto.max_ms = 0 is out of range: 1 to 3600000 (one hour)"),
        ("[heartbeat]\ninterval_ms = -1", "0 to 3600000 (one hour)"),
        ("[t3_rtx]\nbackoff = 0", "t3_rtx.backoff = 0 is out of range: 1 to 10"),
    ] {
        let error = standard.with_overrides(text).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

//= RFC 7829 3.2-1 6-1
#[test]
fn the_default_profile_fails_over_as_rfc_7829_recommends() {
    // RFC 7829 §6: PFMR is 0.
    assert_eq!(Profile::tresse().limits.pf_max_retrans, 0);
}

//= RFC 9260 16-1 16-2
#[test]
fn the_numbers_of_rfc_9260_section_16() {
    let p = Profile::standard();
    assert_eq!((p.rto.initial_ms, p.rto.min_ms, p.rto.max_ms), (1000.0, 1000.0, 60_000.0));
    assert_eq!((p.rto.alpha, p.rto.beta), (1.0 / 8.0, 1.0 / 4.0));
    let limits = &p.limits;
    assert_eq!((limits.max_burst, limits.cookie_life_ms), (4, 60_000.0));
    assert_eq!((limits.association_max_retrans, limits.path_max_retrans), (10, 5));
    assert_eq!(limits.max_init_retransmits, 8);
    assert_eq!((p.heartbeat.interval_ms, p.heartbeat.max_burst), (30_000.0, 1));
    assert_eq!(p.sack.delay_ms, 200.0);
}
