//! The only place that builds packets of an association (RFC 9260 §6.1, §6.10).
//!
//! Order: control chunks, then SACK, then DATA. Of DATA, what is lost comes first, then what is
//! new. One call writes one packet.

mod control;

use std::net::IpAddr;

use tresse_wire::PacketWriter;

use super::outbox::Back;
use super::{Association, path_mtu};
use crate::datagram::{Ecn, IpFragments, Transmit};
use crate::ids::PathId;
use crate::send::{DataPacket, Plan};
use crate::time::Time;

/// How a packet that was written leaves.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    path: PathId,
    /// Its source, if not that of its path.
    source: Option<IpAddr>,
    /// Where it goes, if not where its path does.
    back: Option<Back>,
    /// It is a probe of the path MTU.
    whole: bool,
    /// The shared key to authenticate it with, if not the active one.
    key: Option<u16>,
    ecn: Ecn,
}

impl Leaving {
    /// As any packet on this path.
    const fn on(path: PathId) -> Leaving {
        Leaving { path, source: None, back: None, whole: false, key: None, ecn: Ecn::NotEct }
    }
}

impl Association {
    /// Writes the next packet into `buffer`, if there is one to send.
    ///
    /// What begins with a control chunk leaves first, for it opens, ends, or answers. Data takes along a SACK that is owed, and what
    /// the peer is to pass over; where nothing of that leaves with data, it leaves by itself. Last of all come heartbeats that look
    /// for another source, which are many and may be lost.
    pub(crate) fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.expire_messages(now);
        if self.journal.is_traced() {
            path_mtu::trace_changes(&mut self.journal, &mut self.paths, now);
        }
        for path in self.paths.iter_mut() {
            path.bursts.look(now);
        }
        let leaving = self
            .write_control_packet(now, buffer)
            .or_else(|| self.write_data_packet(now, buffer))
            .or_else(|| self.write_forward_packet(now, buffer))
            .or_else(|| self.write_sack_packet(now, buffer))
            .or_else(|| self.write_outbox(now, buffer));
        let Some(leaving) = leaving else {
            let (sender, mut cx) = self.sending(now);
            sender.end_opportunity(&mut cx);
            return None;
        };
        let signed = self.extras.authenticator.sign(leaving.key, buffer);
        self.journal.stats.auth_chunks_sent += u64::from(signed);
        self.seal(buffer);
        self.journal.stats.packets_sent += 1;
        self.journal.stats.bytes_sent += buffer.len() as u64;
        let counters = &mut self.paths[leaving.path].counters;
        counters.packets_sent += 1;
        counters.bytes_sent += buffer.len() as u64;
        let transmit = self.transmit(leaving, buffer.len());
        self.paths[leaving.path].on_packet(
            now,
            buffer.len(),
            transmit.fragments.are_allowed() || leaving.whole,
        );
        Some(transmit)
    }

    //= RFC 8899 3-3
    /// Where a packet of this many bytes goes, and how. A path whose MTU has shrunk has it fragmented (§6.9, RFC 1191, RFC 8201); a
    /// probe MUST NOT be, however large.
    fn transmit(&self, leaving: Leaving, len: usize) -> Transmit {
        let Leaving { path, source, back, whole, ecn, .. } = leaving;
        let p = &self.paths[path];
        // From an address that has gone since, nothing can leave.
        let source = source.filter(|source| !self.addresses().sources().has_lost(*source));
        Transmit {
            destination: back.map_or(p.address.remote(), |back| back.address),
            source: source.or_else(|| p.address.local().filter(|_| back.is_none())),
            encapsulation: back.map_or(p.address.encapsulation(), |back| back.encapsulation),
            path: Some(path),
            fragments: if whole { IpFragments::Forbidden } else { p.mtu.fragments(len) },
            ecn,
            labels: p.settings.labels,
        }
    }

    /// Data may leave, and where to.
    fn may_write_data(&self) -> bool {
        self.state().may_send_data() && self.outbox.has_way(&self.paths)
    }

    //= RFC 9260 6.1-1
    /// A packet of lost chunks, or of new ones.
    fn write_data_packet(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Leaving> {
        if !self.may_write_data() {
            return None;
        }
        let answer = self.phase.closing().and_then(|closing| closing.answer());
        let (sender, mut cx) = self.sending(now);
        let plan = sender.plan(&mut cx, answer)?;
        let path = plan.path();
        let mut packet = self.begin_data(now, path, buffer);
        let before_control = packet.writer().len();
        let forward = self.sender.abandonment().len_beside_data(path);
        //= RFC 3758 3.5-16
        // RFC 3758 §3.5 F2: bundled with DATA, if that leaves room for it.
        if forward > 0 && self.leaves_room(&plan, forward) {
            let (sender, mut cx) = self.sending(now);
            sender.write_forward(&mut cx, &mut packet);
        }
        if self.receiver.owes_sack(path) {
            let bound = self.receiver.sack_bound();
            let written = packet.writer().len() - before_control;
            if self.leaves_room(&plan, written + bound) {
                self.write_sack(packet.writer(), path);
            }
        }
        let has_control = packet.writer().len() > before_control;
        if plan.is_retransmission()
            && let Some(closing) = self.phase.closing_mut()
        {
            closing.answered();
        }
        let (sender, mut cx) = self.sending(now);
        sender.write(&mut cx, &mut packet, &plan);
        let empty = packet.is_empty() && !has_control;
        let (key, ecn) = sender.finish(&mut cx, packet);
        // An empty packet would be offered for ever; the rules of what may leave never agree on one.
        debug_assert!(!empty);
        (!empty).then_some(Leaving { key, ecn, ..Leaving::on(path) })
    }

    fn begin_data<'b>(&self, now: Time, path: PathId, buffer: &'b mut Vec<u8>) -> DataPacket<'b> {
        let mut writer = PacketWriter::new(buffer, self.identity.header(self.identity.peer_tag));
        self.write_timestamp(now, &mut writer, path);
        DataPacket::new(path, writer)
    }

    //= RFC 9260 6.1-16 6.9-8
    /// What is bundled must not push the first chunk out of the packet: a SACK that must go then leaves alone, after
    /// the data. Copies of what is in flight do without.
    fn leaves_room(&self, plan: &Plan, control: usize) -> bool {
        if plan.is_copy() {
            return false;
        }
        let chunk = self.sender.first_chunk(&self.paths, plan);
        let room = self.sender.data().room_for_chunks(&self.paths[plan.path()]);
        chunk.is_none_or(|chunk| chunk + control <= room)
    }

    /// A FORWARD TSN chunk that no packet with DATA has taken along, with a SACK if one is owed.
    fn write_forward_packet(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Leaving> {
        if !self.may_write_data() {
            return None;
        }
        let path = self.sender.abandonment().due_on(&self.paths)?;
        let mut packet = self.begin_data(now, path, buffer);
        let (sender, mut cx) = self.sending(now);
        sender.write_forward(&mut cx, &mut packet);
        self.write_sack(packet.writer(), path);
        let (sender, mut cx) = self.sending(now);
        let (key, ecn) = sender.finish(&mut cx, packet);
        Some(Leaving { key, ecn, ..Leaving::on(path) })
    }
}
