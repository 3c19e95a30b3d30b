//! Programs that run on an endpoint.

use std::any::Any;

use tresse_core::wire::StreamId;
use tresse_core::{
    AssociationConfig, AssociationError, AssociationId, Bytes, Endpoint, Event, NotOpened,
    ReceivedMessage, Rng, SendError, SendOptions, Time, TraceEvent,
};

use crate::clock::Clock;
use crate::event_queue::Happening;
use crate::ids::HostId;
use crate::packet::Packet;
use crate::world::World;

/// A program that runs on the endpoint of a simulated host. Everything it does takes no time.
pub trait Application: Any {
    /// The host has started, or started again after a crash.
    fn on_start(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// An association has something to tell.
    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        let _ = (cx, id, event);
    }

    /// A timer set with [`Context::set_timer`] has expired.
    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        let _ = (cx, token);
    }

    /// A trace event; `now` is simulation time. Only for associations configured with `trace`.
    fn on_trace(&mut self, now: Time, id: AssociationId, event: &TraceEvent) {
        let _ = (now, id, event);
    }

    /// A packet leaves the endpoint (`outgoing`), after the trace events of its chunks; or one
    /// reaches it, before it is handled. What an analyser on this host's interface would see, at
    /// simulation time `now`.
    fn on_packet(&mut self, now: Time, outgoing: bool, packet: &Packet) {
        let _ = (now, outgoing, packet);
    }
}

/// What an [`Application`] can do.
pub struct Context<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) endpoint: &'a mut Endpoint,
    pub(crate) rng: &'a mut Rng,
    pub(crate) host: HostId,
    pub(crate) life: u32,
    pub(crate) clock: Clock,
}

impl Context<'_> {
    /// The time on this host's clock: what the endpoint must be given.
    pub fn now(&self) -> Time {
        self.clock.read(self.world.now)
    }

    /// Simulation time, which differs from [`Self::now`] after the host's clock jumped.
    pub fn simulation_time(&self) -> Time {
        self.world.now
    }

    /// The moment `at` of this host's clock, as it goes now, in simulation time.
    pub fn to_simulation_time(&self, at: Time) -> Time {
        self.clock.to_simulation(at)
    }

    /// This host.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// The endpoint. Give it [`Self::now`] as the time.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        self.endpoint
    }

    /// [`Endpoint::connect`] now.
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn connect(
        &mut self,
        remotes: &[std::net::IpAddr],
        remote_port: u16,
        config: AssociationConfig,
    ) -> Result<AssociationId, NotOpened> {
        let now = self.now();
        self.endpoint.connect(now, remotes, remote_port, config)
    }

    /// [`Endpoint::send`] now.
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn send(
        &mut self,
        id: AssociationId,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let now = self.now();
        self.endpoint.send(now, id, stream, payload, options)
    }

    /// [`Endpoint::recv`] now.
    pub fn recv(&mut self, id: AssociationId) -> Option<ReceivedMessage> {
        let now = self.now();
        self.endpoint.recv(now, id)
    }

    /// [`Endpoint::shutdown`] now.
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn shutdown(&mut self, id: AssociationId) -> Result<(), AssociationError> {
        let now = self.now();
        self.endpoint.shutdown(now, id)
    }

    /// [`Endpoint::abort`] now.
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn abort(&mut self, id: AssociationId, reason: &[u8]) -> Result<(), AssociationError> {
        let now = self.now();
        self.endpoint.abort(now, id, reason)
    }

    /// Calls [`Application::on_timer`] with `token` when this host's clock, as it goes now, shows
    /// `at`, or at once if that is past. Later jumps of the clock do not move the timer. Timers
    /// cannot be withdrawn: ignore the token instead. They die with a crash or restart.
    pub fn set_timer(&mut self, at: Time, token: u64) {
        self.set_simulation_timer(self.clock.to_simulation(at), token);
    }

    /// [`Self::set_timer`] for a moment in simulation time.
    pub fn set_simulation_timer(&mut self, at: Time, token: u64) {
        let happening = Happening::Timer { host: self.host.0, life: self.life, token };
        self.world.schedule(at, happening);
    }

    /// The random source of this application.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    /// Ends the current run after this event, with [`StopReason::Stopped`](crate::StopReason).
    pub fn stop(&mut self) {
        self.world.stop = true;
    }
}
