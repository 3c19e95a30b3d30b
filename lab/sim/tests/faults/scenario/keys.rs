//! Shared keys (RFC 4895 §6.1, RFC 6458 §5.3.8) in scenarios of any extensions: each end wants user data authenticated, messages name
//! their keys, and addresses, secrets change in the middle, keys come late, and now and then the ends know different secrets. All else
//! stays as it is.

use std::sync::Arc;

use tresse_core::wire::ChunkType;
use tresse_core::{SharedKeys, Time};
use tresse_sim::Draw;

use super::authentication::secret;
use super::{Call, MIXED, NASTY, Scenario, extensions, nasty};

/// Seeds from here on have keys; less this number they are those of the mixed or nasty scenarios that they are made from.
pub(crate) const KEYED: u64 = 1 << 43;

/// Numbers of keys that are drawn from: small ones, and those at the ends of the range.
const NUMBERS: [u16; 7] = [0, 1, 2, 3, 255, 256, u16::MAX];

/// What every end wants authenticated, in any form.
const DATA: [ChunkType; 2] = [ChunkType::DATA, ChunkType::I_DATA];

/// What strangers could end or move an association with.
const REST: [ChunkType; 4] =
    [ChunkType::FORWARD_TSN, ChunkType::I_FORWARD_TSN, ChunkType::SACK, ChunkType::RE_CONFIG];

/// One of those.
pub(super) fn keyed(seed: u64) -> Scenario {
    let mut draw = Draw::new(seed ^ 0xe7e5_10f5_4895_0043);
    let base = seed - KEYED;
    let hard = draw.chance(0.3);
    let scenario = if hard { nasty::nasty(NASTY + base) } else { extensions::mixed(MIXED + base) };
    scenario.extend().keys(&mut draw)
}

impl Scenario {
    fn keys(mut self, draw: &mut Draw) -> Scenario {
        let numbers: Vec<u16> = NUMBERS.into_iter().filter(|_| draw.chance(0.6)).collect();
        let numbers = if numbers.is_empty() { vec![0] } else { numbers };
        if draw.chance(0.1) {
            // Nobody promises anything then, but that nothing is taken.
            (self.mild, self.steady, self.strangers) = (false, false, true);
            self.features.insert("ends with different secrets");
        }
        let calm = self.calm();
        let active = numbers[draw.index(numbers.len())];
        for host in 0..2 {
            self.salt(host);
            let plan = &mut self.hosts[host];
            plan.config.extensions.authentication = true;
            let mut authentication = (*plan.config.authentication).clone();
            let wanted = &mut authentication.chunks;
            let rest = REST.into_iter().filter(|_| draw.chance(0.3));
            wanted.extend(DATA.into_iter().chain(rest));
            wanted.sort_unstable_by_key(|kind| kind.0);
            wanted.dedup();
            let mut keys = SharedKeys::default();
            keys.set(active, &secret(active, plan.salt)).expect("a key");
            keys.activate(active).expect("it is there");
            if active != 0 {
                keys.delete(0).expect("it is not the active one");
            }
            // The number 0 may name no key at all, and so may others: what is set later comes too late for some of the
            // packets of the peer.
            for number in &numbers {
                if calm || draw.chance(0.8) {
                    keys.set(*number, &secret(*number, plan.salt)).expect("a key");
                } else {
                    let at = Time::from_micros(draw.log_whole(1_000, 5_000_000));
                    plan.calls.push((at, Call::SetKey(*number)));
                    self.features.insert("key comes late");
                }
            }
            authentication.keys = keys;
            authentication.required = draw.chance(0.3);
            plan.config.authentication = Arc::new(authentication);
            // The calls of before are about other keys.
            plan.calls.retain(|(_, call)| !call.is_about_keys() || matches!(call, Call::SetKey(_)));
            plan.calls.retain(|(_, call)| match call {
                Call::SetKey(key) => numbers.contains(key),
                _ => true,
            });
            for _ in 0..draw.between(0, 15) {
                let at = Time::from_micros(draw.log_whole(1_000, 12_000_000));
                let key = numbers[draw.index(numbers.len())];
                let call = match draw.between(0, 9) {
                    0 => Call::SetKey(key),
                    1 if !calm => Call::DeleteKey(key),
                    1 | 2 => Call::DeactivateKey(key),
                    _ => Call::ActivateKey(key),
                };
                plan.calls.push((at, call));
            }
            let (names, aims) = (draw.pick(&[0.0, 0.3, 1.0]), draw.pick(&[0.0, 0.0, 0.5]));
            for message in &mut plan.traffic {
                if draw.chance(names) {
                    let strange = draw.chance(0.02);
                    message.key =
                        Some(if strange { 7 } else { numbers[draw.index(numbers.len())] });
                    self.features.insert("messages name keys");
                }
                if draw.chance(aims) {
                    message.to = Some(draw.between(0, 3) as u8);
                    self.features.insert("messages name addresses");
                }
            }
        }
        if !self.strangers && !calm && draw.chance(0.5) {
            self.change_secrets(draw, &numbers);
        }
        self
    }

    /// The second one of strangers has secrets of its own.
    fn salt(&mut self, host: usize) {
        self.hosts[host].salt = u8::from(self.strangers && host == 1);
    }

    /// Both ends change the secret of a key, not at the same moment.
    fn change_secrets(&mut self, draw: &mut Draw, numbers: &[u16]) {
        for salt in 2..2 + draw.between(1, 3) as u8 {
            let key = numbers[draw.index(numbers.len())];
            let at = draw.log_whole(1_000, 8_000_000);
            for host in &mut self.hosts {
                let at = Time::from_micros(at + draw.log_whole(1, 2_000_000));
                host.calls.push((at, Call::NewSecret(key, salt)));
            }
        }
        self.features.insert("secret changed in the middle");
    }
}
