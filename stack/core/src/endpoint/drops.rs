//! Packets with a wrong checksum, of which the peer may want to know (draft-stewart-sctp-pktdrprep).

use tresse_wire::Packet;

use super::Association;
use super::ports::Ports;
use super::roll::Roll;
use crate::datagram::Datagram;
use crate::time::Time;

/// A packet has a wrong checksum. Its association may report it, if all that can be checked here speaks for it: ports and tag.
pub(super) fn report(roll: &mut Roll, ports: &Ports, now: Time, datagram: &Datagram) {
    let Ok(packet) = Packet::parse_unverified(&datagram.packet) else { return };
    let header = packet.header();
    let Some(id) = roll.find(datagram, header) else { return };
    let ours = |a: &Association| a.identity().local_tag == header.verification_tag;
    if roll.get(id).is_some_and(ours) {
        roll.deliver(now, ports, id, |a| a.report_drop(now, datagram));
    }
}
