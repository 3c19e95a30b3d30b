//! The end near which it was captured.

use tresse_wire::Chunk;

use super::{Association, Head};
use crate::summary::nearer;
use crate::terms::Side;

impl Association {
    /// Takes notice of how soon each side answers.
    pub(super) fn answered(&mut self, head: &Head, chunk: &Chunk<'_>) {
        let (own, other) = (head.from.index(), head.from.other().index());
        match chunk {
            Chunk::Init(_) | Chunk::CookieEcho(_) | Chunk::Heartbeat(_) | Chunk::ShutdownAck => {
                self.answers[other].asked = Some(head.at);
            }
            _ => {}
        }
        match chunk {
            Chunk::InitAck(_)
            | Chunk::CookieAck
            | Chunk::HeartbeatAck(_)
            | Chunk::ShutdownComplete(_) => {
                if let Some(asked) = self.answers[own].asked.take() {
                    let soonest = &mut self.answers[own].soonest;
                    let time = head.at.saturating_sub(asked);
                    *soonest = Some(soonest.map_or(time, |soonest| soonest.min(time)));
                }
            }
            // RFC 9260 §5.1 D: the initiator answers the INIT ACK with a COOKIE ECHO.
            Chunk::CookieEcho(_) => {
                if let Some(asked) = self.answers[own].asked.take() {
                    self.answers[own].soonest = Some(head.at.saturating_sub(asked));
                }
            }
            _ => {}
        }
        if matches!(chunk, Chunk::InitAck(_)) {
            self.answers[other].asked = Some(head.at);
        }
    }

    /// The end near which it was captured: the one that answers much sooner than the other.
    pub(super) fn near(&self) -> Option<Side> {
        if self.place_of_a.is_some() {
            return None;
        }
        let soonest = |side: Side| {
            let data = self.directions[side.other().index()].flow.rtt.min();
            let answers = self.answers[side.index()].soonest.map(|ns| ns as f64 / 1e6);
            data.into_iter().chain(answers).reduce(f64::min)
        };
        nearer(soonest(Side::A)?, soonest(Side::B)?)
    }
}
