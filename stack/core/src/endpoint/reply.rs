//! Packets that belong to no association (RFC 9260 §8.4), and INIT ACK.

use std::collections::VecDeque;
use std::net::IpAddr;

use tresse_wire::{CommonHeader, InitFields, PacketWriter, VerificationTag};

use crate::datagram::{Datagram, Ecn, IpFragments, IpLabels, Transmit, headers};

/// At most this many replies wait; a flood is answered in part.
const MAX_REPLIES: usize = 1024;
/// And at most this many bytes.
const MAX_BYTES: usize = 1 << 20;

/// Who sends a packet without a valid cookie may have forged its source: the owner of that address gets at
/// most this many times its bytes, IP and UDP headers counted. RFC 9000 §8.1 has the same bound for QUIC.
const MOST_DRAWN: usize = 3;

/// How many bytes the packet may have that answers `received` at the address `to`.
pub(super) fn room(received: &Datagram, to: IpAddr) -> usize {
    let encapsulation = received.encapsulation;
    let most = MOST_DRAWN * (received.packet.len() + headers(received.source, encapsulation));
    most.saturating_sub(headers(to, encapsulation))
}

/// Replies that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    queue: VecDeque<(Transmit, Vec<u8>)>,
    bytes: usize,
}

impl ReplyQueue {
    pub(super) fn pop(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, packet) = self.queue.pop_front()?;
        self.bytes -= packet.len();
        buffer.clear();
        buffer.extend_from_slice(&packet);
        Some(transmit)
    }

    /// Answers the sender of `to` with a packet of `tag` that `write` fills, unless it gets longer than
    /// `room`.
    fn push(
        &mut self,
        to: &Datagram,
        room: usize,
        received: CommonHeader,
        tag: VerificationTag,
        labels: IpLabels,
        write: impl FnOnce(PacketWriter<'_>) -> usize,
    ) {
        if self.queue.len() >= MAX_REPLIES || self.bytes >= MAX_BYTES {
            return;
        }
        let header = CommonHeader {
            source_port: received.destination_port,
            destination_port: received.source_port,
            verification_tag: tag,
        };
        let mut packet = Vec::new();
        write(PacketWriter::new(&mut packet, header));
        if packet.len() > room {
            return;
        }
        let transmit = Transmit {
            //= RFC 9260 5.1-3 5.1-11 5.1.2-7 6.4-2
            destination: to.source,
            // It may have come from an address of the other family.
            source: Some(to.destination).filter(|l| l.is_ipv4() == to.source.is_ipv4()),
            encapsulation: to.encapsulation,
            path: None,
            fragments: IpFragments::Forbidden,
            ecn: Ecn::NotEct,
            labels,
        };
        self.bytes += packet.len();
        self.queue.push_back((transmit, packet));
    }

    //= RFC 9653 5.2-7
    /// INIT ACK, of `room` bytes at most.
    pub(super) fn init_ack(
        &mut self,
        to: &Datagram,
        room: usize,
        received: CommonHeader,
        tag: VerificationTag,
        (fields, parameters): (&InitFields, &[u8]),
        (labels, zero_checksum): (IpLabels, bool),
    ) {
        self.push(to, room, received, tag, labels, |mut w| {
            w.init_ack(fields, parameters);
            if zero_checksum { w.finish_without_checksum() } else { w.finish() }
        });
    }

    //= RFC 9653 5.2-3
    //= RFC 9260 3.3.7-5 8.4-10 8.4-11 8.5.1-5
    /// ABORT; `reflected` sets the T bit: the tag is the one received (§8.4 rule 8).
    pub(super) fn abort(
        &mut self,
        to: &Datagram,
        received: CommonHeader,
        tag: VerificationTag,
        reflected: bool,
        causes: &[u8],
    ) {
        self.push(to, room(to, to.source), received, tag, IpLabels::default(), |mut w| {
            w.abort(reflected, causes);
            w.finish()
        });
    }

    //= RFC 9260 3.1-5 3.3.13-2 8.4-6 8.4-7 8.5.1-9
    /// SHUTDOWN COMPLETE with the T bit (§8.4 rule 5).
    pub(super) fn shutdown_complete(&mut self, to: &Datagram, received: CommonHeader) {
        let tag = received.verification_tag;
        self.push(to, room(to, to.source), received, tag, IpLabels::default(), |mut w| {
            w.shutdown_complete(true);
            w.finish()
        });
    }

    pub(super) fn error(
        &mut self,
        to: &Datagram,
        received: CommonHeader,
        tag: VerificationTag,
        causes: &[u8],
    ) {
        self.push(to, room(to, to.source), received, tag, IpLabels::default(), |mut w| {
            w.error(causes);
            w.finish()
        });
    }
}
