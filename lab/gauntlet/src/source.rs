//! The sending program: the simulator's, which besides notes when each chunk was sent first.

use tresse_core::wire::{Chunk, Packet as SctpPacket};
use tresse_core::{AssociationId, Event, Time};
use tresse_sim::apps::Sender;
use tresse_sim::{Application, Context, Packet};

/// A [`Sender`] that is observed.
pub(crate) struct Source {
    pub(crate) program: Sender,
    first_tsn: Option<u32>,
    /// When each TSN was sent first, counted from the first one.
    sent: Vec<Time>,
}

impl Source {
    pub(crate) fn new(program: Sender) -> Source {
        Source { program, first_tsn: None, sent: Vec::new() }
    }

    /// When the chunk with this TSN was sent first.
    pub(crate) fn sent_at(&self, tsn: u32) -> Option<Time> {
        self.sent.get(tsn.wrapping_sub(self.first_tsn?) as usize).copied()
    }
}

impl Application for Source {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.program.on_start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        self.program.on_event(cx, id, event);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        self.program.on_timer(cx, token);
    }

    fn on_packet(&mut self, now: Time, outgoing: bool, packet: &Packet) {
        if !outgoing {
            return;
        }
        let Ok(sctp) = SctpPacket::parse_unverified(&packet.payload) else { return };
        for chunk in sctp.chunks().map_while(Result::ok) {
            if let Ok(Chunk::Data(data)) = Chunk::parse(chunk) {
                let first = *self.first_tsn.get_or_insert(data.tsn.0);
                // TSNs are given in order, so a new one is the next.
                if data.tsn.0.wrapping_sub(first) as usize == self.sent.len() {
                    self.sent.push(now);
                }
            }
        }
    }
}
