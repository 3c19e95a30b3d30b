//! What each scheduler chooses.

use super::*;

const MSS: usize = 1000;

fn path(id: u8, rtt_ms: u64, open: bool) -> PathView {
    PathView {
        id: PathId(id),
        open,
        srtt: Duration::from_millis(rtt_ms),
        rttvar: Duration::from_millis(1),
        cwnd: 10 * MSS,
        ssthresh: usize::MAX,
        loss: 0.0,
        flight: if open { 0 } else { 10 * MSS },
        rate: 10.0 * MSS as f64 / (rtt_ms as f64 / 1e3),
    }
}

fn view(paths: &[PathView]) -> View<'_> {
    View { paths, primary: PathId(0), queued: 100 * MSS, window: 1000 * MSS, mss: MSS, blocked: 0 }
}

fn choose(which: profile::Scheduler, view: &View<'_>) -> Option<u8> {
    Scheduler::new(which).choose(view).map(|id| id.0)
}

#[test]
fn primary_keeps_to_it() {
    let paths = [path(0, 100, true), path(1, 10, true)];
    assert_eq!(choose(profile::Scheduler::Primary, &view(&paths)), Some(0));
    let paths = [path(0, 100, false), path(1, 10, true)];
    assert_eq!(choose(profile::Scheduler::Primary, &view(&paths)), None);
    let paths = [path(1, 10, true)];
    assert_eq!(choose(profile::Scheduler::Primary, &view(&paths)), Some(1), "it has failed");
}

#[test]
fn round_robin_takes_turns_and_passes_over_what_is_full() {
    let all = [path(0, 10, true), path(1, 10, true), path(2, 10, true)];
    let mut scheduler = Scheduler::new(profile::Scheduler::RoundRobin);
    let turns: Vec<_> = (0..4).map(|_| scheduler.choose(&view(&all)).unwrap().0).collect();
    assert_eq!(turns, [0, 1, 2, 0]);
    let full = [path(0, 10, true), path(1, 10, false), path(2, 10, true)];
    assert_eq!(scheduler.choose(&view(&full)), Some(PathId(2)));
}

#[test]
fn min_rtt_takes_the_fastest_open_path() {
    let paths = [path(0, 30, true), path(1, 10, false), path(2, 20, true)];
    assert_eq!(choose(profile::Scheduler::MinRtt, &view(&paths)), Some(2));
}

#[test]
fn ecf_waits_for_the_fast_path_only_if_that_is_sooner() {
    // 5 messages: a second round of the fast path takes 20 ms, the slow path 100 ms.
    let paths = [path(0, 10, false), path(1, 100, true)];
    let few = View { queued: 5 * MSS, ..view(&paths) };
    assert_eq!(choose(profile::Scheduler::Ecf, &few), None);
    // 1000 messages keep both busy for long.
    let many = View { queued: 1000 * MSS, ..view(&paths) };
    assert_eq!(choose(profile::Scheduler::Ecf, &many), Some(1));
}

#[test]
fn blest_leaves_out_a_path_that_would_fill_the_window() {
    let paths = [path(0, 10, false), path(1, 100, true)];
    // During 100 ms the fast path sends 10 windows of 10 packets and some.
    let narrow = View { window: 100 * MSS, ..view(&paths) };
    assert_eq!(choose(profile::Scheduler::Blest, &narrow), None);
    let wide = View { window: 200 * MSS, ..view(&paths) };
    assert_eq!(choose(profile::Scheduler::Blest, &wide), Some(1));
}

#[test]
fn blest_all_counts_what_every_other_path_would_send() {
    // The narrow path is the fastest, and what is in flight there takes 100 ms.
    let narrow = PathView { rate: 1e5, flight: 9 * MSS, ..path(0, 10, true) };
    let wide = PathView { rate: 5e6, ..path(1, 50, true) };
    let paths = [narrow, wide];
    let at = |window| choose(profile::Scheduler::BlestAll, &View { window, ..view(&paths) });
    // The wide one sends 500 kB meanwhile.
    assert_eq!(at(600 * MSS), Some(0));
    assert_eq!(at(500 * MSS), Some(1));
    // It is never left out, whatever blocks it.
    assert_eq!(at(1), Some(1));
    let full = [narrow, PathView { open: false, ..wide }];
    let view = View { window: 500 * MSS, ..view(&full) };
    assert_eq!(choose(profile::Scheduler::BlestAll, &view), None);
}

#[test]
fn redundant_copies_thin_streams_only() {
    let paths = [path(0, 10, true), path(1, 100, true)];
    let mut scheduler = Scheduler::new(profile::Scheduler::Redundant);
    assert!(scheduler.duplicates(false).is_none());
    assert!(scheduler.duplicates(true).is_some());
    assert_eq!(scheduler.choose(&view(&paths)), Some(PathId(0)));
}

#[test]
fn nobody_waits_for_a_path_that_has_nothing_in_flight() {
    let mut slow = path(1, 1000, true);
    slow.flight = 0;
    let mut fast = path(0, 1, false);
    fast.flight = 0;
    let paths = [fast, slow];
    let view = View { queued: MSS, window: 0, ..view(&paths) };
    for which in [profile::Scheduler::Ecf, profile::Scheduler::Blest] {
        assert_eq!(choose(which, &view), Some(1), "{which:?}");
    }
}
