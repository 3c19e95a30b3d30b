//! Messages that are given up (RFC 3758, RFC 7496), as long as they wait, and as far as the rest of one does.

use tresse_wire::{DataFlags, StreamId};

use super::SendQueue;
use super::policy::Policy;
use crate::chunk::NewChunk;
use crate::event::SendFailure;

impl SendQueue {
    /// Bytes of the messages that wait and have a priority which `matters_less`. That of those which follow is no greater.
    pub(crate) fn bytes_of_those(&self, matters_less: impl Fn(u32) -> bool) -> usize {
        let all = [Some(&self.priorities), self.parked.as_ref().map(|parked| parked.priorities())];
        let all = all.into_iter().flatten();
        all.flat_map(|all| all.iter().take_while(|(value, _)| matters_less(*value)))
            .map(|(_, bytes)| bytes)
            .sum()
    }

    /// The value of the least important of them.
    pub(crate) fn least(&self) -> Option<u32> {
        self.priorities
            .least()
            .max(self.parked.as_ref().and_then(|parked| parked.priorities().least()))
    }

    /// Takes that one out.
    pub(crate) fn take_least(&mut self) -> Option<(Policy, SendFailure)> {
        let least = self.priorities.least();
        let parked = self.parked.as_mut();
        if let Some(parked) = parked.filter(|parked| parked.priorities().least() > least) {
            return parked.take_least();
        }
        let place = self.priorities.first()?;
        self.take_out(place)
    }

    /// Bytes that have not left of the message of a stream of which a part has.
    pub(crate) fn begun_bytes(&self, stream: StreamId) -> usize {
        self.leaving(stream).map_or(0, |begun| begun.message.payload.len() - begun.taken)
    }

    /// The rest of the message of a stream of which a part has left leaves no more. Returns the whole of it, and what stands for its last
    /// chunk.
    pub(crate) fn give_up_begun(&mut self, stream: StreamId) -> Option<(SendFailure, NewChunk)> {
        let begun = self.take_leaving(stream)?;
        let rest = begun.message.payload.len() - begun.taken;
        let message = begun.message;
        self.take_bytes(rest);
        self.on_abandoned(message.stream, rest);
        self.settle(self.turns.line_of(message.stream));
        let unordered = message.unordered;
        let end = NewChunk {
            stream: message.stream,
            mid: begun.mid,
            fsn: begun.fsn,
            ppid: message.ppid,
            flags: DataFlags { unordered, beginning: false, ending: true, ..DataFlags::default() },
            context: message.context,
            key: message.key,
            payload: bytes::Bytes::new(),
        };
        Some((message.failure(true), end))
    }

    /// This many bytes of a stream are given up. Their chunks are done with when the peer has passed over them.
    pub(crate) fn on_abandoned(&mut self, stream: StreamId, bytes: usize) {
        let held = &mut self.table.get_mut(stream).held;
        *held = held.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
    }
}
