//! Streams that begin again (RFC 6525).

use tresse_wire::{Chunk, Parameter, ReconfigurationResult};

use super::super::last_reset::Reset;
use super::{Association, Delivered, Head, Observer, Role};

/// Longer lists are not kept: which streams begin again is told by their SSNs then.
const LONGEST: usize = 1024;

impl Association {
    /// A RE-CONFIG chunk, at the end that it goes to if it asks, and at the one that it comes from if it answers: nothing of
    /// the streams arrives between what was sent before and that answer.
    pub(super) fn reset(
        &mut self,
        head: &Head,
        role: Role,
        chunk: &Chunk<'_>,
        out: &mut dyn Observer,
    ) {
        let Chunk::ReConfig(chunk) = chunk else { return };
        for parameter in chunk.parameters.parsed().map_while(Result::ok) {
            match parameter {
                Parameter::OutgoingSsnReset(reset) => {
                    let asked = &mut self.resets[head.from.index()];
                    let (request, count) = (Some(reset.request.0), reset.streams.iter().count());
                    if asked.request != request && count <= LONGEST {
                        let streams = reset.streams.iter().map(|stream| stream.0).collect();
                        *asked = Reset { request, streams, everything: false, done: false };
                    }
                }
                Parameter::SsnTsnReset(request) => {
                    let asked = &mut self.resets[head.from.index()];
                    let request = Some(request.0);
                    if asked.request != request {
                        *asked = Reset { request, everything: true, ..Reset::default() };
                    }
                }
                Parameter::ReconfigurationResponse(response) if role != Role::Arrival => {
                    let from = head.from.other();
                    let asked = &mut self.resets[from.index()];
                    // RFC 6525 §5.2.2: "Success - Performed" comes once the streams have begun again.
                    let performed = response.result == ReconfigurationResult::PERFORMED;
                    if performed && asked.request == Some(response.request.0) && !asked.done {
                        asked.done = true;
                        let mut delivered = Delivered::new();
                        let streams = std::mem::take(&mut asked.streams);
                        let everything = asked.everything;
                        self.deliveries[from.index()].reset(&streams, head.at, &mut delivered);
                        self.delivered(&Head { from, ..*head }, role, delivered, out);
                        if everything && let Some((senders, receivers)) = response.next_tsns {
                            self.directions[from.index()].begins_again(receivers);
                            self.directions[head.from.index()].begins_again(senders);
                            let mut delivered = Delivered::new();
                            let other = &mut self.deliveries[head.from.index()];
                            other.reset(&[], head.at, &mut delivered);
                            self.delivered(head, role, delivered, out);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
