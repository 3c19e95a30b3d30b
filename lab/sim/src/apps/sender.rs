//! A sender of verifiable messages, by schedule or as fast as the association takes them.

use std::net::IpAddr;

use tresse_core::wire::StreamId;
use tresse_core::{
    AssociationConfig, AssociationId, Bytes, CloseReason, Event, NotOpened, SendError, SendOptions,
    Time, TraceEvent,
};

use super::message::content;
use super::record::{EventRecord, TraceRecord};
use super::sink::Sink;
use crate::application::{Application, Context};

/// A message to be sent at a given moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledMessage {
    /// When, in simulation time (but see [`Sender::from_connection`]).
    pub at: Time,
    /// On which stream.
    pub stream: u16,
    /// Bytes of user data, at least 1. From 8 bytes on the receiver can verify them.
    pub size: usize,
    /// Whether with the U flag.
    pub unordered: bool,
}

impl From<(Time, u16, usize, bool)> for ScheduledMessage {
    fn from((at, stream, size, unordered): (Time, u16, usize, bool)) -> Self {
        ScheduledMessage { at, stream, size, unordered }
    }
}

/// Messages sent as fast as the send buffer takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Bytes of user data of each message, at least 1. From 8 bytes on the receiver can verify
    /// them.
    pub size: usize,
    /// Streams to use in turn, from 0. At least 1.
    pub streams: u16,
    /// Whether with the U flag.
    pub unordered: bool,
    /// How many messages; `None`: no end.
    pub messages: Option<u64>,
    /// Simulation time at which sending starts, or when the association is up if that is later.
    pub from: Time,
    /// Simulation time at which sending ends; `None`: no end.
    pub until: Option<Time>,
}

impl Bulk {
    /// Endless ordered messages of `size` bytes on stream 0, from the beginning.
    pub const fn of_size(size: usize) -> Bulk {
        Bulk { size, streams: 1, unordered: false, messages: None, from: Time::ZERO, until: None }
    }
}

/// What a [`Sender`] sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Each message at its time, in the order of times (equal times: of the list). What the send
    /// buffer does not take at once is sent as soon as there is room, in order.
    Schedule(Vec<ScheduledMessage>),
    /// As much as possible.
    Bulk(Bulk),
}

/// A message that a [`Sender`] sent or wanted to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// Its number, from 0.
    pub index: u64,
    /// Stream.
    pub stream: u16,
    /// Bytes of user data.
    pub size: usize,
    /// Whether with the U flag.
    pub unordered: bool,
    /// When it was to be sent (simulation time): by schedule, or when the send buffer took it.
    pub wanted_at: Time,
    /// When the send buffer took it.
    pub accepted_at: Time,
}

/// Where a [`Sender`] connects to.
#[derive(Clone, Debug)]
struct Target {
    remotes: Vec<IpAddr>,
    port: u16,
    config: AssociationConfig,
}

/// An application that sends messages which a [`Sink`] can verify. What the peer sends is read,
/// see [`Self::sink`].
///
/// Without [`connect`](Self::connect) it sends on the first association that a peer opens.
#[derive(Debug)]
pub struct Sender {
    plan: Plan,
    target: Option<Target>,
    from_connection: bool,
    shutdown_when_done: bool,
    stop_when_closed: bool,
    log: bool,
    ppid: u32,
    association: Option<AssociationId>,
    connected_at: Option<Time>,
    /// When the first association was up.
    origin: Option<Time>,
    /// For when the timer is set.
    timer: Option<Time>,
    /// Number of the next message.
    next: u64,
    /// The next message, if there was no room for it.
    pending: Option<Bytes>,
    sent: Vec<SentMessage>,
    done_at: Option<Time>,
    connect_error: Option<NotOpened>,
    send_error: Option<SendError>,
    closed: Option<CloseReason>,
    sink: Sink,
}

/// The timer for the plan.
const SEND: u64 = 0;

impl Sender {
    /// A sender with this plan. A schedule need not be sorted.
    pub fn new(mut plan: Plan) -> Sender {
        if let Plan::Schedule(schedule) = &mut plan {
            schedule.sort_by_key(|message| message.at);
        }
        Sender {
            plan,
            target: None,
            from_connection: false,
            shutdown_when_done: false,
            stop_when_closed: false,
            log: true,
            ppid: 0,
            association: None,
            connected_at: None,
            origin: None,
            timer: None,
            next: 0,
            pending: None,
            sent: Vec::new(),
            done_at: None,
            connect_error: None,
            send_error: None,
            closed: None,
            sink: Sink::new(),
        }
    }

    /// Opens an association when the host starts.
    #[must_use]
    pub fn connect(mut self, remotes: Vec<IpAddr>, port: u16, config: AssociationConfig) -> Sender {
        self.target = Some(Target { remotes, port, config });
        self
    }

    /// Counts the times of the plan from the moment at which the (first) association is up,
    /// instead of from the beginning of the simulation.
    #[must_use]
    pub fn from_connection(mut self) -> Sender {
        self.from_connection = true;
        self
    }

    /// Shuts the association down once everything has been accepted for sending.
    #[must_use]
    pub fn shutdown_when_done(mut self) -> Sender {
        self.shutdown_when_done = true;
        self
    }

    /// Ends the run when the association has closed.
    #[must_use]
    pub fn stop_when_closed(mut self) -> Sender {
        self.stop_when_closed = true;
        self
    }

    /// Records neither what is sent nor what is received, for long runs in constant memory.
    #[must_use]
    pub fn without_log(mut self) -> Sender {
        self.log = false;
        self.sink = self.sink.without_log();
        self
    }

    /// Payload protocol identifier of all messages. Default 0.
    #[must_use]
    pub fn ppid(mut self, ppid: u32) -> Sender {
        self.ppid = ppid;
        self
    }

    /// The association, once it is being opened or was accepted.
    pub const fn association(&self) -> Option<AssociationId> {
        self.association
    }

    /// Simulation time at which the association was up.
    pub const fn connected_at(&self) -> Option<Time> {
        self.connected_at
    }

    /// Every message that the send buffer took, in order.
    pub fn sent(&self) -> &[SentMessage] {
        &self.sent
    }

    /// How many messages the send buffer took.
    pub const fn messages_sent(&self) -> u64 {
        self.next
    }

    /// Simulation time at which the send buffer had taken the last message of the plan.
    pub const fn done_at(&self) -> Option<Time> {
        self.done_at
    }

    /// Why the association could not be opened.
    pub const fn connect_error(&self) -> Option<&NotOpened> {
        self.connect_error.as_ref()
    }

    /// Why a message was refused, other than for want of room. The sender then gave up.
    pub const fn send_error(&self) -> Option<&SendError> {
        self.send_error.as_ref()
    }

    /// How the association ended.
    pub const fn closed(&self) -> Option<&CloseReason> {
        self.closed.as_ref()
    }

    /// What the peer sent.
    pub const fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Events other than `Readable` and `Writable`.
    pub fn events(&self) -> &[EventRecord] {
        self.sink.events()
    }

    /// Trace events, if the association was configured with `trace`.
    pub fn trace(&self) -> &[TraceRecord] {
        self.sink.trace()
    }

    /// The moment of the plan in simulation time.
    fn moment(&self, at: Time) -> Time {
        let origin = if self.from_connection { self.origin } else { None };
        origin.unwrap_or(Time::ZERO) + at.since(Time::ZERO)
    }

    /// The next message of the plan and when it is to be sent; `None` at the end.
    fn upcoming(&self, now: Time) -> Option<ScheduledMessage> {
        match &self.plan {
            Plan::Schedule(schedule) => {
                let message = schedule.get(usize::try_from(self.next).ok()?)?;
                Some(ScheduledMessage { at: self.moment(message.at), ..*message })
            }
            Plan::Bulk(bulk) => {
                let over = bulk.messages.is_some_and(|count| self.next >= count)
                    || bulk.until.is_some_and(|until| now >= self.moment(until));
                let stream = (self.next % u64::from(bulk.streams.max(1))) as u16;
                let at = self.moment(bulk.from).max(now);
                (!over).then_some(ScheduledMessage {
                    at,
                    stream,
                    size: bulk.size,
                    unordered: bulk.unordered,
                })
            }
        }
    }

    /// Sends what is due, as far as there is room.
    fn proceed(&mut self, cx: &mut Context<'_>) {
        let Some(id) = self.association else { return };
        if self.connected_at.is_none() || self.closed.is_some() || self.done_at.is_some() {
            return;
        }
        let now = cx.simulation_time();
        while let Some(message) = self.upcoming(now) {
            if message.at > now {
                if self.timer != Some(message.at) {
                    self.timer = Some(message.at);
                    cx.set_simulation_timer(message.at, SEND);
                }
                return;
            }
            let options = SendOptions {
                ppid: tresse_core::wire::Ppid(self.ppid),
                unordered: message.unordered,
                ..SendOptions::default()
            };
            let payload = self.pending.take().unwrap_or_else(|| content(self.next, message.size));
            match cx.send(id, StreamId(message.stream), payload.clone(), options) {
                Ok(()) => self.note(&message, now),
                Err(SendError::WouldBlock) => {
                    self.pending = Some(payload);
                    return;
                }
                Err(error) => {
                    self.send_error = Some(error);
                    break;
                }
            }
        }
        self.done_at = Some(now);
        if self.shutdown_when_done {
            // Fails only if the association is gone, which the Closed event tells.
            let _ = cx.shutdown(id);
        }
    }

    fn note(&mut self, message: &ScheduledMessage, now: Time) {
        if self.log {
            self.sent.push(SentMessage {
                index: self.next,
                stream: message.stream,
                size: message.size,
                unordered: message.unordered,
                wanted_at: message.at,
                accepted_at: now,
            });
        }
        self.next += 1;
    }
}

impl Application for Sender {
    /// Opens the association. After a restart the plan goes on where it was; what the send
    /// buffer of the former life had taken is lost.
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.association = None;
        self.connected_at = None;
        self.closed = None;
        self.timer = None;
        self.done_at = None;
        self.sink.on_start(cx);
        let Some(target) = self.target.clone() else { return };
        match cx.connect(&target.remotes, target.port, target.config) {
            Ok(id) => self.association = Some(id),
            Err(error) => self.connect_error = Some(error),
        }
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        if self.association.is_none() {
            self.association = Some(id);
        }
        let ours = self.association == Some(id);
        match &event {
            Event::Connected { .. } if ours => {
                let now = cx.simulation_time();
                self.connected_at = Some(now);
                self.origin.get_or_insert(now);
                self.proceed(cx);
            }
            Event::Writable | Event::Restarted if ours => self.proceed(cx),
            Event::Closed(reason) if ours => {
                self.closed = Some(reason.clone());
                if self.stop_when_closed {
                    cx.stop();
                }
            }
            _ => {}
        }
        self.sink.on_event(cx, id, event);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        if token == SEND {
            self.proceed(cx);
        } else {
            self.sink.on_timer(cx, token);
        }
    }

    fn on_trace(&mut self, now: Time, id: AssociationId, event: &TraceEvent) {
        self.sink.on_trace(now, id, event);
    }
}
