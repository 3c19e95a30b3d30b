//! What the handles of an endpoint and its driver share.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use slotmap::SecondaryMap;
use tokio::sync::{Notify, mpsc};
use tresse_carrier::CarrierStats;
use tresse_core::{AssociationConfig, AssociationId, Event, Message, NotOpened, PeerKey, Time};

use crate::clock::Clock;
use crate::error::{Closed, ConnectError, NoRoute};
use crate::figures::AssociationMetrics;
use crate::host;
use crate::runtime::Runtime;
use crate::team::{Mail, Member, Membership};
use crate::untold::Untold;

/// Events kept for [`next_event`](crate::Association::next_event); a peer can cause any number.
pub(crate) const MAX_EVENTS: usize = 64;

/// One endpoint.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    /// The address of each socket; at least one.
    pub(crate) local: Vec<SocketAddr>,
    /// The sockets are those of the system: its routes and interfaces say whom they reach.
    pub(crate) of_system: bool,
    pub(crate) sctp_port: u16,
    /// For timers of what is no driver.
    pub(crate) runtime: Arc<dyn Runtime>,
    /// Woken when an association waits to be accepted or none will come any more.
    pub(crate) incoming: Arc<Notify>,
    /// If it is one of several shards of an endpoint.
    pub(crate) member: Option<Membership>,
    /// Woken when an association ends.
    pub(crate) idle: Notify,
}

/// Everything behind the lock.
pub(crate) struct State {
    pub(crate) core: tresse_core::Endpoint,
    pub(crate) slots: SecondaryMap<AssociationId, Slot>,
    /// Established by peers and not accepted yet.
    pub(crate) backlog: VecDeque<AssociationId>,
    pub(crate) max_backlog: usize,
    /// Send buffer of associations that peers open.
    pub(crate) accepted_send_buffer: usize,
    /// The driver, while it sleeps.
    pub(crate) driver: Option<Waker>,
    /// Whether an endpoint handle exists.
    pub(crate) accepting: bool,
    /// Why the driver has ended, once it has.
    pub(crate) ended: Option<Arc<str>>,
    /// Link-local peers that the carrier has to learn.
    pub(crate) zones: Vec<SocketAddr>,
    pub(crate) carrier: CarrierStats,
    /// What reached another shard of the endpoint.
    pub(crate) inbox: Mail,
    /// Where events go instead of to slots: the endpoint is a [`RawEndpoint`](crate::RawEndpoint).
    pub(crate) tap: Option<mpsc::UnboundedSender<(AssociationId, Event)>>,
    /// What begins again, without anybody having heard of it.
    pub(crate) untold: Untold,
}

/// One association as its handles see it.
pub(crate) struct Slot {
    pub(crate) phase: Phase,
    /// When it was established, or the peer has restarted.
    pub(crate) opened: Time,
    pub(crate) signals: Arc<Signals>,
    /// No handle is left: what arrives is discarded, and the slot goes when it closes.
    pub(crate) orphan: bool,
    /// Negotiated streams, ours and the peer's.
    pub(crate) streams: (u16, u16),
    pub(crate) events: VecDeque<Event>,
    pub(crate) events_missed: u64,
    /// Messages that were not acknowledged, newest last, at most `send_buffer` bytes.
    pub(crate) unacknowledged: VecDeque<Message>,
    pub(crate) unacknowledged_bytes: usize,
    pub(crate) send_buffer: usize,
    /// Figures at the moment it closed, a moment before `phase` says so.
    pub(crate) last: Option<Box<AssociationMetrics>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Open,
    Closed(Closed),
}

/// What tasks of one association wait for. Waking is cheap when nobody waits.
#[derive(Default)]
pub(crate) struct Signals {
    pub(crate) readable: Notify,
    pub(crate) writable: Notify,
    /// The phase changed, or an event came.
    pub(crate) changed: Notify,
}

impl Signals {
    pub(crate) fn wake_all(&self) {
        self.readable.notify_waiters();
        self.writable.notify_waiters();
        self.changed.notify_waiters();
    }
}

impl Slot {
    pub(crate) fn new(phase: Phase, send_buffer: usize) -> Slot {
        Slot {
            phase,
            opened: Time::ZERO,
            signals: Arc::default(),
            orphan: false,
            streams: (0, 0),
            events: VecDeque::new(),
            events_missed: 0,
            unacknowledged: VecDeque::new(),
            unacknowledged_bytes: 0,
            send_buffer,
            last: None,
        }
    }

    pub(crate) fn closed(&self) -> Option<&Closed> {
        match &self.phase {
            Phase::Closed(closed) => Some(closed),
            _ => None,
        }
    }

    /// Whether the handshake has come to its end, whatever came then.
    pub(crate) fn was_open(&self) -> bool {
        self.streams != (0, 0)
    }

    fn push_event(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
            self.events_missed += 1;
        }
        self.events.push_back(event);
        self.signals.changed.notify_waiters();
    }

    fn keep_unacknowledged(&mut self, message: Message) {
        self.unacknowledged_bytes += message.payload.len();
        self.unacknowledged.push_back(message);
        // Restarts can repeat without end: no more is kept than could ever be outstanding.
        while self.unacknowledged_bytes > self.send_buffer && self.unacknowledged.len() > 1 {
            if let Some(oldest) = self.unacknowledged.pop_front() {
                self.unacknowledged_bytes -= oldest.payload.len();
            }
        }
    }
}

impl Shared {
    pub(crate) fn new(
        state: State,
        local: Vec<SocketAddr>,
        of_system: bool,
        sctp_port: u16,
        runtime: Arc<dyn Runtime>,
        team: Option<(Membership, Arc<Notify>)>,
    ) -> Shared {
        let (member, incoming) = team.map_or_else(Default::default, |(m, n)| (Some(m), n));
        Shared {
            state: Mutex::new(state),
            clock: Clock::start(),
            local,
            of_system,
            sctp_port,
            runtime,
            incoming,
            member,
            idle: Notify::new(),
        }
    }

    /// Packets travel in UDP datagrams.
    pub(crate) fn is_encapsulated(&self) -> bool {
        self.local[0].port() != 0
    }

    /// The addresses that packets can leave from at present.
    pub(crate) fn host_addresses(&self) -> io::Result<Vec<IpAddr>> {
        if self.of_system {
            host::addresses(&self.local)
        } else {
            Ok(self.local.iter().map(SocketAddr::ip).collect())
        }
    }

    /// Whether packets can leave from this address.
    pub(crate) fn sends_from(&self, address: IpAddr) -> bool {
        !self.of_system || host::sends_from(address, &self.local)
    }

    /// Whether a socket is of the family of one of these addresses.
    pub(crate) fn check_families(&self, peers: &[IpAddr]) -> Result<(), ConnectError> {
        let reached = |peer: &IpAddr| self.local.iter().any(|s| host::reaches(*s, *peer));
        match peers.first() {
            Some(&address) if self.of_system && !peers.iter().any(reached) => {
                Err(ConnectError::OtherFamily { address })
            }
            _ => Ok(()),
        }
    }

    /// Whether a packet can leave for one of these addresses.
    pub(crate) fn check_routes(&self, peers: &[SocketAddr]) -> Result<(), NoRoute> {
        if self.of_system { host::check_routes(&self.local, peers) } else { Ok(()) }
    }

    /// The state. A panic of another holder ends the driver, which marks everything as ended, so
    /// the poison itself carries no news.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an association, unless another shard of the endpoint has one with this peer.
    pub(crate) fn connect(
        &self,
        state: &mut State,
        now: Time,
        remotes: &[IpAddr],
        remote_port: u16,
        config: AssociationConfig,
    ) -> Result<AssociationId, NotOpened> {
        let Some(member) = &self.member else {
            return state.core.connect(now, remotes, remote_port, config);
        };
        let (local_port, encapsulation) = (self.sctp_port, config.encapsulation);
        let key = |address| PeerKey { local_port, address, remote_port, encapsulation };
        let connect = || state.core.connect(now, remotes, remote_port, config);
        member.alone_with(remotes, key, connect).unwrap_or(Err(NotOpened::Exists))
    }

    /// Runs `action`, then lets the driver see to what it caused. The driver is woken once, by
    /// the first action after it went to sleep, and after the lock was released.
    pub(crate) fn act<R>(&self, action: impl FnOnce(&mut State, Time) -> R) -> R {
        let now = self.clock.now();
        let mut state = self.lock();
        let result = action(&mut state, now);
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        result
    }
}

impl Member for Shared {
    fn accept(&self, mail: &mut Mail, lost: &AtomicU64) {
        self.act(|state, _| state.inbox.accept(mail, lost));
    }

    fn wake(&self) {
        self.act(|_, _| ());
    }
}

impl State {
    /// Applies what the core told of one association. `Closed` comes with the last figures.
    pub(crate) fn apply(&mut self, shared: &Shared, told: Told, now: Time) {
        let Told { id, event, last } = told;
        if let Some(tap) = &self.tap {
            // Whoever does not listen any more has no use for events.
            if let Err(unheard) = tap.send((id, event)) {
                let (id, event) = unheard.0;
                self.untold.hear(id, &event);
            }
            return;
        }
        self.untold.hear(id, &event);
        if let Event::Connected { accepted: true, outbound_streams, inbound_streams } = event
            && !self.slots.contains_key(id)
        {
            self.admit(shared, id, (outbound_streams, inbound_streams), now);
            return;
        }
        let Some(slot) = self.slots.get_mut(id) else {
            if matches!(event, Event::Closed(_)) {
                self.core.forget(id);
            }
            return;
        };
        match event {
            Event::Readable if slot.orphan => while self.core.recv(now, id).is_some() {},
            Event::Readable => slot.signals.readable.notify_waiters(),
            Event::Writable => slot.signals.writable.notify_waiters(),
            Event::Connected { outbound_streams, inbound_streams, .. } => {
                slot.streams = (outbound_streams, inbound_streams);
                slot.phase = Phase::Open;
                slot.opened = now;
                slot.signals.changed.notify_waiters();
            }
            Event::SendFailed(failure) => slot.keep_unacknowledged(failure.message),
            Event::Closed(reason) => {
                slot.last = last.or(slot.last.take());
                slot.push_event(Event::Closed(reason.clone()));
                self.close(shared, id, Closed::Association(reason));
            }
            // Writers must learn of both: the buffer is empty, or nothing is accepted any more.
            Event::PeerShutdown => {
                slot.push_event(event);
                slot.signals.writable.notify_waiters();
            }
            // What comes behind it waited for that.
            Event::Restarted => {
                slot.opened = now;
                slot.push_event(event);
                slot.signals.writable.notify_waiters();
                slot.signals.readable.notify_waiters();
            }
            Event::StreamsAdded { outbound_streams, inbound_streams, .. } => {
                slot.streams = (outbound_streams, inbound_streams);
                slot.push_event(event);
            }
            // What comes behind it waited for that.
            Event::StreamsReset { .. } | Event::AssociationReset { .. } => {
                slot.push_event(event);
                slot.signals.readable.notify_waiters();
            }
            event => slot.push_event(event),
        }
    }

    /// Whether what could be read of an association now may be from behind an event that nobody has heard of.
    pub(crate) fn tells_of_reset(&self, id: AssociationId) -> bool {
        self.core.tells_of_reset(id) || self.untold.has(id)
    }

    /// Queues a new association of a peer for `accept`, or aborts it.
    fn admit(&mut self, shared: &Shared, id: AssociationId, streams: (u16, u16), now: Time) {
        if !self.accepting || self.backlog.len() >= self.max_backlog {
            let _ = self.core.abort(now, id, b"nobody accepts this association");
            return;
        }
        let mut slot = Slot::new(Phase::Open, self.accepted_send_buffer);
        slot.streams = streams;
        slot.opened = now;
        self.slots.insert(id, slot);
        self.backlog.push_back(id);
        shared.incoming.notify_waiters();
    }

    /// Keeps the last figures of an association as soon as the core has dropped them, though its end is told only after its
    /// packets have left.
    pub(crate) fn keep_last(&mut self, told: &mut Told) {
        if let Some(slot) = self.slots.get_mut(told.id)
            && told.last.is_some()
        {
            slot.last = told.last.take();
        }
    }

    /// Marks an association as ended and wakes everyone who waits for it.
    pub(crate) fn close(&mut self, shared: &Shared, id: AssociationId, closed: Closed) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        slot.phase = Phase::Closed(closed);
        slot.signals.wake_all();
        if slot.orphan {
            self.remove(id);
        }
        shared.idle.notify_waiters();
    }

    /// Whether no handle is left, and no association that would need the driver.
    pub(crate) fn is_finished(&self) -> bool {
        !self.accepting
            && self.slots.is_empty()
            && (self.tap.is_none() || self.core.associations().is_empty())
    }

    /// Whether every association has ended.
    pub(crate) fn is_idle(&self) -> bool {
        self.slots.values().all(|slot| slot.closed().is_some())
    }

    /// The last handle of an association is gone.
    pub(crate) fn release(&mut self, id: AssociationId, now: Time) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        slot.orphan = true;
        match slot.phase {
            Phase::Closed(_) => return self.remove(id),
            Phase::Connecting => {
                let _ = self.core.abort(now, id, b"the request was cancelled");
            }
            Phase::Open => {
                let _ = self.core.shutdown(now, id);
            }
        }
        // The peer can finish only if its messages find room.
        while self.core.recv(now, id).is_some() {}
    }

    /// Nobody will take this association of the backlog any more.
    pub(crate) fn decline(&mut self, id: AssociationId, now: Time, reason: &[u8]) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        if slot.closed().is_some() {
            return self.remove(id);
        }
        slot.orphan = true;
        let _ = self.core.abort(now, id, reason);
    }

    fn remove(&mut self, id: AssociationId) {
        self.slots.remove(id);
        self.core.forget(id);
    }

    /// Ends everything: the driver is gone.
    pub(crate) fn end(&mut self, shared: &Shared, why: &Arc<str>) {
        self.ended = Some(Arc::clone(why));
        self.backlog.clear();
        let open: Vec<AssociationId> =
            self.slots.iter().filter(|(_, s)| s.closed().is_none()).map(|(id, _)| id).collect();
        for id in open {
            if let Some(slot) = self.slots.get_mut(id) {
                slot.phase = Phase::Closed(Closed::Driver(Arc::clone(why)));
                slot.signals.wake_all();
            }
        }
        shared.incoming.notify_waiters();
        shared.idle.notify_waiters();
    }
}

/// An event as the driver took it from the core.
pub(crate) struct Told {
    pub(crate) id: AssociationId,
    pub(crate) event: Event,
    /// With `Closed`: the figures, before the core drops them.
    pub(crate) last: Option<Box<AssociationMetrics>>,
}

impl Told {
    /// Takes the next event.
    pub(crate) fn poll(core: &mut tresse_core::Endpoint) -> Option<Told> {
        let (id, event) = core.poll_event()?;
        let closed = matches!(event, Event::Closed(_));
        let last = if closed { AssociationMetrics::of(core, id).map(Box::new) } else { None };
        Some(Told { id, event, last })
    }
}

/// Waits until `check` gives a value, looking again whenever `signal` is notified.
pub(crate) async fn wait<T>(signal: &Notify, mut check: impl FnMut() -> Option<T>) -> T {
    // Most calls need not wait, and registering costs a lock.
    if let Some(value) = check() {
        return value;
    }
    loop {
        let mut notified = std::pin::pin!(signal.notified());
        // Registered before looking: a notification in between is not lost.
        notified.as_mut().enable();
        if let Some(value) = check() {
            return value;
        }
        notified.await;
    }
}
