//! What holds for every controller.

use super::coupled::Limits;
use super::*;
use crate::profile::InitialWindow;
use crate::rng::Rng;

/// A floor of four packets of 1000 bytes.
pub(super) const LIMITS: Limits = Limits { half: 12_345, floor: 4000 };

pub(super) fn path(cwnd: f64, ssthresh: f64, rtt: f64) -> CoupledPath {
    CoupledPath { cwnd, ssthresh, rtt, between_losses: 0.0 }
}

pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

const COUPLED: [CongestionAlgorithm; 5] = [
    CongestionAlgorithm::CmtRpv1,
    CongestionAlgorithm::CmtRpv2,
    CongestionAlgorithm::Lia,
    CongestionAlgorithm::Olia,
    CongestionAlgorithm::Balia,
];

const PMDCS: usize = 1468;

fn controller(algorithm: CongestionAlgorithm) -> Controller {
    let parameters = CongestionParameters {
        algorithm,
        initial_window: InitialWindow::Rfc9260,
        ..CongestionParameters::default()
    };
    Controller::new(&parameters, PMDCS, false)
}

fn view(control: &dyn CongestionControl, rtt: f64) -> CoupledPath {
    CoupledPath {
        cwnd: control.cwnd() as f64,
        ssthresh: control.ssthresh().min(1 << 20) as f64,
        rtt,
        between_losses: control.between_losses() as f64,
    }
}

/// Something happens to a controller; `choice` says what.
fn happen(control: &mut dyn CongestionControl, choice: u64, coupled: Coupled<'_>) {
    match choice % 64 {
        0 => control.on_loss(&coupled),
        1 => control.on_timeout(choice % 128 == 1, &coupled),
        2 => control.on_idle(),
        3 => control.set_window(20_000, 15_000),
        n => control.on_ack(&AckFacts {
            bytes: (choice >> 8) as usize % 5000,
            // Most often the window was used.
            flight_before: if n < 8 { 1000 } else { usize::MAX },
            cumulative_advanced: n % 3 > 0,
            in_fast_recovery: n == 9,
            all_acked: n == 10,
            coupled,
            ..AckFacts::default()
        }),
    }
}

#[test]
fn after_a_loss_nothing_grows_uncoupled() {
    let others = [path(14_680.0, 14_680.0, 0.1)];
    for (algorithm, others, grown) in [
        (CongestionAlgorithm::Lia, &others[..], 0),
        (CongestionAlgorithm::Olia, &others[..], 0),
        (CongestionAlgorithm::Balia, &others[..], 0),
        // RFC 9260 §7.2.1: cwnd <= ssthresh is slow start.
        (CongestionAlgorithm::Lia, &[], PMDCS),
        (CongestionAlgorithm::Rfc9260, &others[..], PMDCS),
    ] {
        let mut controller = controller(algorithm);
        let control = controller.get_mut();
        control.set_window(29_360, 100_000);
        let own = view(control, 0.1);
        control.on_loss(&Coupled { own, others });
        assert_eq!((control.cwnd(), control.ssthresh()), (14_680, 14_680), "{algorithm:?}");
        control.on_ack(&AckFacts {
            bytes: PMDCS,
            flight_before: usize::MAX,
            cumulative_advanced: true,
            coupled: Coupled { own: view(control, 0.1), others },
            ..AckFacts::default()
        });
        assert_eq!(control.cwnd(), 14_680 + grown, "{algorithm:?}");
    }
}

#[test]
fn with_one_path_each_is_rfc9260() {
    for algorithm in COUPLED {
        for seed in 0..20 {
            let mut rng = Rng::from_seed([seed; 32]);
            let mut plain = controller(CongestionAlgorithm::Rfc9260);
            let mut control = controller(algorithm);
            for step in 0..500 {
                let choice = rng.next_u64();
                let rtt = 0.001 + (choice % 1000) as f64 / 1000.0;
                let own = view(control.get(), rtt);
                happen(control.get_mut(), choice, Coupled { own, others: &[] });
                happen(plain.get_mut(), choice, Coupled::default());
                let (a, b) = (control.get(), plain.get());
                let (a, b) = ([a.cwnd(), a.ssthresh()], [b.cwnd(), b.ssthresh()]);
                let same = a[0].abs_diff(b[0]) <= 1 && a[1].abs_diff(b[1]) <= 1;
                assert!(same, "{algorithm:?}, seed {seed}, step {step}: {a:?} but {b:?}");
            }
        }
    }
}

#[test]
fn windows_stay_within_reason_beside_any_others() {
    for algorithm in COUPLED {
        let mut rng = Rng::from_seed([7; 32]);
        let mut controls = [(); 3].map(|()| controller(algorithm));
        for _ in 0..20_000 {
            let choice = rng.next_u64();
            let i = (choice >> 32) as usize % 3;
            let views = [0, 1, 2].map(|n| view(controls[n].get(), [1e-6, 0.05, 60.0][n]));
            let others = [views[(i + 1) % 3], views[(i + 2) % 3]];
            let before = controls[i].get().cwnd();
            let control = controls[i].get_mut();
            happen(control, choice, Coupled { own: views[i], others: &others });
            assert!(control.cwnd() >= PMDCS, "{algorithm:?}");
            assert!(control.ssthresh() >= PMDCS, "{algorithm:?}");
            // OLIA's second term may add as much again.
            let limit = (before + 2 * PMDCS).max(20_000);
            assert!(control.cwnd() <= limit, "{algorithm:?}: {} after {before}", control.cwnd());
        }
    }
}

/// Who loses in a bottleneck.
#[derive(Clone, Copy)]
enum Loss {
    /// Where all windows together exceed this many bytes, a packet that finds the queue full belongs to a path
    /// in proportion to its window.
    Full(usize),
    /// Every packet, with this probability.
    Random(f64),
}

/// The windows of two paths that share a bottleneck with a single flow, as a multiple of its window.
fn shared_bottleneck(algorithm: CongestionAlgorithm, loss: Loss) -> f64 {
    const ROUNDS: usize = 100_000;
    let mut rng = Rng::from_seed([1; 32]);
    // Two paths of ours, and a single flow of another.
    let mut controls = [algorithm, algorithm, CongestionAlgorithm::Rfc9260].map(controller);
    for control in &mut controls {
        control.get_mut().set_window(10 * PMDCS, 5 * PMDCS);
    }
    let mut sums = [0usize; 2];
    for round in 0..ROUNDS {
        for i in 0..3 {
            let views = [0, 1, 2].map(|n| view(controls[n].get(), 0.1));
            let others = if i < 2 { &views[1 - i..2 - i] } else { &[] };
            let coupled = Coupled { own: views[i], others };
            let total: usize = controls.iter().map(|c| c.get().cwnd()).sum();
            let cwnd = controls[i].get().cwnd();
            let hit = match loss {
                Loss::Full(queue) => total > queue && rng.next_u64() as usize % total < cwnd,
                Loss::Random(p) => rng.next_f64() > (1.0 - p).powf(cwnd as f64 / PMDCS as f64),
            };
            if hit {
                controls[i].get_mut().on_loss(&coupled);
            } else {
                controls[i].get_mut().on_ack(&AckFacts {
                    bytes: cwnd,
                    flight_before: cwnd,
                    cumulative_advanced: true,
                    coupled,
                    ..AckFacts::default()
                });
            }
        }
        if round > 1000 {
            sums[0] += controls[0].get().cwnd() + controls[1].get().cwnd();
            sums[1] += controls[2].get().cwnd();
        }
    }
    sums[0] as f64 / sums[1] as f64
}

#[test]
fn coupled_paths_share_a_bottleneck_more_fairly_than_uncoupled_ones() {
    let full = Loss::Full(100 * PMDCS);
    let uncoupled = shared_bottleneck(CongestionAlgorithm::Rfc9260, full);
    assert!((1.8..2.2).contains(&uncoupled), "two flows against one: {uncoupled}");
    for algorithm in COUPLED {
        let share = shared_bottleneck(algorithm, full);
        assert!(share < 1.5, "{algorithm:?}: {share}");
        assert!(share > 0.5, "{algorithm:?}: {share}");
    }
}

#[test]
fn with_one_loss_rate_they_take_what_their_equations_say() {
    // The means of OLIA's equations are those of one flow. LIA and BALIA reckon with the best path
    // of the moment, which is above the mean while the windows are out of step.
    for (algorithm, least, most) in [
        (CongestionAlgorithm::Rfc9260, 1.95, 2.05),
        (CongestionAlgorithm::CmtRpv2, 1.0, 1.13),
        (CongestionAlgorithm::Lia, 1.05, 1.15),
        (CongestionAlgorithm::Olia, 0.95, 1.06),
        (CongestionAlgorithm::Balia, 1.0, 1.11),
    ] {
        let share = shared_bottleneck(algorithm, Loss::Random(0.002));
        assert!((least..most).contains(&share), "{algorithm:?}: {share}");
    }
}
