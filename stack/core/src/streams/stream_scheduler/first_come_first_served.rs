//! First come, first served (RFC 8260 §3.1, SCTP_SS_FCFS): messages leave in the order in which they came.
//!
//! Interleaving changes nothing: one that has begun to leave leaves entirely. All of them wait in one line. One that may not leave keeps those of other streams behind it.

use tresse_wire::StreamId;

use super::StreamScheduler;

#[derive(Debug, Default)]
pub(super) struct FirstComeFirstServed;

impl StreamScheduler for FirstComeFirstServed {
    fn place(&mut self, _: StreamId, _: u16) -> u64 {
        0
    }

    fn has_one_line(&self) -> bool {
        true
    }
}
