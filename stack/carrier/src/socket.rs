//! What carries the packets of an endpoint.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use crate::{CarrierStats, IcmpMessage, IncomingPacket, Outgoing};

/// Moves whole SCTP packets. [`Carriers`](crate::Carriers) are such; a program may have another, such as a tunnel of its
/// own, or the memory of a test.
///
/// Packets may be lost, doubled, and arrive in any order: SCTP sees to that. What arrives altered is thrown away by its
/// checksum.
pub trait PacketSocket: Send {
    /// Our addresses, at least one: those that peers are told of and may send to. The port is that of UDP if packets
    /// travel in UDP datagrams (RFC 6951), the same for all, and 0 if they do not.
    fn local_addrs(&self) -> Vec<SocketAddr>;

    /// Appends the packets that have arrived to `out` and gives their number, at least 1. Otherwise the task is woken
    /// when one arrives.
    ///
    /// # Errors
    /// Only those after which no packet will ever come or go: the endpoint ends.
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<IncomingPacket>,
    ) -> Poll<io::Result<usize>>;

    /// Accepts one packet for sending; [`poll_flush`](Self::poll_flush) sends it.
    fn queue(&mut self, to: &Outgoing, packet: &[u8]);

    /// Whether so much waits that the caller should stop queueing until a flush has succeeded.
    fn is_full(&self) -> bool;

    /// Sends what is queued. Pending if something has to wait, and the task is woken when it can leave.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Appends the ICMP messages that have arrived about packets sent. None come unless there is something to tell.
    fn poll_icmp(&mut self, _cx: &mut Context<'_>, _out: &mut Vec<IcmpMessage>) {}

    /// Remembers the interface through which a link-local IPv6 peer is reached, if that has a meaning here.
    fn learn_zone(&mut self, _peer: SocketAddr) {}

    /// What it has done so far. All 0 unless something is counted.
    fn stats(&self) -> CarrierStats {
        CarrierStats::default()
    }
}
