//! Drop tail: whatever does not fit behind the last packet is dropped.

use super::fill::Fill;
use crate::config::LinkConfig;

#[derive(Clone, Debug)]
pub(super) struct DropTail {
    packets: u64,
    bytes: u64,
}

impl DropTail {
    pub(super) fn new(config: &LinkConfig) -> DropTail {
        DropTail {
            packets: config.queue_packets.map_or(u64::MAX, u64::from),
            bytes: config.queue_bytes.unwrap_or(u64::MAX),
        }
    }

    pub(super) fn admits(&self, fill: Fill, bytes: u64) -> bool {
        fill.packets < self.packets && fill.bytes.saturating_add(bytes) <= self.bytes
    }
}
