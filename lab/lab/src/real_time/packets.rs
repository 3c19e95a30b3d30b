//! What is seen of an endpoint while it runs, to be looked at afterwards.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tresse::{
    AssociationId, Bytes, Direction, LossCause, ObservedPacket, Observer, Time, TraceEvent,
};
use tresse_sim::Packet;

/// Keeps every packet, with its time and whether it went out.
#[derive(Clone, Default)]
pub(crate) struct Packets(Arc<Mutex<Vec<(Time, bool, Packet)>>>);

impl Packets {
    /// What was seen so far.
    pub(crate) fn take(&self) -> Vec<(Time, bool, Packet)> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Observer for Packets {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let outgoing = packet.direction == Direction::Out;
        let ends = |from: SocketAddr, to: SocketAddr| (from.ip(), to.ip());
        let (source, destination) = if outgoing {
            ends(packet.local, packet.remote)
        } else {
            ends(packet.remote, packet.local)
        };
        let payload = Bytes::copy_from_slice(packet.packet);
        let seen = Packet::sctp(source, destination, payload);
        lock(&self.0).push((packet.at, outgoing, seen));
    }
}

/// A DATA chunk left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) tsn: u32,
    /// 1 for the first time.
    pub(crate) number: u32,
    pub(crate) cause: Option<LossCause>,
}

/// Keeps every transmission of a DATA chunk; needs the traces of the association.
#[derive(Clone, Default)]
pub(crate) struct Transmissions(Arc<Mutex<Vec<Transmission>>>);

impl Transmissions {
    /// What was seen so far.
    pub(crate) fn take(&self) -> Vec<Transmission> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Observer for Transmissions {
    fn trace(&mut self, _: AssociationId, _: Time, event: &TraceEvent) {
        if let TraceEvent::Sent { tsn, transmission, cause, .. } = event {
            let seen = Transmission { tsn: tsn.0, number: *transmission, cause: *cause };
            lock(&self.0).push(seen);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
