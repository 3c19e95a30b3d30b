//! Messages of many receive buffers beside small ones on other streams, whichever extensions each end offers.

use std::time::Duration;

use tresse_core::{Reliability, Time};
use tresse_sim::Draw;

use super::traffic::PlannedMessage;
use super::{HostPlan, MIXED, Scenario, extensions};

/// Seeds from here on have them; less this number they are those of the mixed scenarios that they are made from.
pub(crate) const LARGE: u64 = 1 << 46;

/// One of those.
pub(super) fn large(seed: u64) -> Scenario {
    let mut draw = Draw::new(seed ^ 0xe7e5_10f5_8260_0046);
    let mut scenario = Scenario { seed, ..extensions::mixed(MIXED + (seed - LARGE)) };
    for host in 0..2 {
        let buffer = draw.log_whole(4096, 30_000) as usize;
        scenario.hosts[1 - host].config.receive_buffer = buffer as u32;
        let largest = scenario.hosts[host].write_large(&mut draw, buffer);
        for end in &mut scenario.hosts {
            end.config.max_message_size = end.config.max_message_size.max(largest);
        }
    }
    scenario.features.insert("messages of many receive buffers");
    scenario.extend()
}

impl HostPlan {
    /// Adds such messages for a peer that receives into `buffer` bytes; how long the longest is.
    fn write_large(&mut self, draw: &mut Draw, buffer: usize) -> usize {
        self.config.fragmentation = true;
        if draw.chance(0.7) {
            // Room for small ones beside it.
            self.config.send_buffer = 1 << 22;
        }
        let streams = self.config.outbound_streams;
        let last = self.traffic.iter().map(|message| message.at).max().unwrap_or(Time::ZERO);
        let mut largest = 0;
        for _ in 0..draw.between(1, 2) {
            let begin = Time::from_micros(draw.between(0, last.as_nanos() / 1000 + 1));
            let stream = draw.index(usize::from(streams)) as u16;
            let size = buffer * draw.between(2, 20) as usize;
            largest = largest.max(size);
            let message = PlannedMessage {
                at: begin,
                stream,
                size,
                unordered: draw.chance(0.2),
                immediate: false,
                lifetime: None,
                reliability: Reliability::Full,
                key: None,
                to: None,
            };
            for _ in 0..draw.between(10, 200) {
                let other = u64::from(stream) + draw.between(1, u64::from(streams).max(2) - 1);
                self.traffic.push(PlannedMessage {
                    at: begin + Duration::from_micros(draw.between(1, 2_000_000)),
                    stream: (other % u64::from(streams)) as u16,
                    size: draw.log_whole(1, 1000) as usize,
                    unordered: draw.chance(0.2),
                    ..message
                });
            }
            self.traffic.push(message);
        }
        self.traffic.sort_by_key(|message| message.at);
        largest
    }
}
