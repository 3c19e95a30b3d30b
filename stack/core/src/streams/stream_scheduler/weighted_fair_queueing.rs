//! Weighted fair queueing (RFC 8260 §3.6, SCTP_SS_WFQ): a stream of twice the value gets twice the bytes.
//!
//! Start-time fair queueing (`start_time.rs`): `cost = bytes of the message / weight`. Without a value the weight is 1.
//! This is what WebRTC data channels ask for (RFC 8831 §6.4).

use tresse_wire::StreamId;

use super::StreamScheduler;
use super::start_time::StartTimes;

/// Units of virtual time for a byte of weight 1. Less is rounded up.
const SCALE: u64 = 4096;

#[derive(Debug, Default)]
pub(super) struct WeightedFairQueueing(StartTimes);

//= RFC 8260 3-1
impl StreamScheduler for WeightedFairQueueing {
    fn place(&mut self, stream: StreamId, _: u16) -> u64 {
        self.0.start(stream)
    }

    fn on_begun(&mut self, stream: StreamId, value: u16, place: u64, bytes: usize) {
        let cost = (bytes as u64 * SCALE).div_ceil(u64::from(value.max(1)));
        self.0.begin(stream, place, cost);
    }

    fn on_idle(&mut self) {
        self.0.idle();
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }
}
