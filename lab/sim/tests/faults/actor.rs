//! The application on both hosts: it follows its plan and tells the ledger.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tresse_core::wire::{Ppid, StreamId};
use tresse_core::{
    AssociationError, AssociationId, AuthenticationEvent, CloseReason, Endpoint, Event, Extensions,
    Message, MessagePart, NotOpened, ReceivedMessage, Reliability, SendError, SendFailure,
    SendOptions, Time, TraceEvent,
};
use tresse_sim::apps::content;
use tresse_sim::{Application, Context};

use crate::ledger::{Kind, Ledger, Mortality};
use crate::limits;
use crate::scenario::{Call, Ending, HostPlan, PORT, Reading, secret};

/// Timers.
const CONNECT: u64 = 0;
const SEND: u64 = 1;
const READ: u64 = 2;
const END: u64 = 3;
const CURFEW: u64 = 4;
const GIVE_UP: u64 = 5;
const CALL: u64 = 6;

/// How a dishonest application falsifies what it received, to see that the ledger notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    Swallow,
    Repeat,
    FlipBit,
    Truncate,
    Swap,
    OtherStream,
    Invent,
    Reflect,
    DenyFailure,
    RepeatFailure,
    NeverReads,
    NeverShutsDown,
    MissesWritable,
    Busy,
    Panic,
}

/// What the application knows of one association.
#[derive(Debug)]
struct Local {
    /// Its number in the ledger.
    end: usize,
    connected: bool,
    closed: bool,
    /// Saw WouldBlock and waits for Writable.
    blocked: bool,
    shut_down: bool,
    /// When the next read is due that a timer was set for.
    read_at: Option<Time>,
    /// Messages of which parts were read, by stream and, with DATA chunks, one of them.
    parts: BTreeMap<u16, ReceivedMessage>,
}

pub(crate) struct Actor {
    host: usize,
    plan: HostPlan,
    curfew: Time,
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    life: u32,
    locals: BTreeMap<AssociationId, Local>,
    current: Option<AssociationId>,
    /// Secrets that are others than in the beginning, also for associations to come: by key, what they differ by.
    secrets: BTreeMap<u16, u8>,
    /// Number of the next message of the plan.
    next: usize,
    reconnects: u32,
    /// Calls at one instant: without progress of time something turns in circles.
    instant: (Time, u32),
    lie: Option<Lie>,
    /// A message that a liar holds back to swap it.
    held: Option<Message>,
}

impl Actor {
    pub(crate) fn new(
        host: usize,
        plan: HostPlan,
        curfew: Time,
        ledger: Rc<RefCell<Ledger>>,
        lie: Option<Lie>,
    ) -> Actor {
        let reconnects = plan.reconnects;
        Actor {
            host,
            plan,
            curfew,
            ledger,
            life: 0,
            locals: BTreeMap::new(),
            current: None,
            secrets: BTreeMap::new(),
            next: 0,
            reconnects,
            instant: (Time::ZERO, 0),
            lie,
            held: None,
        }
    }

    pub(crate) const fn life(&self) -> u32 {
        self.life
    }

    fn violate(&self, kind: Kind, text: impl Into<String>) {
        self.ledger.borrow_mut().violate(kind, text);
    }

    fn note(&self, cx: &Context<'_>, text: impl FnOnce() -> String) {
        let host = self.host;
        let text = || format!("host {host}: {}", text());
        self.ledger.borrow_mut().note(cx.simulation_time(), text);
    }

    /// Counts a call; stops the simulation when there are too many at one instant.
    fn tick(&mut self, cx: &mut Context<'_>) {
        let now = cx.simulation_time();
        if self.instant.0 != now {
            self.instant = (now, 0);
        }
        self.instant.1 += 1;
        if self.instant.1 == limits::CALLS_PER_INSTANT {
            self.violate(Kind::Spin, format!("host {}: busy at {now:?} for ever", self.host));
            cx.stop();
        }
    }

    /// Timers that are past do not matter after a restart.
    fn set_timer(&self, cx: &mut Context<'_>, at: Time, token: u64) {
        if at >= cx.simulation_time() {
            cx.set_simulation_timer(at, token);
        }
    }

    fn register(&mut self, cx: &mut Context<'_>, id: AssociationId) {
        let now = cx.simulation_time();
        let name = format!("host {} life {} {id:?}", self.host, self.life);
        let end = self.ledger.borrow_mut().open(now, self.host, self.life, name);
        let local = Local {
            end,
            connected: false,
            closed: false,
            blocked: false,
            shut_down: false,
            read_at: None,
            parts: BTreeMap::new(),
        };
        self.locals.insert(id, local);
        if self.current.is_none_or(|id| self.locals[&id].closed) {
            self.current = Some(id);
        }
        for (key, salt) in self.secrets.clone() {
            // It is refused where chunks are not authenticated.
            let at = cx.now();
            let _ = cx.endpoint().set_shared_key(at, id, key, &secret(key, salt));
        }
    }

    fn connect(&mut self, cx: &mut Context<'_>) {
        if cx.simulation_time() >= self.curfew {
            return;
        }
        let result = cx.connect(&self.plan.remotes, PORT, self.plan.config.clone());
        self.note(cx, || format!("connect: {result:?}"));
        match result {
            Ok(id) => {
                self.register(cx, id);
                if self.plan.ending == Ending::AtOnce {
                    self.shutdown(cx, id);
                } else if self.plan.early {
                    self.send(cx, id);
                }
            }
            Err(NotOpened::Exists) if self.locals.values().any(|l| !l.closed) => {
                self.ledger.borrow_mut().seen.insert("connect: exists already");
            }
            Err(error) => self.violate(Kind::Refused, format!("host {}: {error}", self.host)),
        }
    }

    fn shutdown(&mut self, cx: &mut Context<'_>, id: AssociationId) {
        if self.lie == Some(Lie::NeverShutsDown) {
            return;
        }
        let Some(local) = self.locals.get_mut(&id).filter(|l| !l.closed) else { return };
        local.shut_down = true;
        let result = cx.shutdown(id);
        self.note(cx, || format!("shutdown {id:?}: {result:?}"));
        // It may be gone already, with Closed behind the event that is being handled. Without
        // Closed it would count as unfinished.
        if result.is_err_and(|error| error != AssociationError::NoAssociation) {
            self.violate(Kind::Refused, format!("host {}: shutdown of {id:?}", self.host));
        }
    }

    /// Sends what is due, as far as there is room.
    fn send(&mut self, cx: &mut Context<'_>, id: AssociationId) {
        let now = cx.simulation_time();
        while let Some(message) = self.plan.traffic.get(self.next).copied() {
            let Some(local) = self.locals.get(&id).filter(|l| !l.closed && !l.blocked) else {
                return;
            };
            if !local.connected && !self.plan.early {
                return;
            }
            if message.at > now {
                cx.set_simulation_timer(message.at, SEND);
                return;
            }
            let end = local.end;
            let number = self.ledger.borrow().next_message();
            let payload = content(u64::from(number), message.size);
            let options = SendOptions {
                ppid: Ppid(number),
                unordered: message.unordered,
                sack_immediately: message.immediate,
                lifetime: message.lifetime,
                reliability: Some(message.reliability),
                context: number,
                key: message.key,
                destination: self.aim(cx, id, message.to),
            };
            match cx.send(id, StreamId(message.stream), payload, options) {
                Ok(()) => {
                    let (stream, size) = (message.stream, message.size);
                    let policy = self.mortality(message.reliability);
                    let mut ledger = self.ledger.borrow_mut();
                    ledger.accepted(end, stream, size, message.unordered, policy);
                }
                Err(SendError::ShuttingDown | SendError::Closed(_)) => return,
                Err(SendError::WouldBlock) => return self.blocked(cx, id, message.size),
                Err(SendError::NoKey { key }) => {
                    let known = cx.endpoint().authentication(id);
                    if known.is_none_or(|known| {
                        known.keys.contains(&key) && !known.deactivated_keys.contains(&key)
                    }) {
                        self.violate(Kind::Refused, format!("host {}: key {key}", self.host));
                    }
                    self.ledger.borrow_mut().seen.insert("message of a key that is not there");
                }
                Err(error) => self.refused(&error, message.stream, message.size),
            }
            self.next += 1;
        }
        if let Ending::WhenDone(delay) = self.plan.ending {
            let at = now + Duration::from_millis(delay);
            if at == now { self.shutdown_once(cx, id) } else { self.set_timer(cx, at, END) }
        }
    }

    /// An address of the peer.
    fn aim(&self, cx: &mut Context<'_>, id: AssociationId, to: Option<u8>) -> Option<IpAddr> {
        let paths = cx.endpoint().path_stats(id);
        Some(paths.get(usize::from(to?))?.remote)
    }

    /// What may become of a message.
    fn mortality(&self, reliability: Reliability) -> Mortality {
        match reliability {
            Reliability::Full => Mortality::Reliable,
            _ if self.plan.agrees => Mortality::Sent,
            Reliability::Timed(_) => Mortality::Unsent,
            _ => Mortality::Reliable,
        }
    }

    fn shutdown_once(&mut self, cx: &mut Context<'_>, id: AssociationId) {
        if self.locals.get(&id).is_some_and(|l| !l.shut_down) {
            self.shutdown(cx, id);
        }
    }

    fn blocked(&mut self, cx: &mut Context<'_>, id: AssociationId, size: usize) {
        let Some(local) = self.locals.get_mut(&id) else { return };
        local.blocked = true;
        self.ledger.borrow_mut().seen.insert("would block");
        let buffered = cx.endpoint().stats(id).map_or(0, |s| s.send_buffered);
        if buffered == 0 || buffered + size <= self.plan.config.send_buffer {
            let text = format!("host {}: WouldBlock: {buffered} + {size} bytes", self.host);
            self.violate(Kind::Refused, text);
        }
    }

    /// Only these refusals have a reason.
    fn refused(&self, error: &SendError, stream: u16, size: usize) {
        let config = &self.plan.config;
        let right = match error {
            SendError::NoStream { streams, .. } => stream >= *streams,
            SendError::TooLarge { limit, .. } => {
                size > *limit && (!config.fragmentation || *limit == config.max_message_size)
            }
            _ => false,
        };
        if right {
            self.ledger.borrow_mut().seen.insert("refused message");
        } else {
            self.violate(Kind::Refused, format!("host {}: send: {error}", self.host));
        }
    }

    /// Reads as the plan allows.
    fn read(&mut self, cx: &mut Context<'_>, id: AssociationId) {
        let now = cx.simulation_time();
        let Some(local) = self.locals.get_mut(&id) else { return };
        if self.lie == Some(Lie::NeverReads) || local.read_at.is_some() {
            return;
        }
        if matches!(self.plan.reading, Reading::Never(_)) && !local.closed {
            return;
        }
        let allowed = self.plan.reading.allowed_at(now);
        if allowed > now {
            local.read_at = Some(allowed);
            cx.set_simulation_timer(allowed, READ);
            return;
        }
        let (count, pause) = match self.plan.reading {
            Reading::Trickle(count, every) => (count, Some(every)),
            _ => (u32::MAX, None),
        };
        for _ in 0..count {
            let Some(received) = cx.recv(id) else { return };
            if let Some(received) = self.put_together(cx, id, received) {
                if let Some(end) = self.locals.get(&id).map(|local| local.end)
                    && !received.unordered
                {
                    let (stream, ssn) = (received.stream.0, received.ssn.0);
                    self.ledger.borrow_mut().numbered(end, stream, ssn);
                }
                self.take(id, received.into_message());
            }
            // What is next may be from after a reset or a restart, which are told before it.
            if self.plan.config.extensions != Extensions::NONE {
                while let Some((id, event)) = cx.endpoint().poll_event() {
                    self.on_event(cx, id, event);
                }
            }
        }
        if let Some(pause) = pause
            && let Some(local) = self.locals.get_mut(&id)
        {
            local.read_at = Some(now + pause);
            cx.set_simulation_timer(now + pause, READ);
        }
    }

    /// A message that is whole, from what was read of it. What is aborted was not sent to its end, or the end has come.
    fn put_together(
        &mut self,
        cx: &mut Context<'_>,
        id: AssociationId,
        received: ReceivedMessage,
    ) -> Option<ReceivedMessage> {
        if received.part == MessagePart::Whole {
            return Some(received);
        }
        let interleaved = cx.endpoint().info(id).is_some_and(|info| info.extensions.interleaving);
        let local = self.locals.get_mut(&id)?;
        let stream = received.stream.0;
        let wrong = match (received.part, local.parts.get(&stream)) {
            (MessagePart::First, open) => {
                open.is_some() || !(interleaved || local.parts.is_empty())
            }
            (_, Some(open)) => open.tsn != received.tsn || open.ssn != received.ssn,
            (_, None) => true,
        };
        let mut ledger = self.ledger.borrow_mut();
        let end = &mut ledger.ends[local.end];
        end.parts += 1;
        end.received_bytes += received.payload.len() as u64;
        let mut open = local.parts.remove(&stream);
        let whole = match received.part {
            MessagePart::Aborted => {
                ledger.seen.insert("aborted after a part was read");
                None
            }
            MessagePart::Last => {
                ledger.seen.insert("read in parts");
                let open = open.take()?;
                // It is counted as a whole message.
                let payload = [open.payload, received.payload.clone()].concat();
                ledger.ends[local.end].received_bytes -= payload.len() as u64;
                Some(ReceivedMessage { payload: payload.into(), ..received.clone() })
            }
            _ => {
                let before = open.take().map(|open| open.payload).unwrap_or_default();
                let payload = [before, received.payload.clone()].concat().into();
                local.parts.insert(stream, ReceivedMessage { payload, ..received.clone() });
                None
            }
        };
        if wrong {
            let text = format!("{:?} of stream {stream} out of its place", received.part);
            ledger.violate(Kind::Mixed, text);
        }
        whole
    }

    /// Reads from the associations whose time has come.
    fn read_due(&mut self, cx: &mut Context<'_>) {
        let now = cx.simulation_time();
        for id in self.locals.keys().copied().collect::<Vec<_>>() {
            let Some(local) = self.locals.get_mut(&id) else { continue };
            if local.read_at.is_some_and(|at| at <= now) {
                local.read_at = None;
                self.read(cx, id);
            }
        }
    }

    fn take(&mut self, id: AssociationId, mut message: Message) {
        let Some(local) = self.locals.get(&id) else { return };
        let mut ledger = self.ledger.borrow_mut();
        let first = ledger.ends[local.end].received == 0;
        match self.lie {
            Some(Lie::Swallow) if first => {
                ledger.ends[local.end].received += 1;
                ledger.ends[local.end].received_bytes += message.payload.len() as u64;
                self.lie = None;
                return;
            }
            Some(Lie::Repeat) if first => ledger.delivered(local.end, &message.clone()),
            Some(Lie::FlipBit) if first => {
                let mut bytes = message.payload.to_vec();
                bytes[0] ^= 1;
                message.payload = bytes.into();
            }
            Some(Lie::Truncate) if first => message.payload.truncate(message.payload.len() - 1),
            Some(Lie::OtherStream) if first => message.stream = StreamId(message.stream.0 + 1),
            Some(Lie::Invent) if first => message.ppid = Ppid(u32::MAX),
            Some(Lie::Reflect) if first => {
                if let Some(own) = ledger.first_of(self.host) {
                    message.ppid = Ppid(own);
                }
            }
            Some(Lie::Panic) => panic!("a lie"),
            Some(Lie::Swap) if self.held.is_none() => {
                self.held = Some(message);
                return;
            }
            _ => {}
        }
        ledger.delivered(local.end, &message);
        if let Some(held) = self.held.take() {
            ledger.delivered(local.end, &held);
            self.lie = None;
        }
    }

    fn closed(&mut self, cx: &mut Context<'_>, id: AssociationId, reason: CloseReason) {
        let now = cx.simulation_time();
        let Some(local) = self.locals.get_mut(&id) else { return };
        local.closed = true;
        let end = local.end;
        let crossed = reason == CloseReason::Crossed;
        let failed = !(crossed || matches!(reason, CloseReason::Shutdown | CloseReason::Aborted));
        let seen = match &reason {
            CloseReason::Shutdown => "closed: shutdown",
            CloseReason::Aborted => "closed: aborted",
            CloseReason::PeerAborted { .. } => "closed: peer aborted",
            CloseReason::Unreachable => "closed: unreachable",
            CloseReason::SetupFailed => "closed: setup failed",
            CloseReason::Crossed => "closed: crossed",
            CloseReason::ShutdownTimeout => "closed: shutdown timeout",
            CloseReason::ProtocolViolation(_) => "closed: protocol violation",
            _ => "closed: other",
        };
        self.ledger.borrow_mut().seen.insert(seen);
        if let CloseReason::ProtocolViolation(what) = reason
            && what != limits::TOO_LONG
        {
            // Both ends are ours: neither may break the protocol.
            self.violate(Kind::NotGraceful, format!("host {}: {what}", self.host));
        }
        match cx.endpoint().stats(id) {
            Some(stats) => {
                limits::check_counters(&mut self.ledger.borrow_mut(), end, &stats);
            }
            None => self.violate(Kind::Counters, "no counters while Closed is handled"),
        }
        self.ledger.borrow_mut().closed(now, end, reason);
        self.read(cx, id);
        if crossed {
            self.go_on(cx);
        }
        if failed && self.reconnects > 0 && self.plan.connect_at.is_some() {
            self.reconnects -= 1;
            let wait = Duration::from_millis(cx.rng().next_u64() % 500);
            cx.set_simulation_timer(now + wait, CONNECT);
            self.ledger.borrow_mut().seen.insert("reconnected");
        }
    }

    /// The peer's call is the one that remains.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        let other = self.locals.iter().find(|(_, local)| !local.closed).map(|(id, _)| *id);
        let Some(id) = other else {
            return self.violate(Kind::EventOrder, "Crossed without another association");
        };
        self.current = Some(id);
        self.send(cx, id);
    }

    fn send_failed(&mut self, cx: &Context<'_>, end: usize, failure: &SendFailure) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.seen.insert("send failed");
        if self.lie == Some(Lie::DenyFailure) {
            self.lie = None;
            return;
        }
        ledger.failed(cx.simulation_time(), end, failure);
        if self.lie == Some(Lie::RepeatFailure) {
            ledger.failed(cx.simulation_time(), end, failure);
        }
    }

    fn call(&mut self, cx: &mut Context<'_>, index: usize) {
        let call = self.plan.calls[index].1;
        if let Call::NewSecret(key, salt) = call {
            self.secrets.insert(key, salt);
        }
        let Some(id) = self.current else { return };
        let now = cx.now();
        // Errors are fine: the path may not exist, or not be confirmed, or something else is under way.
        let result = match call {
            Call::SetPrimary(path) => {
                let result = cx.endpoint().set_primary(now, id, tresse_core::PathId(path));
                format!("{result:?}")
            }
            Call::RequestHeartbeat(path) => {
                let result = cx.endpoint().request_heartbeat(now, id, tresse_core::PathId(path));
                format!("{result:?}")
            }
            Call::ResetStreams(direction, bits) => {
                let streams: Vec<StreamId> =
                    (0..16).filter(|bit| bits >> bit & 1 == 1).map(StreamId).collect();
                let result = cx.endpoint().reset_streams(now, id, direction, &streams);
                format!("{result:?}")
            }
            Call::ResetAssociation => format!("{:?}", cx.endpoint().reset_association(now, id)),
            Call::AddStreams(outgoing, incoming) => {
                format!("{:?}", cx.endpoint().add_streams(now, id, outgoing, incoming))
            }
            Call::SetKey(key) => {
                let secret = secret(key, self.plan.salt);
                format!("{:?}", cx.endpoint().set_shared_key(now, id, key, &secret))
            }
            Call::NewSecret(key, salt) => {
                let result = cx.endpoint().set_shared_key(now, id, key, &secret(key, salt));
                if result.is_ok() {
                    self.ledger.borrow_mut().seen.insert("secret changed");
                }
                format!("{result:?}")
            }
            Call::ActivateKey(key) => {
                let result = cx.endpoint().activate_shared_key(now, id, key);
                if result.is_ok() {
                    self.ledger.borrow_mut().seen.insert("key activated");
                }
                format!("{result:?}")
            }
            Call::DeactivateKey(key) => {
                format!("{:?}", cx.endpoint().deactivate_shared_key(now, id, key))
            }
            Call::DeleteKey(key) => {
                format!("{:?}", cx.endpoint().delete_shared_key(now, id, key))
            }
            Call::ChangeAddress(change, address) => {
                let result = cx.endpoint().change_address(now, id, change, address);
                if result.is_ok()
                    && let Some(local) = self.locals.get(&id)
                {
                    self.ledger.borrow_mut().asked(local.end, change, address);
                }
                format!("{result:?}")
            }
        };
        self.note(cx, || format!("{call:?}: {result}"));
        self.ledger.borrow_mut().seen.insert("called");
    }

    /// What holds at any moment for the associations of this host.
    fn inspect(&self, cx: &mut Context<'_>) {
        for (id, local) in self.locals.iter().filter(|(_, local)| !local.closed) {
            if let Some(stats) = cx.endpoint().stats(*id) {
                let ledger = &mut self.ledger.borrow_mut();
                limits::check_memory(ledger, local.end, &stats, &self.plan.config);
            }
        }
    }

    /// What holds between events.
    pub(crate) fn check(&self, endpoint: &Endpoint, id: AssociationId) {
        let Some(local) = self.locals.get(&id) else { return };
        let Some(stats) = endpoint.stats(id) else { return };
        let config = &self.plan.config;
        limits::check_memory(&mut self.ledger.borrow_mut(), local.end, &stats, config);
        if endpoint.info(id).is_some_and(|info| info.nr_sack) {
            self.ledger.borrow_mut().seen.insert("NR-SACKs");
        }
        for path in endpoint.path_stats(id) {
            limits::check_path(&mut self.ledger.borrow_mut(), local.end, &path, config);
        }
        // Writable comes once half of the buffer is free.
        if local.blocked && !local.closed && stats.send_buffered == 0 {
            self.violate(Kind::LostWakeup, format!("host {}: nothing buffered", self.host));
        }
    }
}

impl Application for Actor {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.life += 1;
        self.note(cx, || format!("starts, life {}", self.life));
        self.locals.clear();
        self.current = None;
        if let Some(at) = self.plan.connect_at {
            cx.set_simulation_timer(at.max(cx.simulation_time()), CONNECT);
        }
        if let Ending::At(at) | Ending::AbortAt(at) = self.plan.ending {
            self.set_timer(cx, at, END);
        }
        cx.set_simulation_timer(self.curfew, CURFEW);
        if let Reading::Never(patience) = self.plan.reading {
            cx.set_simulation_timer(self.curfew + patience, GIVE_UP);
        }
        for (index, (at, _)) in self.plan.calls.iter().enumerate() {
            self.set_timer(cx, *at, CALL + index as u64);
        }
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        self.tick(cx);
        self.note(cx, || match &event {
            Event::SendFailed(SendFailure { message: m, .. })
            | Event::Expired(SendFailure { message: m, .. })
            | Event::Abandoned(SendFailure { message: m, .. }) => {
                let (ppid, size) = (m.ppid.0, m.payload.len());
                let what = match event {
                    Event::Expired(_) => "Expired",
                    Event::Abandoned(_) => "Abandoned",
                    _ => "SendFailed",
                };
                format!("{id:?} {what}(message {ppid}, {size} bytes)")
            }
            event => format!("{id:?} {event:?}"),
        });
        let now = cx.simulation_time();
        if !self.locals.contains_key(&id) {
            self.register(cx, id);
            if !matches!(event, Event::Connected { accepted: true, .. }) {
                self.violate(Kind::EventOrder, format!("a new association begins by {event:?}"));
            }
        }
        let Some(local) = self.locals.get_mut(&id) else { return };
        let end = local.end;
        if local.closed {
            self.violate(Kind::EventOrder, format!("host {}: {event:?} after Closed", self.host));
            return;
        }
        match event {
            Event::Connected { .. } => {
                local.connected = true;
                self.ledger.borrow_mut().connected(now, end);
                if self.plan.ending == Ending::AtOnce || now >= self.curfew {
                    self.shutdown_once(cx, id);
                }
                self.send(cx, id);
            }
            Event::Restarted => {
                // Whatever was under way, the association is a new one.
                local.shut_down = false;
                self.ledger.borrow_mut().restarted(end);
                self.ledger.borrow_mut().seen.insert("restarted");
                if now >= self.curfew {
                    self.shutdown(cx, id);
                }
                self.send(cx, id);
            }
            Event::Readable => self.read(cx, id),
            Event::Writable => {
                if !local.blocked {
                    self.violate(Kind::EventOrder, "Writable that nobody waits for");
                } else if self.lie != Some(Lie::MissesWritable) {
                    local.blocked = false;
                    self.send(cx, id);
                }
            }
            Event::SendFailed(failure) => self.send_failed(cx, end, &failure),
            Event::Expired(failure) => {
                self.ledger.borrow_mut().expired(now, end, &failure);
            }
            Event::Abandoned(failure) => {
                self.ledger.borrow_mut().abandoned(now, end, &failure);
            }
            Event::Closed(reason) => self.closed(cx, id, reason),
            Event::PeerShutdown => {
                self.ledger.borrow_mut().seen.insert("peer shut down");
            }
            Event::PathChanged { .. } => {
                self.ledger.borrow_mut().seen.insert("path changed");
            }
            Event::PeerError { .. } => {
                self.ledger.borrow_mut().seen.insert("peer error");
            }
            Event::Authentication(event) => {
                let new = matches!(event, AuthenticationEvent::NewKey { .. });
                let seen = if new { "peer uses another key" } else { "told of authentication" };
                self.ledger.borrow_mut().seen.insert(seen);
            }
            Event::AddressChanged { change, address, outcome } => {
                let follows = self.plan.config.follow_host_addresses;
                let mut ledger = self.ledger.borrow_mut();
                ledger.address_changed(end, change, address, outcome, follows);
            }
            Event::PeerAddressAdded(..) => {
                self.ledger.borrow_mut().seen.insert("peer has an address more");
            }
            Event::PeerAddressRemoved(..) => {
                self.ledger.borrow_mut().seen.insert("peer has an address less");
            }
            event => self.ledger.borrow_mut().reconfigured(end, &event),
        }
        self.inspect(cx);
    }

    fn on_trace(&mut self, now: Time, _: AssociationId, event: &TraceEvent) {
        let text = || format!("host {}: {event:?}", self.host);
        self.ledger.borrow_mut().note(now, text);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        self.tick(cx);
        match token {
            CONNECT => self.connect(cx),
            SEND => {
                if let Some(id) = self.current {
                    self.send(cx, id);
                }
            }
            READ => self.read_due(cx),
            END => {
                if let Some(id) = self.current
                    && !self.locals[&id].closed
                {
                    if let Ending::AbortAt(_) = self.plan.ending {
                        self.note(cx, || "abort".into());
                        let result = cx.abort(id, b"enough");
                        if let Err(error) = result {
                            self.violate(Kind::Refused, format!("host {}: {error}", self.host));
                        }
                    } else {
                        self.shutdown_once(cx, id);
                    }
                }
            }
            CURFEW => {
                if self.lie == Some(Lie::Busy) {
                    cx.set_simulation_timer(cx.simulation_time(), CURFEW);
                }
                for id in self.locals.keys().copied().collect::<Vec<_>>() {
                    self.shutdown(cx, id);
                }
            }
            GIVE_UP => {
                for id in self.locals.keys().copied().collect::<Vec<_>>() {
                    // It may be gone already.
                    let result = cx.abort(id, b"nobody reads");
                    self.note(cx, || format!("abort {id:?}: {result:?}"));
                }
            }
            index => self.call(cx, (index - CALL) as usize),
        }
        self.inspect(cx);
    }
}
