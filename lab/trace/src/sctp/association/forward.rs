//! What a sender gives up (RFC 3758, RFC 8260 §2.3).

use tresse_wire::Chunk;

use super::super::user_data::Forward;
use super::{Association, Delivered, Head, Observer, Role};

impl Association {
    /// FORWARD TSN and I-FORWARD-TSN arrive.
    pub(super) fn forward(
        &mut self,
        head: &Head,
        role: Role,
        chunk: &Chunk<'_>,
        out: &mut dyn Observer,
    ) {
        let forward = match chunk {
            Chunk::ForwardTsn(chunk) => Some(Forward::of(chunk)),
            Chunk::IForwardTsn(chunk) => Some(Forward::interleaved(chunk)),
            _ => None,
        };
        let side = head.from.index();
        if let Some(forward) = forward
            && let Some(number) = self.directions[side].passes(forward.point)
        {
            self.directions[side].pass_over(number + 1);
            let mut delivered = Delivered::new();
            self.deliveries[side].forward(&forward, number + 1, head.at, &mut delivered);
            self.delivered(head, role, delivered, out);
        }
    }
}
