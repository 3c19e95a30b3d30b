//! Whatever both ends ask for, and whatever the wire loses and delays: each message arrives once and in its order, both ends
//! agree on the addresses in the end, and everything comes to an end.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const NETS: u8 = 5;

#[derive(Clone, Debug)]
enum Step {
    Send(Side, u8),
    Change(Side, AddressChange, u8),
    Run(u64),
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::A), Just(Side::Z)]
}

fn step() -> impl Strategy<Value = Step> {
    let changes = prop_oneof![
        3 => Just(AddressChange::Add),
        3 => Just(AddressChange::Delete),
        1 => Just(AddressChange::SetPrimary)
    ];
    prop_oneof![
        4 => (side(), 1..20u8).prop_map(|(side, n)| Step::Send(side, n)),
        5 => (side(), changes, 0..NETS).prop_map(|(side, c, net)| Step::Change(side, c, net)),
        4 => (1..700u64).prop_map(Step::Run),
    ]
}

fn address(side: Side, net: u8) -> IpAddr {
    if side == Side::A { a(net) } else { z(net) }
}

fn play(config: &AssociationConfig, losses: u64, seed: u64, steps: &[Step]) {
    let (mut pair, id, peer) = Pair::connected(config, 2);
    let draw = move |n: u64, salt: u64| {
        let mut x = (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
        x ^= x >> 31;
        x.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
    };
    pair.drop = Box::new(move |p| draw(p.number * 2 + p.from as u64, 1) % 100 < losses);
    pair.detour = Box::new(move |p| ms(draw(p.number * 2 + p.from as u64, 2) % 40));
    let ids = [id, peer];
    let mut sent = [0u32; 2];
    for step in steps {
        match step {
            Step::Send(side, count) => {
                for _ in 0..*count {
                    let n = &mut sent[*side as usize];
                    let payload = numbered(*n);
                    *n += 1;
                    pair.send(*side, ids[*side as usize], 0, payload);
                }
            }
            Step::Change(side, what, net) => {
                let _ = change(&mut pair, *side, ids[*side as usize], *what, address(*side, *net));
            }
            Step::Run(span) => pair.run(ms(*span)),
        }
    }
    pair.drop = Box::new(|_| false);
    pair.run(secs(200));
    for side in [Side::A, Side::Z] {
        let (own, other) = (ids[side as usize], ids[side.other() as usize]);
        assert!(pair.closed(side).is_none(), "{:?}", pair.closed(side));
        let got = numbers(&pair.recv_all(side, own));
        assert_eq!(got, (0..sent[side.other() as usize]).collect::<Vec<_>>(), "{side:?}");
        let mut known = locals(&mut pair, side, own);
        let mut seen = remotes(&mut pair, side.other(), other);
        known.sort();
        seen.sort();
        assert_eq!(known, seen, "{side:?}");
        assert_eq!(pair.end(side).stats(own).unwrap().send_buffered, 0);
    }
    pair.shutdown(Side::A, id);
    pair.run(secs(60));
    for side in [Side::A, Side::Z] {
        assert_eq!(pair.closed(side), Some(&CloseReason::Shutdown));
    }
}

/// What T3-rtx had declared lost was found not to be, when the path that it was sent on was gone.
#[test]
fn what_was_sent_to_a_deleted_address_is_not_in_flight_again() {
    let extensions =
        Extensions { authentication: true, address_reconfiguration: true, ..Extensions::default() };
    let config = AssociationConfig { extensions, ..AssociationConfig::default() };
    let steps =
        [Step::Send(Side::A, 4), Step::Run(222), Step::Change(Side::Z, AddressChange::Delete, 0)];
    play(&config, 20, 5_014_477_533_252_288_160, &steps);
}

/// Both delete all that the other one knows, each adds one address, and an answer is lost: heartbeats alone may leave, and those
/// from an address that the peer has deleted reach nobody.
#[test]
fn what_the_peer_sends_to_was_added_though_its_answer_was_lost() {
    use AddressChange::{Add, Delete, SetPrimary};
    use Side::{A, Z};
    use Step::{Change, Run, Send};
    let steps = [
        Change(A, SetPrimary, 0),
        Run(85),
        Send(A, 24),
        Change(Z, Delete, 1),
        Change(A, Add, 2),
        Send(A, 16),
        Send(Z, 18),
        Run(198),
        Send(Z, 35),
        Run(102),
        Send(A, 9),
        Change(Z, Add, 2),
        Send(Z, 7),
        Change(A, Delete, 1),
        Change(Z, Delete, 0),
        Change(A, Delete, 0),
        Run(717),
    ];
    play(&config(), 20, 2_702_446_190_257_339_207, &steps);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn messages_and_addresses_survive(
        losses in prop_oneof![Just(0u64), Just(5), Just(20)],
        concurrent in any::<bool>(),
        seed in any::<u64>(),
        steps in vec(step(), 1..60),
    ) {
        let config = AssociationConfig { concurrent_transfer: concurrent, trace: false, ..config() };
        play(&config, losses, seed, &steps);
    }

    #[test]
    fn so_they_do_with_the_default_profile(
        losses in prop_oneof![Just(0u64), Just(5), Just(20)],
        seed in any::<u64>(),
        steps in vec(step(), 1..60),
    ) {
        let extensions = Extensions { authentication: true, address_reconfiguration: true, ..Extensions::default() };
        let config = AssociationConfig { extensions, ..AssociationConfig::default() };
        play(&config, losses, seed, &steps);
    }
}
