//! The receiving half of an association: what arrived, what is held, and when to acknowledge.
//!
//! It never sees the association: chunks and packets are told to it, and it says what became of them.

mod data;
mod forward_tsn;
mod marks;
mod next_sack;
mod packet;
mod read;
mod reading;
mod receive_buffer;
mod reset;
mod room;
mod sack;

use std::net::IpAddr;

use tresse_wire::{Cwr, Tsn};

use crate::ack::delayed::DelayedAck;
use crate::ack::received::ReceivedTsns;
use crate::ack::report::Report;
use crate::ack::timestamps::TimestampEcho;
use crate::config::AssociationConfig;
use crate::handshake::Capabilities;
use crate::ids::PathId;
use crate::profile::NrSackMode;
use crate::streams::inbound::Inbound;
use crate::time::Time;
pub(crate) use data::Taken;
pub(crate) use forward_tsn::Forwarded;
use marks::ReceivedMarks;
use next_sack::NextSack;
pub(crate) use next_sack::Way;
pub(crate) use packet::PacketData;
use reading::Reading;
use receive_buffer::ReceiveBuffer;
pub(crate) use sack::SackForm;

/// The receiving half of an association. Until the peer is known nothing arrives: no stream is open.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// What the peer said in INIT or INIT ACK; `None` until it is known.
    initial_tsn: Option<Tsn>,
    /// The packet being taken.
    packet: PacketData,
    received: ReceivedTsns,
    inbound: Inbound,
    delayed: DelayedAck,
    buffer: ReceiveBuffer,
    reading: Reading,
    /// Streams that the peer may use.
    streams: u16,
    next_sack: NextSack,
    /// Timestamps of the peer (Ladha et al. §4).
    timestamps: TimestampEcho,
    /// What is promised never to be discarded; `Off` unless NR-SACKs were agreed on.
    nr_sack: NrSackMode,
    /// The blocks of the SACK being written.
    report: Report,
    /// Marks of congestion that the peer has to be told.
    marks: ReceivedMarks,
}

impl Receiver {
    /// Of a peer that is not known yet.
    pub(crate) fn new(config: &AssociationConfig) -> Receiver {
        Receiver::of(None, 0, Capabilities::NONE, Reading::default(), config)
    }

    /// The handshake has shown what the peer is. Messages of an earlier life of it that are complete stay readable, and go
    /// on filling the receive buffer, or each restart would cost another one.
    pub(crate) fn begin(
        &mut self,
        initial_tsn: Tsn,
        streams: u16,
        extensions: Capabilities,
        config: &AssociationConfig,
    ) {
        self.inbound.end_partial_delivery();
        let mut reading = std::mem::take(&mut self.reading);
        reading.retain(std::iter::from_fn(|| self.inbound.pop()));
        *self = Receiver::of(Some(initial_tsn), streams, extensions, reading, config);
    }

    /// The peer is not known any more: nothing of it is kept, read or not.
    pub(crate) fn forget(&mut self, config: &AssociationConfig) {
        let reading = self.reading.without_messages();
        *self = Receiver::of(None, 0, Capabilities::NONE, reading, config);
    }

    fn of(
        initial_tsn: Option<Tsn>,
        streams: u16,
        extensions: Capabilities,
        reading: Reading,
        config: &AssociationConfig,
    ) -> Receiver {
        let received = ReceivedTsns::new(initial_tsn.unwrap_or_default());
        let first = received.cumulative_seq() + 1;
        let nr_sack =
            if extensions.nr_sack { config.profile.sack.nr_sack } else { NrSackMode::Off };
        let mut inbound = Inbound::new(streams, config.max_message_size, first);
        if extensions.chosen.interleaving {
            let may_skip = extensions.chosen.partial_reliability;
            let limits = (config.max_message_size, config.receive_buffer as usize);
            inbound.interleave(limits, first, may_skip);
        }
        if nr_sack == NrSackMode::Delivered {
            inbound.track_delivered();
        }
        inbound.set_partial_delivery_point(config.partial_delivery_point);
        Receiver {
            initial_tsn,
            packet: PacketData::default(),
            inbound,
            received,
            delayed: DelayedAck::new(&config.profile.sack),
            buffer: ReceiveBuffer::new(config.receive_buffer, reading.past()),
            reading,
            streams,
            next_sack: NextSack::new(config),
            timestamps: TimestampEcho::new(first - 1),
            nr_sack,
            report: Report::default(),
            marks: ReceivedMarks::default(),
        }
    }

    /// What the peer said in INIT or INIT ACK; `None` until it is known.
    pub(crate) const fn initial_tsn(&self) -> Option<Tsn> {
        self.initial_tsn
    }

    /// Streams that the peer may use; none until it is known.
    pub(crate) const fn streams(&self) -> u16 {
        self.streams
    }

    /// The Cumulative TSN Ack Point.
    pub(crate) fn cumulative(&self) -> Tsn {
        self.received.cumulative()
    }

    /// Messages and parts of messages that can be read, but for those from before a restart.
    pub(crate) fn ready(&self) -> usize {
        self.inbound.ready()
    }

    /// A packet of this many bytes begins, of which chunks keep slices; it is `marked` or not.
    #[inline]
    pub(crate) fn begin_packet(&mut self, bytes: usize, marked: bool) {
        self.packet = PacketData::begin(self.received.has_gaps());
        self.inbound.begin_packet(bytes);
        self.marks.begin_packet(marked);
    }

    /// Its chunks were processed, a TIMESTAMP with this TSval among them. Returns what it had.
    #[inline]
    pub(crate) fn end_packet(
        &mut self,
        now: Time,
        tsval: Option<u32>,
        way: impl FnOnce() -> Way,
    ) -> PacketData {
        let packet = std::mem::take(&mut self.packet);
        if packet.is_any() {
            let way = way();
            self.marks.end_packet(way.arrival);
            let heeds_gaps = self.next_sack.on_packet(way, packet.has_retransmission());
            let facts = packet.facts(self.received.has_gaps(), heeds_gaps);
            self.delayed.on_packet(now, facts);
        }
        if let Some(tsval) = tsval {
            self.timestamps.on_packet(tsval, packet.lowest());
        }
        packet
    }

    /// ECNE chunks that go with a SACK.
    pub(crate) fn echoes(&self) -> usize {
        self.marks.count()
    }

    /// A CWR chunk came over `path`: what it answers is not told again.
    pub(crate) fn on_cwr(&mut self, path: PathId, cwr: &Cwr) {
        self.marks.on_cwr(path, cwr);
    }

    /// What a TIMESTAMP chunk echoes.
    pub(crate) fn timestamp_echo(&self) -> u32 {
        self.timestamps.echo()
    }

    /// When a SACK may wait no longer.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.delayed.deadline()
    }

    /// That time has come.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.delayed.on_timeout(now);
    }

    /// A SACK must leave now.
    #[inline]
    pub(crate) fn is_sack_due(&self) -> bool {
        self.delayed.due()
    }

    /// A SACK is to leave now, whatever arrived.
    pub(crate) fn request_sack(&mut self) {
        self.delayed.request();
    }

    /// SACKs are delayed in another way from now on, and messages handed over in parts from another point on.
    pub(crate) fn reconfigure(&mut self, now: Time, config: &AssociationConfig) {
        self.delayed.reconfigure(now, &config.profile.sack);
        self.inbound.set_partial_delivery_point(config.partial_delivery_point);
    }

    /// Where SACKs go.
    #[inline]
    pub(crate) const fn ack_path(&self) -> PathId {
        self.next_sack.path()
    }

    /// A path is gone: SACKs that would go there go to another one.
    pub(crate) fn leave_path(&mut self, gone: PathId, path: PathId) {
        self.marks.forget(gone);
        self.next_sack.leave_path(gone, path);
    }

    /// The source of a packet that has only a SACK, if not that of its path.
    pub(crate) const fn ack_source(&self) -> Option<IpAddr> {
        self.next_sack.source()
    }
}
