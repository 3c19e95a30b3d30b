//! Authenticated chunks (RFC 4895) in scenarios that had none: whether each end offers them, what it asks for, and keys
//! that change while data is in flight. Both ends know all keys from the beginning, as they must.

use std::sync::Arc;

use tresse_core::wire::{ChunkType, HmacIdentifier};
use tresse_core::{Authentication, SharedKeys, Time};
use tresse_sim::Draw;

use super::{Call, Scenario};

/// Keys at most, beside number 0.
const KEYS: u64 = 4;

/// What an end may ask for, whatever happens.
const ALWAYS: [ChunkType; 12] = [
    ChunkType::DATA,
    ChunkType::SACK,
    ChunkType::HEARTBEAT,
    ChunkType::HEARTBEAT_ACK,
    ChunkType::SHUTDOWN,
    ChunkType::SHUTDOWN_ACK,
    ChunkType::COOKIE_ECHO,
    ChunkType::COOKIE_ACK,
    ChunkType::RE_CONFIG,
    ChunkType::FORWARD_TSN,
    ChunkType::NR_SACK,
    ChunkType::PAD,
];

/// What strangers send as well: of a peer that has lost the association, or does not have it yet.
const HARSH: [ChunkType; 2] = [ChunkType::ABORT, ChunkType::ERROR];

/// The secret of a key, the same at both ends that have the same salt.
pub(crate) fn secret(key: u16, salt: u8) -> Vec<u8> {
    let mut secret = vec![key as u8; 8 * usize::from(key)];
    secret.extend((salt > 0).then_some(salt));
    secret
}

impl Scenario {
    /// Draws authentication for each host. All else stays as it is, and so does every other scenario.
    pub(super) fn authenticate(mut self) -> Scenario {
        // A number with which the seeds that failed before stay as they were.
        let mut from = Draw::new(self.seed ^ 0xe7e5_10f5_4895_0012);
        let draw = &mut from;
        if !draw.chance(0.6) {
            return self;
        }
        let calm = self.calm();
        let count = draw.between(0, KEYS);
        let mut keys = SharedKeys::default();
        for key in 1..=count as u16 {
            keys.set(key, &secret(key, 0)).expect("a new key");
        }
        for host in &mut self.hosts {
            if !draw.chance(0.85) {
                continue;
            }
            self.features.insert("offers authentication");
            host.config.extensions.authentication = true;
            let often = draw.pick(&[0.1, 0.5, 1.0]);
            let mut chunks: Vec<ChunkType> =
                ALWAYS.into_iter().filter(|_| draw.chance(often)).collect();
            if !calm {
                chunks.extend(HARSH.into_iter().filter(|_| draw.chance(0.3)));
            }
            let algorithms = match draw.between(0, 2) {
                0 => vec![HmacIdentifier::SHA_1],
                1 => vec![HmacIdentifier::SHA_1, HmacIdentifier::SHA_256],
                _ => vec![HmacIdentifier::SHA_256, HmacIdentifier::SHA_1],
            };
            let mut keys = keys.clone();
            keys.activate(draw.between(0, count) as u16).expect("it is there");
            host.config.authentication =
                Arc::new(Authentication { chunks, algorithms, keys, required: false });
            for _ in 0..draw.between(0, 15) {
                let at = Time::from_micros(draw.log_whole(1_000, 12_000_000));
                let key = draw.between(0, count) as u16;
                let call = match draw.between(0, 9) {
                    0 => Call::SetKey(key),
                    1 if !calm => Call::DeleteKey(key),
                    1 => Call::DeactivateKey(key),
                    _ => Call::ActivateKey(key),
                };
                host.calls.push((at, call));
            }
        }
        let [a, b] = self.hosts.each_ref().map(|host| host.config.extensions.authentication);
        if a && b {
            self.features.insert("both authenticate");
        }
        if a != b {
            self.features.insert("one end offers authentication");
        }
        self
    }
}
