//! Incoming streams that begin again (RFC 6525 §5.2.2, §5.2.4, §5.2.7 H5), with I-DATA chunks.
//!
//! All that was sent before a reset has TSNs up to the *barrier*. Chunks behind it are kept until it is known whether
//! their streams begin again: only then it is known which messages they belong to.

use tresse_wire::{SkippedMessages, Tsn};

use super::super::chunk::{InChunk, InboundError};
use super::super::delivery::Delivery;
use super::super::renewal::Renewal;
use super::super::stream_set::StreamSet;
use super::Interleaved;
use super::barrier::Barrier;
use super::message::Key;
use crate::event::ReceivedMessage;
use crate::ranges::RangeSet;
use crate::time::Time;

impl Interleaved {
    //= RFC 6525 5.2.2-4
    /// Chunks of these streams behind `last` are kept from now on.
    pub(in super::super) fn keep_behind(&mut self, streams: StreamSet, last: Tsn) {
        self.barrier = Some(Box::new(Barrier::new(streams, last)));
    }

    /// Chunks up to `last` are no longer kept.
    pub(in super::super) fn let_through(
        &mut self,
        last: Tsn,
        out: &mut Delivery,
    ) -> Result<(), InboundError> {
        let Some(barrier) = &mut self.barrier else { return Ok(()) };
        if !barrier.move_to(last) {
            return Ok(());
        }
        let (kept, skipped) = barrier.take(Some(last));
        self.take_all(kept, skipped, out)
    }

    /// Nothing is kept any more.
    pub(in super::super) fn end_barrier(&mut self, out: &mut Delivery) -> Result<(), InboundError> {
        let Some(mut barrier) = self.barrier.take() else { return Ok(()) };
        let (kept, skipped) = barrier.take(None);
        self.take_all(kept, skipped, out)
    }

    fn take_all(
        &mut self,
        kept: Vec<(Time, InChunk)>,
        mut skipped: Vec<SkippedMessages>,
        out: &mut Delivery,
    ) -> Result<(), InboundError> {
        skipped.retain(|skipped| !self.doubts(skipped));
        kept.into_iter().try_for_each(|(at, chunk)| self.take(at, chunk, out))?;
        skipped.into_iter().for_each(|skipped| self.skip(skipped, out));
        Ok(())
    }

    /// The end: it will never be known whether streams begin again. What was kept, up to a TSN before which nothing is
    /// missing, is handed over as far as it is whole, with what waited for its turn, in the order in which it was sent.
    pub(in super::super) fn release(&mut self, cumulative: Tsn, out: &mut Delivery) {
        let Some(mut barrier) = self.barrier.take() else { return };
        let (kept, _) = barrier.take(Some(cumulative));
        let (mut all, mut rest) = (Delivery::new(), Vec::new());
        // What cannot be part of a message is none.
        for (at, chunk) in kept {
            if self.lacks_something(Key::of(&chunk)) {
                let _ = self.take(at, chunk, &mut all);
            } else {
                rest.push((at, chunk));
            }
        }
        self.begin_again(&StreamSet::All, &mut all);
        for (at, chunk) in rest {
            let _ = self.take(at, chunk, &mut all);
        }
        self.begin_again(&StreamSet::All, &mut all);
        // What waited behind something that is missing goes on waiting for it.
        let all = std::iter::from_fn(|| all.pop());
        let mut all: Vec<ReceivedMessage> =
            all.filter(|message| !message.tsn.follows(cumulative)).collect();
        all.sort_by_key(|message| message.tsn.distance(cumulative));
        all.into_iter().for_each(|message| out.queue(message));
    }

    /// What is passed over may lie among the chunks that are kept: it is done with when they are.
    pub(in super::super) fn pass_over(
        &mut self,
        tsn: Tsn,
        skipped: SkippedMessages,
        out: &mut Delivery,
    ) {
        let barrier = self.barrier.as_mut().filter(|barrier| barrier.holds(skipped.stream, tsn));
        if let Some(barrier) = barrier {
            barrier.skip(tsn, skipped);
        } else if !self.doubts(&skipped) {
            self.skip(skipped, out);
        }
    }

    /// Whether what an I-FORWARD-TSN lists is passed by.
    fn doubts(&mut self, skipped: &SkippedMessages) -> bool {
        let SkippedMessages { stream, unordered, .. } = *skipped;
        self.numbers.get(stream).renewal(unordered) != Renewal::Known
            && self.numbers.get_mut(stream).renewal_mut(unordered).doubts()
    }

    /// What was to be passed over behind the barrier may be all that was ever sent on these streams.
    pub(in super::super) fn renew_skipped(&mut self, streams: &StreamSet) {
        let skipped = self.barrier.iter().flat_map(|barrier| barrier.skipped());
        for (stream, unordered) in skipped.filter(|(stream, _)| streams.contains(*stream)) {
            *self.numbers.get_mut(stream).renewal_mut(unordered) = Renewal::Fresh;
        }
    }

    //= RFC 6525 5.2.4-4
    /// The peer goes on with another TSN, and all streams begin again.
    pub(in super::super) fn jump(&mut self, next_seq: u64, out: &mut Delivery) {
        self.begin_again(&StreamSet::All, out);
        self.barrier = None;
        self.edge = next_seq;
        let done = self.extra.done.take().map(|_| RangeSet::default());
        self.extra.done = done;
    }
}
