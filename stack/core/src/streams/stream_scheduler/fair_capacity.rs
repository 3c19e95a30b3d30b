//! Fair capacity (RFC 8260 §3.5, SCTP_SS_FC or SCTP_SS_FB): the same number of bytes for each stream.
//!
//! Start-time fair queueing (`start_time.rs`) in bytes of user data: `cost = bytes of the message`.

use tresse_wire::StreamId;

use super::StreamScheduler;
use super::start_time::StartTimes;

#[derive(Debug, Default)]
pub(super) struct FairCapacity(StartTimes);

impl StreamScheduler for FairCapacity {
    fn place(&mut self, stream: StreamId, _: u16) -> u64 {
        self.0.start(stream)
    }

    fn on_begun(&mut self, stream: StreamId, _: u16, place: u64, bytes: usize) {
        self.0.begin(stream, place, bytes as u64);
    }

    fn on_idle(&mut self) {
        self.0.idle();
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }
}
