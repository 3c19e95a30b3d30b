//! The options for stream schedulers (RFC 8260 §4.3): which one, and the values of streams. With Linux' numbers.

use std::sync::Arc;

use tresse::{AssociationId, StreamId};
use tresse_core::profile::StreamScheduler;

use super::option_numbers::CURRENT_ASSOC;
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Struct, errno};

/// SCTP_SS_FCFS, which is SCTP_SS_DEFAULT, and those after it (RFC 8260 §4.3.2). Linux has no SCTP_SS_RR_PKT: 1000 and
/// FreeBSD's number.
pub(super) const fn number_of(scheduler: StreamScheduler) -> u32 {
    match scheduler {
        StreamScheduler::FirstComeFirstServed => 0,
        StreamScheduler::Priority => 1,
        StreamScheduler::RoundRobin => 2,
        StreamScheduler::FairCapacity => 3,
        StreamScheduler::WeightedFairQueueing => 4,
        StreamScheduler::RoundRobinPerPacket => 1002,
    }
}

impl Engine {
    /// SCTP_STREAM_SCHEDULER, of an association or those to come.
    pub(super) fn set_stream_scheduler(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let wanted = |scheduler: &&StreamScheduler| number_of(**scheduler) == f.u32(4);
        let scheduler = *StreamScheduler::ALL.iter().find(wanted).ok_or(errno::EINVAL)?;
        self.reconfigure(id, f.u32(0), |config| {
            Arc::make_mut(&mut config.profile).streams.scheduler = scheduler;
        })
    }

    /// SCTP_STREAM_SCHEDULER_VALUE, of a stream of an association.
    pub(super) fn set_stream_value(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let (number, stream, value) = (f.u32(0), StreamId(f.u16(4)), f.u16(6));
        let socket = self.socket(id)?;
        let cores = if socket.many && number == CURRENT_ASSOC {
            let all = socket.associations.clone();
            all.iter().filter_map(|n| self.associations.get(n)).map(|a| a.core).collect()
        } else {
            vec![self.association_with_streams(id, number)?]
        };
        let set = |core| {
            self.raw.act(|endpoint, now| endpoint.set_stream_value(now, core, stream, value))
        };
        let results: Vec<_> = cores.into_iter().map(set).collect();
        results.into_iter().collect::<Result<(), _>>().map_err(|_| errno::EINVAL)
    }

    /// What was set for it.
    pub(super) fn stream_value(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let f = at_least(given, 8)?;
        let (number, stream) = (f.u32(0), f.u16(4));
        let core = self.association_with_streams(id, number)?;
        let value = self.raw.act(|endpoint, _| endpoint.stream_value(core, StreamId(stream)));
        let value = value.ok_or(errno::EINVAL)?;
        Ok(Struct::default().u32(number).u16(stream).u16(value).0.clone())
    }

    fn association_with_streams(&self, id: u64, number: u32) -> Fallible<AssociationId> {
        let (_, association) = self.association_of(id, number).ok_or(errno::EINVAL)?;
        Ok(association.core)
    }
}
