//! Packets that belong to no association (RFC 9260 §8.4), and INIT ACK.

use std::collections::VecDeque;

use tresse_wire::{CommonHeader, InitFields, PacketWriter, VerificationTag};

use super::{Datagram, Transmit};

/// At most this many replies wait; a flood is answered in part.
const MAX_REPLIES: usize = 1024;

/// Replies that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Replies {
    queue: VecDeque<(Transmit, Vec<u8>)>,
}

impl Replies {
    pub(super) fn pop(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, packet) = self.queue.pop_front()?;
        buffer.clear();
        buffer.extend_from_slice(&packet);
        Some(transmit)
    }

    /// Answers the sender of `to` with a packet of `tag` that `write` fills.
    fn push(
        &mut self,
        to: &Datagram,
        received: CommonHeader,
        tag: VerificationTag,
        write: impl FnOnce(&mut PacketWriter<'_>),
    ) {
        if self.queue.len() >= MAX_REPLIES {
            return;
        }
        let header = CommonHeader {
            source_port: received.destination_port,
            destination_port: received.source_port,
            verification_tag: tag,
        };
        let mut packet = Vec::new();
        let mut writer = PacketWriter::new(&mut packet, header);
        write(&mut writer);
        writer.finish();
        let transmit = Transmit {
            //= RFC 9260 5.1-3 5.1-11 5.1.2-7 6.4-2
            destination: to.source,
            // It may have come from an address of the other family.
            source: Some(to.destination).filter(|l| l.is_ipv4() == to.source.is_ipv4()),
            encapsulation: to.encapsulation,
            path: None,
            fragment: false,
        };
        self.queue.push_back((transmit, packet));
    }

    pub(super) fn init_ack(
        &mut self,
        to: &Datagram,
        received: CommonHeader,
        tag: VerificationTag,
        fields: &InitFields,
        parameters: &[u8],
    ) {
        self.push(to, received, tag, |w| w.init_ack(fields, parameters));
    }

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
        self.push(to, received, tag, |w| w.abort(reflected, causes));
    }

    //= RFC 9260 3.1-5 3.3.13-2 8.4-6 8.4-7 8.5.1-9
    /// SHUTDOWN COMPLETE with the T bit (§8.4 rule 5).
    pub(super) fn shutdown_complete(&mut self, to: &Datagram, received: CommonHeader) {
        self.push(to, received, received.verification_tag, |w| w.shutdown_complete(true));
    }

    pub(super) fn error(
        &mut self,
        to: &Datagram,
        received: CommonHeader,
        tag: VerificationTag,
        causes: &[u8],
    ) {
        self.push(to, received, tag, |w| w.error(causes));
    }
}
