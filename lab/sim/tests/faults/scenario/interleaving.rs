//! Messages that are interleaved (RFC 8260) in scenarios that had none: whether each end offers that, and which stream
//! scheduler it has. All else stays as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use tresse_core::profile::StreamScheduler;
use tresse_core::wire::ChunkType;
use tresse_sim::Draw;

use super::Scenario;

/// What all messages that are open may hold, in largest messages, if the receive buffer is not larger (`Extensions::interleaving`).
const MOST_OPEN: usize = 4;

impl Scenario {
    /// Draws interleaving for each host.
    pub(super) fn interleave(mut self) -> Scenario {
        let mut draw = Draw::new(self.seed ^ 0xe7e5_10f5_8260_0001);
        if !draw.chance(0.5) {
            return self;
        }
        for host in &mut self.hosts {
            if !draw.chance(0.85) {
                continue;
            }
            self.features.insert("offers interleaving");
            host.config.extensions.interleaving = true;
            let mut profile = (*host.config.profile).clone();
            profile.streams.scheduler = draw.pick(StreamScheduler::ALL);
            host.config.profile = Arc::new(profile);
            // Who wants data authenticated wants it so in any form.
            let mut authentication = (*host.config.authentication).clone();
            for (kind, other) in [
                (ChunkType::DATA, ChunkType::I_DATA),
                (ChunkType::FORWARD_TSN, ChunkType::I_FORWARD_TSN),
            ] {
                if authentication.chunks.contains(&kind) {
                    authentication.chunks.push(other);
                }
            }
            host.config.authentication = Arc::new(authentication);
        }
        let [a, b] = self.hosts.each_ref().map(|host| host.config.extensions.interleaving);
        if a && b {
            self.features.insert("both interleave");
            for host in 0..2 {
                // The largest message of each stream of the other end may be open at once.
                let mut largest: BTreeMap<u16, usize> = BTreeMap::new();
                for message in &self.hosts[1 - host].traffic {
                    let one = largest.entry(message.stream).or_default();
                    *one = message.size.max(*one);
                }
                let needed = largest.values().sum::<usize>();
                let config = &mut self.hosts[host].config;
                if needed > config.receive_buffer as usize {
                    let size = &mut config.max_message_size;
                    *size = needed.div_ceil(MOST_OPEN).max(*size);
                }
            }
        }
        if a != b {
            self.features.insert("one end offers interleaving");
        }
        self
    }
}
