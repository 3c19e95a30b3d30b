//! Start-time fair queueing, for the schedulers that share bytes.
//!
//! Source: P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", ACM SIGCOMM 1996, with messages as packets, or chunks, if messages are
//! interleaved. Each message
//! begins, in virtual time, when the stream's one before ends, but not before the message that is leaving:
//!
//! ```text
//! start  = max(virtual time, finish of the stream)
//! finish = start + cost of the message
//! ```
//!
//! The least start goes first, and is the virtual time as long as it leaves. Of two streams that both have messages the costs
//! of what left in any time differ by the largest message of each at most. A stream that sends less than its
//! share waits for one message of each stream at most, and for one alone if there is one other. The finish of a stream
//! that was silent is forgotten: nothing is saved up. Where nobody waits the virtual time is the largest finish, as there: what a
//! stream sent while it was alone is not held against it.

use tresse_wire::StreamId;

use super::super::table::StreamTable;

#[derive(Debug, Default)]
pub(super) struct StartTimes {
    virtual_time: u64,
    largest_finish: u64,
    finish: StreamTable<u64, 16>,
}

impl StartTimes {
    /// When the next message of a stream starts.
    pub(super) fn start(&self, stream: StreamId) -> u64 {
        self.virtual_time.max(self.finish.get(stream))
    }

    /// A message begins that starts then, and costs so much.
    pub(super) fn begin(&mut self, stream: StreamId, start: u64, cost: u64) {
        self.virtual_time = start;
        let finish = start + cost;
        *self.finish.get_mut(stream) = finish;
        self.largest_finish = self.largest_finish.max(finish);
    }

    /// Nobody waits.
    pub(super) fn idle(&mut self) {
        self.virtual_time = self.largest_finish;
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.finish.memory()
    }
}
