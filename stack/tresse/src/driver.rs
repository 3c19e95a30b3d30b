//! The one future that moves packets and runs timers.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tresse_carrier::{IcmpMessage, IncomingPacket, IpLabels, Outgoing, PacketSocket};
use tresse_core::{Datagram, Icmp, Time, Transmit};

use crate::config::{Direction, ObservedEvent, ObservedPacket, Observer};
use crate::host::{self, Changes};
use crate::runtime::{Runtime, Timer};
use crate::shared::{Shared, State, Told};
use crate::team::Mail;

/// Batches handled before other tasks of the same thread get a turn.
const ROUNDS: usize = 4;

/// Batches of packets without a pause behind which ICMP is looked at in any case.
const MAX_BATCHES: u32 = 16;

/// Peers whose answering address is remembered for observers.
const MAX_SOURCES: usize = 1024;

/// Moves packets between the socket and the associations of one endpoint, and runs the timers.
///
/// It ends when no handle of the endpoint is left and the last association is gone; its output
/// is an error only if the socket failed.
pub struct Driver {
    shared: Arc<Shared>,
    carrier: Box<dyn PacketSocket>,
    observer: Option<Watch>,
    received: Vec<IncomingPacket>,
    icmp: Vec<IcmpMessage>,
    /// This many batches of packets have come without a pause.
    batches: u32,
    /// For each shard of the endpoint, if it has several, what arrived here and is for that one.
    outbox: Vec<Mail>,
    /// The other shards know that this one needs its driver no more.
    counted: bool,
    told: Vec<Told>,
    packet: Vec<u8>,
    /// When to look at the addresses of the host again.
    look_at: Time,
    /// What tells that they have changed, if anything does.
    changes: Option<Changes>,
    timer: Pin<Box<dyn Timer>>,
    /// When `timer` fires, if it is armed. Never later than the core's deadline; often earlier,
    /// because deadlines mostly move away and re-arming for each packet would cost more.
    armed: Option<Time>,
}

/// The observer, and what it needs to know beyond the packets.
struct Watch {
    observer: Box<dyn Observer>,
    /// The address at which each peer reached us: the system sends back from there.
    sources: BTreeMap<IpAddr, IpAddr>,
}

/// What one round leaves behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// More can be done at once.
    Busy,
    /// Something must happen first.
    Waiting,
    /// No handle and no association is left.
    Finished,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("local", &self.shared.local).finish_non_exhaustive()
    }
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        carrier: Box<dyn PacketSocket>,
        runtime: &dyn Runtime,
        observer: Option<Box<dyn Observer>>,
    ) -> Driver {
        let shards = shared.member.as_ref().map_or(0, |member| member.count);
        let outbox = std::iter::repeat_with(Mail::default).take(shards).collect();
        // Without the right to listen to the system, addresses are read at intervals instead.
        let changes = shared.of_system.then(|| Changes::watch(runtime).ok()).flatten();
        Driver {
            shared,
            carrier,
            observer: observer.map(|observer| Watch { observer, sources: BTreeMap::new() }),
            received: Vec::new(),
            icmp: Vec::new(),
            batches: 0,
            outbox,
            counted: false,
            told: Vec::new(),
            packet: Vec::new(),
            look_at: Time::ZERO + host::INTERVAL,
            changes,
            timer: runtime.timer(),
            armed: None,
        }
    }

    /// Has `observer` watch from now on, in the place of the one that there was.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(Watch { observer, sources: BTreeMap::new() });
    }

    /// One batch in, everything it causes out.
    fn round(&mut self, cx: &mut Context<'_>) -> io::Result<Round> {
        let received = match self.carrier.poll_recv(cx, &mut self.received) {
            Poll::Ready(result) => result.map(|_| true)?,
            Poll::Pending => false,
        };
        // What had arrived before a refusal is heard before it: behind an ABORT there may be a closed port. A
        // flood of packets does not keep ICMP away for ever.
        self.batches = if received { self.batches % MAX_BATCHES + 1 } else { 0 };
        if self.batches.is_multiple_of(MAX_BATCHES) {
            self.carrier.poll_icmp(cx, &mut self.icmp);
        }
        if self.changes.as_mut().is_some_and(|changes| changes.poll(cx)) {
            self.look_at = Time::ZERO;
        }
        let shared = Arc::clone(&self.shared);
        let now = shared.clock.now();
        let mut state = shared.lock();
        self.handle(&mut state, now);
        while let Some(mut told) = Told::poll(&mut state.core) {
            if let Some(watch) = &mut self.observer {
                watch.told(now, &told, &state.core);
            }
            state.untold.note(told.id, &told.event);
            state.keep_last(&mut told);
            self.told.push(told);
        }
        let core = state.core.poll_timeout();
        let deadline = Some(core.map_or(self.look_at, |at| at.min(self.look_at)));
        state.carrier = self.carrier.stats();
        if state.driver.is_none() {
            state.driver = Some(cx.waker().clone());
        }
        let finished = self.told.is_empty() && state.is_finished();
        drop(state);
        if let Some(member) = &shared.member {
            member.deliver(&mut self.outbox);
        }

        // Packets leave before anyone learns of the end that they announce: a process may exit
        // as soon as it knows that its association is closed.
        let was_full = self.carrier.is_full();
        let flushed = self.carrier.poll_flush(cx).is_ready();
        let told = !self.told.is_empty();
        if told {
            let mut state = shared.lock();
            for told in self.told.drain(..) {
                state.apply(&shared, told, now);
            }
        }
        if finished && flushed && self.may_end() {
            return Ok(Round::Finished);
        }
        let fired = self.arm(cx, deadline);
        let busy = received || told || fired || (was_full && flushed);
        Ok(if busy { Round::Busy } else { Round::Waiting })
    }

    /// Nothing of this driver is needed any more; but other shards of the endpoint may still need its
    /// sockets.
    fn may_end(&mut self) -> bool {
        let Some(member) = &self.shared.member else { return true };
        if !std::mem::replace(&mut self.counted, true) {
            member.finish();
        }
        member.all_finished()
    }

    /// Everything that needs the lock: packets and timers in, packets out to the carrier.
    fn handle(&mut self, state: &mut State, now: Time) {
        if self.look_at <= now {
            let told = self.changes.is_some();
            self.look_at = now + if told { host::LONG_INTERVAL } else { host::INTERVAL };
            if let Ok(addresses) = self.shared.host_addresses() {
                state.core.set_host_addresses(now, &addresses);
            }
        }
        for peer in state.zones.drain(..) {
            self.carrier.learn_zone(peer);
        }
        let shared = Arc::clone(&self.shared);
        let mut received = std::mem::take(&mut self.received);
        for incoming in received.drain(..) {
            let member = shared.member.as_ref();
            match member.and_then(|member| member.addressee(&state.core, &incoming)) {
                Some(other) => self.outbox[other].packets.push(incoming),
                None => self.take(state, now, incoming),
            }
        }
        self.received = received;
        let mut inbox = std::mem::take(&mut state.inbox);
        for incoming in inbox.packets.drain(..) {
            self.take(state, now, incoming);
        }
        // ICMP reaches any of the sockets: all shards are told.
        for (other, mail) in self.outbox.iter_mut().enumerate() {
            if shared.member.as_ref().is_some_and(|member| member.index != other) {
                mail.icmp.extend(self.icmp.iter().cloned());
            }
        }
        for message in self.icmp.drain(..).chain(inbox.icmp.drain(..)) {
            let IcmpMessage { destination, kind, quoted, .. } = message;
            state.core.handle_icmp(now, &Icmp { destination, kind, quoted });
        }
        // Its memory serves again.
        state.inbox = inbox;
        if state.core.poll_timeout().is_some_and(|deadline| deadline <= now) {
            state.core.handle_timeout(now);
        }
        self.transmit(state, now);
        if let Some(member) = &shared.member {
            member.publish(&mut state.core);
        }
        while let Some((id, at, event)) = state.core.poll_trace() {
            if let Some(watch) = &mut self.observer {
                watch.observer.trace(id, at, &event);
            }
        }
    }

    /// A packet for this endpoint, or for this shard of it.
    fn take(&mut self, state: &mut State, now: Time, incoming: IncomingPacket) {
        if let Some(watch) = &mut self.observer {
            watch.received(now, &incoming, self.shared.local[0].port());
        }
        let IncomingPacket { source, destination, encapsulation, ecn, packet, .. } = incoming;
        let datagram = Datagram { source, destination, encapsulation, ecn, packet };
        state.core.handle_datagram(now, datagram);
        // After each packet rather than after the batch: acknowledgements stay as frequent as
        // RFC 9260 §6.2 asks, and Max.Burst applies to each arriving SACK. The packets still
        // leave together.
        self.transmit(state, now);
    }

    /// Moves what the core has to send to the carrier's queue, while that has room.
    fn transmit(&mut self, state: &mut State, now: Time) {
        while !self.carrier.is_full() {
            let Some(transmit) = state.core.poll_transmit(now, &mut self.packet) else { return };
            if let Some(watch) = &mut self.observer {
                watch.sent(now, &transmit, &self.shared.local, &self.packet);
            }
            let to = Outgoing {
                destination: transmit.destination,
                source: transmit.source,
                encapsulation: transmit.encapsulation,
                ecn: transmit.ecn,
                labels: transmit.labels,
                fragments: transmit.fragments,
            };
            self.carrier.queue(&to, &self.packet);
        }
    }

    /// Makes sure of being woken at `deadline`; true if it has passed already.
    fn arm(&mut self, cx: &mut Context<'_>, deadline: Option<Time>) -> bool {
        let Some(deadline) = deadline else {
            self.armed = None;
            return false;
        };
        if self.armed.is_none_or(|armed| deadline < armed) {
            self.timer.as_mut().reset(self.shared.clock.instant(deadline));
            self.armed = Some(deadline);
        }
        if self.timer.as_mut().poll(cx).is_ready() {
            self.armed = None;
            return true;
        }
        false
    }
}

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        for _ in 0..ROUNDS {
            match this.round(cx) {
                Ok(Round::Busy) => {}
                Ok(Round::Waiting) => return Poll::Pending,
                Ok(Round::Finished) => return Poll::Ready(Ok(())),
                Err(e) => {
                    let why = Arc::from(format!("its socket failed: {e}"));
                    this.shared.lock().end(&this.shared, &why);
                    return Poll::Ready(Err(e));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.ended.is_none() {
            let why = Arc::from(if std::thread::panicking() {
                "its driver panicked"
            } else {
                "its driver was dropped"
            });
            state.end(&self.shared, &why);
        }
    }
}

impl Watch {
    fn told(&mut self, at: Time, told: &Told, core: &tresse_core::Endpoint) {
        let observed = ObservedEvent { at, association: told.id, event: &told.event, core };
        self.observer.event(&observed);
    }

    fn received(&mut self, at: Time, incoming: &IncomingPacket, port: u16) {
        if self.sources.len() < MAX_SOURCES {
            self.sources.insert(incoming.source, incoming.destination);
        }
        self.observer.packet(&ObservedPacket {
            at,
            direction: Direction::In,
            local: SocketAddr::new(incoming.destination, port),
            remote: SocketAddr::new(incoming.source, incoming.encapsulation.unwrap_or(0)),
            ecn: incoming.ecn,
            labels: IpLabels::default(),
            packet: &incoming.packet,
        });
    }

    fn sent(&mut self, at: Time, transmit: &Transmit, local: &[SocketAddr], packet: &[u8]) {
        let bound = match local {
            [only] if !only.ip().is_unspecified() => Some(only.ip()),
            _ => None,
        };
        let source = bound
            .or(transmit.source)
            .or_else(|| self.sources.get(&transmit.destination).copied())
            .unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let port = transmit.encapsulation.unwrap_or(0);
        self.observer.packet(&ObservedPacket {
            at,
            direction: Direction::Out,
            local: SocketAddr::new(source, local[0].port()),
            remote: SocketAddr::new(transmit.destination, port),
            ecn: transmit.ecn,
            labels: transmit.labels,
            packet,
        });
    }
}
