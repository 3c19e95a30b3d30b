//! The program that sends the messages of a schedule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tresse_core::wire::{Chunk, Packet as SctpPacket, StreamId};
use tresse_core::{
    AssociationId, AssociationStats, Bytes, CloseReason, Event, SendOptions, Time, TraceEvent,
};
use tresse_sim::{Application, Context, Packet};

use super::super::workload::ScheduledMessage;

/// Time between the last message and the shutdown: long enough for every recovery, so that the
/// shutdown cannot take part in one.
const SETTLE: Duration = Duration::from_secs(20);

/// Sends a schedule over the first association that a peer opens, then shuts it down.
pub(super) struct Sender {
    schedule: Arc<[ScheduledMessage]>,
    message_bytes: usize,
    association: Option<AssociationId>,
    sent_at: Vec<Option<Time>>,
    /// DATA chunks in the order of sending.
    transmissions: Vec<Transmission>,
    /// Packets with data that have left.
    packets: u64,
    /// The first packet of each TSN, counted from 1 among those with data.
    first_packets: BTreeMap<u32, u64>,
    stats: AssociationStats,
    closed: Option<CloseReason>,
    fault: Option<String>,
}

#[derive(Clone, Copy)]
struct Transmission {
    tsn: u32,
    number: u32,
    cause: Option<tresse_core::LossCause>,
}

impl Sender {
    pub(super) fn new(schedule: Arc<[ScheduledMessage]>, message_bytes: usize) -> Sender {
        Sender {
            sent_at: vec![None; schedule.len()],
            schedule,
            message_bytes,
            association: None,
            transmissions: Vec::new(),
            packets: 0,
            first_packets: BTreeMap::new(),
            stats: AssociationStats::default(),
            closed: None,
            fault: None,
        }
    }

    /// When the application sent message `index`.
    pub(super) fn sent_at(&self, index: u32) -> Option<Time> {
        self.sent_at.get(index as usize).copied().flatten()
    }

    /// Counters of the association just before its shutdown.
    pub(super) fn stats(&self) -> &AssociationStats {
        &self.stats
    }

    /// What made the sender send message `index` again for the first time.
    pub(super) fn recovered_by(&self, index: u32) -> Option<String> {
        let tsn = self.tsn_of(index)?;
        let again = self.transmissions.iter().find(|t| t.tsn == tsn && t.number > 1)?;
        again.cause.map(|cause| cause.name().to_owned())
    }

    /// TSN of message `index`: messages have one chunk each.
    fn tsn_of(&self, index: u32) -> Option<u32> {
        self.transmissions.first().map(|first| first.tsn.wrapping_add(index))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        match &self.closed {
            Some(CloseReason::Shutdown) => Ok(()),
            Some(other) => Err(format!("the sender's association ended with {other:?}")),
            None => Err("the sender's association never ended".into()),
        }
    }

    /// How many messages there are.
    pub(super) fn messages(&self) -> usize {
        self.schedule.len()
    }

    /// Number of the packet with data, counted from 1, that carried message `index` for the first
    /// time. A packet may carry chunks that are sent again, too.
    pub(super) fn first_packet_of(&self, index: u32) -> Option<u64> {
        let tsn = self.tsn_of(index)?;
        self.first_packets.get(&tsn).copied()
    }

    /// Whether `packet` carried message `index` for the first time.
    pub(super) fn first_packet_is(&self, index: u32, packet: u64) -> bool {
        self.first_packet_of(index) == Some(packet)
    }

    fn send(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(id) = self.association else { return };
        let result =
            cx.send(id, StreamId(0), payload(index, self.message_bytes), SendOptions::default());
        match result {
            Ok(()) => self.sent_at[index as usize] = Some(cx.simulation_time()),
            Err(error) => {
                self.fault.get_or_insert(format!("message {index} was refused: {error}"));
            }
        }
    }
}

/// The content of message `index`: its number, then bytes that follow from it.
pub(super) fn payload(index: u32, bytes: usize) -> Bytes {
    let mut content = Vec::with_capacity(bytes);
    content.extend_from_slice(&index.to_be_bytes());
    content.extend((0..bytes - 4).map(|i| (i as u32).wrapping_mul(31).wrapping_add(index) as u8));
    content.into()
}

impl Application for Sender {
    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        match event {
            Event::Connected { .. } if self.association.is_none() => {
                self.association = Some(id);
                let start = cx.simulation_time();
                for message in self.schedule.iter() {
                    // Each message is handed over by a call of its own, as a program does it.
                    cx.set_timer(start + message.at, u64::from(message.index));
                }
                let last = self.schedule.last().map_or(Duration::ZERO, |m| m.at);
                cx.set_timer(start + last + SETTLE, self.schedule.len() as u64);
            }
            Event::Closed(reason) => self.closed = Some(reason),
            Event::Connected { .. } | Event::Restarted | Event::SendFailed(_) => {
                self.fault.get_or_insert(format!("unexpected event: {event:?}"));
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        if let Some(message) = self.schedule.get(token as usize) {
            self.send(cx, message.index);
        } else if let Some(id) = self.association {
            self.stats = cx.endpoint().stats(id).unwrap_or_default();
            if let Err(error) = cx.shutdown(id) {
                self.fault.get_or_insert(format!("no shutdown: {error}"));
            }
        }
    }

    fn on_trace(&mut self, _now: Time, _id: AssociationId, event: &TraceEvent) {
        if let TraceEvent::Sent { tsn, transmission, cause, .. } = event {
            let transmission = Transmission { tsn: tsn.0, number: *transmission, cause: *cause };
            self.transmissions.push(transmission);
        }
    }

    fn on_packet(&mut self, _now: Time, outgoing: bool, packet: &Packet) {
        if !outgoing {
            return;
        }
        // Counted by what leaves, as the link counts what it is to drop.
        let Ok(sctp) = SctpPacket::parse_unverified(&packet.payload) else { return };
        let mut data = false;
        for chunk in sctp.chunks().map_while(Result::ok) {
            let tsn = match Chunk::parse(chunk) {
                Ok(Chunk::Data(chunk)) => chunk.tsn,
                Ok(Chunk::IData(chunk)) => chunk.tsn,
                _ => continue,
            };
            data = true;
            self.first_packets.entry(tsn.0).or_insert(self.packets + 1);
        }
        self.packets += u64::from(data);
    }
}
