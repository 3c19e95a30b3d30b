//! Whatever both ends do with their keys, and whatever is lost: no association ends of it, nothing is taken that was authenticated
//! with a key that is not there, and once both have the same keys all that was accepted arrives.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::error::{KeyError, SendError};

/// Numbers from both ends of the range.
const NUMBERS: [u16; 4] = [0, 1, 256, u16::MAX];

#[derive(Clone, Debug)]
enum Step {
    Set(Side, usize, u8),
    Activate(Side, usize),
    Deactivate(Side, usize),
    Delete(Side, usize),
    Send(Side, Option<usize>),
    Run(u64),
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::A), Just(Side::Z)]
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0..NUMBERS.len();
    prop_oneof![
        3 => (side(), number(), 0..3u8).prop_map(|(side, n, secret)| Step::Set(side, n, secret)),
        3 => (side(), number()).prop_map(|(side, n)| Step::Activate(side, n)),
        1 => (side(), number()).prop_map(|(side, n)| Step::Deactivate(side, n)),
        1 => (side(), number()).prop_map(|(side, n)| Step::Delete(side, n)),
        5 => (side(), proptest::option::of(number())).prop_map(|(side, n)| Step::Send(side, n)),
        4 => (1..400u64).prop_map(Step::Run),
    ]
}

/// No bytes at all, some, and more than the length field of a parameter could say.
fn secret(which: u8) -> Vec<u8> {
    vec![which; [0, 20, 70_000][usize::from(which)]]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn keys_in_any_order_end_nothing(
        losses in prop_oneof![Just(0u64), Just(5), Just(20)],
        seed in any::<u64>(),
        steps in vec(step(), 1..60),
    ) {
        let config = asking(&[ChunkType::DATA, ChunkType::SACK]);
        let limits = "[limits]\nassociation_max_retrans = 1000";
        let profile = profile("rfc9260", limits).profile;
        let config = AssociationConfig { profile, ..config };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        let ids = [a, z];
        let mut sent = [0; 2];
        pair.drop = Box::new(move |p| {
            let n = (p.number * 2 + p.from as u64) ^ seed;
            n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33 & 0xffff < losses * 655
        });
        for step in steps {
            let now = pair.now;
            match step {
                Step::Set(side, n, which) => {
                    let set = pair.end(side).set_shared_key(now, ids[side as usize], NUMBERS[n], &secret(which));
                    prop_assert_eq!(set, Ok(()));
                }
                Step::Activate(side, n) => {
                    let result = pair.end(side).activate_shared_key(now, ids[side as usize], NUMBERS[n]);
                    let refused = matches!(result, Err(KeyError::Unknown { .. } | KeyError::Deactivated { .. }));
                    prop_assert!(result.is_ok() || refused, "{:?}", result);
                }
                Step::Deactivate(side, n) => {
                    let result = pair.end(side).deactivate_shared_key(now, ids[side as usize], NUMBERS[n]);
                    let refused = matches!(result, Err(KeyError::Unknown { .. } | KeyError::Active { .. }));
                    prop_assert!(result.is_ok() || refused, "{:?}", result);
                }
                Step::Delete(side, n) => {
                    let result = pair.end(side).delete_shared_key(now, ids[side as usize], NUMBERS[n]);
                    let refused = matches!(result, Err(KeyError::Unknown { .. } | KeyError::Active { .. }));
                    prop_assert!(result.is_ok() || refused, "{:?}", result);
                }
                Step::Send(side, n) => {
                    let key = n.map(|n| NUMBERS[n]);
                    let options = SendOptions { key, ..SendOptions::default() };
                    let message = vec![7; 300].into();
                    let info = pair.end(side).authentication(ids[side as usize]).unwrap();
                    let there = key.is_none_or(|key| info.keys.contains(&key) && !info.deactivated_keys.contains(&key));
                    let result = pair.end(side).send(now, ids[side as usize], StreamId(0), message, options);
                    prop_assert_eq!(result.is_ok(), there, "{:?}", result);
                    if let Err(error) = result {
                        prop_assert_eq!(error, SendError::NoKey { key: key.unwrap() });
                    } else {
                        sent[side as usize] += 1;
                    }
                }
                Step::Run(span) => pair.run(ms(span)),
            }
        }
        // They agree at last.
        pair.drop = Box::new(|_| false);
        let now = pair.now;
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            for number in NUMBERS {
                pair.end(side).set_shared_key(now, id, number, b"agreed").unwrap();
            }
            pair.end(side).activate_shared_key(now, id, 1).unwrap();
        }
        pair.run(secs(300));
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            prop_assert_eq!(pair.closed(side), None);
            prop_assert_eq!(pair.recv_all(side, id).len(), sent[side.other() as usize]);
            prop_assert_eq!(pair.end(side).stats(id).unwrap().send_buffered, 0);
        }
    }
}
