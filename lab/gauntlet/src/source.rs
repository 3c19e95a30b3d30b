//! The sending program: the simulator's, with a thin stream beside it, which notes when each chunk was sent
//! first.

use std::time::Duration;

use tresse_core::wire::{Chunk, Packet as SctpPacket, StreamId};
use tresse_core::{AssociationId, Event, SendError, SendOptions, Time};
use tresse_sim::apps::{Sender, content};
use tresse_sim::{Application, Context, Draw, Packet};

use crate::world::Thin;

/// Numbers of thin messages begin here: far beyond those of the bulk.
const THIN: u64 = 1 << 40;
/// Token of the timer for thin messages; the program's own are small, and its sink's the greatest.
const TIMER: u64 = 1 << 32;

/// A [`Sender`] that is observed.
pub(crate) struct Source {
    pub(crate) program: Sender,
    thin: Option<ThinStream>,
    first_tsn: Option<u32>,
    /// When each TSN was sent first, counted from the first one.
    sent: Vec<Time>,
}

/// The thin stream.
pub(crate) struct ThinStream {
    config: Thin,
    stream: u16,
    unordered: bool,
    draw: Draw,
    association: Option<AssociationId>,
    /// When each message was due.
    due: Vec<Time>,
    /// How many the send buffer took.
    accepted: usize,
}

impl ThinStream {
    /// On `stream`, at moments that follow from `seed`.
    pub(crate) fn new(config: Thin, stream: u16, unordered: bool, seed: u64) -> ThinStream {
        let draw = Draw::new(seed);
        let (due, accepted) = (Vec::new(), 0);
        ThinStream { config, stream, unordered, draw, association: None, due, accepted }
    }

    fn wait(&mut self, cx: &mut Context<'_>) {
        let gap_s = self.config.every_ms / 1e3 * -(1.0 - self.draw.unit()).ln();
        cx.set_simulation_timer(cx.simulation_time() + Duration::from_secs_f64(gap_s), TIMER);
    }

    /// Sends what is due, as far as there is room.
    fn proceed(&mut self, cx: &mut Context<'_>) {
        let Some(id) = self.association else { return };
        let options = SendOptions { unordered: self.unordered, ..SendOptions::default() };
        while self.accepted < self.due.len() {
            let payload = content(THIN + self.accepted as u64, self.config.size);
            match cx.send(id, StreamId(self.stream), payload, options) {
                Ok(()) => self.accepted += 1,
                // Later, or never if the association has ended.
                Err(SendError::WouldBlock) | Err(_) => break,
            }
        }
    }
}

/// Which thin message this is, if it is one.
pub(crate) fn thin_number(index: Option<u64>) -> Option<usize> {
    index?.checked_sub(THIN).and_then(|n| usize::try_from(n).ok())
}

impl Source {
    pub(crate) fn new(program: Sender, thin: Option<ThinStream>) -> Source {
        Source { program, thin, first_tsn: None, sent: Vec::new() }
    }

    /// When the chunk with this TSN was sent first.
    pub(crate) fn sent_at(&self, tsn: u32) -> Option<Time> {
        self.sent.get(tsn.wrapping_sub(self.first_tsn?) as usize).copied()
    }

    /// When each thin message was due.
    pub(crate) fn thin_due(&self) -> &[Time] {
        self.thin.as_ref().map_or(&[], |thin| &thin.due)
    }
}

impl Application for Source {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.program.on_start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        if let Some(thin) = &mut self.thin {
            match event {
                Event::Connected { .. } if thin.association.is_none() => {
                    thin.association = Some(id);
                    thin.wait(cx);
                }
                // Before the bulk takes the room.
                Event::Writable => thin.proceed(cx),
                _ => {}
            }
        }
        self.program.on_event(cx, id, event);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        match &mut self.thin {
            Some(thin) if token == TIMER => {
                thin.due.push(cx.simulation_time());
                thin.proceed(cx);
                thin.wait(cx);
            }
            _ => self.program.on_timer(cx, token),
        }
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
