//! Whatever the wire loses, delays, marks and clears: each message arrives, no window is cut twice in a round trip, and a
//! mark costs no retransmission.

use proptest::prelude::*;

use super::*;
use crate::ids::WindowCause;

fn draw(n: u64, salt: u64, seed: u64) -> u64 {
    let mut x = (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
    x ^= x >> 31;
    x.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_window_is_cut_once_per_round_trip(
        seed in any::<u64>(),
        losses in 0..6u64,
        marks in 0..60u64,
        cleared in 0..20u64,
        jitter in 1..30u64,
        concurrent in any::<bool>(),
        theirs in any::<bool>(),
    ) {
        let base = AssociationConfig { concurrent_transfer: concurrent, ..bursty() };
        let config = with_ecn(base.clone());
        let mut pair = Pair::new(if theirs { &config } else { &base }, 2);
        let (a, z) = pair.connect(&config);
        pair.drop = Box::new(move |p| draw(p.number * 2 + p.from as u64, 1, seed) % 100 < losses);
        pair.detour =
            Box::new(move |p| ms(draw(p.number * 2 + p.from as u64, 2, seed) % jitter));
        pair.mark = Box::new(move |p| {
            let n = draw(p.number * 2 + p.from as u64, 3, seed) % 100;
            match p.to.ecn {
                Ecn::NotEct => Ecn::NotEct,
                _ if n < marks => Ecn::Ce,
                _ if n < marks + cleared => Ecn::NotEct,
                ecn => ecn,
            }
        });
        for _ in 0..120 {
            pair.send(Side::A, a, 0, vec![1; 1000]);
        }
        pair.run(secs(300));
        prop_assert_eq!(pair.recv_all(Side::Z, z).len(), 120);
        let stats = pair.end(Side::A).stats(a).unwrap();
        let received = pair.end(Side::Z).stats(z).unwrap().ce_packets_received;
        prop_assert!(stats.congestion_marks <= received);
        prop_assert!(stats.ecn_echoes_ignored == 0 || jitter > 1);
        if !theirs {
            prop_assert_eq!((stats.ect_packets_sent, received), (0, 0));
        }
        if losses == 0 && jitter < 5 {
            prop_assert_eq!(stats.timeouts, 0);
        }
        // Between two cuts of a path by marks, something that was sent after the first is acknowledged: no less than the
        // shortest round trip is between them.
        let mut last = [Time::ZERO; 2];
        let traces: Vec<_> = std::iter::from_fn(|| pair.end(Side::A).poll_trace()).collect();
        for (_, at, event) in traces {
            if let TraceEvent::Window { path, cause: WindowCause::Mark, .. } = event {
                let before = std::mem::replace(&mut last[usize::from(path.0)], at);
                prop_assert!(before == Time::ZERO || at.since(before) >= ms(20));
            }
        }
    }
}
