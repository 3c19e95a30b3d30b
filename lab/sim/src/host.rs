//! The hosts of a simulation and what happens inside them.

use std::any::Any;
use std::net::IpAddr;

use tresse_core::{Bytes, Datagram, Endpoint, EndpointConfig, Icmp, IcmpKind, Rng, Time};

use crate::application::{Application, Context};
use crate::clock::Clock;
use crate::event_queue::Happening;
use crate::ids::HostId;
use crate::node::{Node, NodeContext};
use crate::packet::{ENCAPSULATION_PORT, Packet, Protocol, UdpPorts};
use crate::processor::{Job, Processor};
use crate::seed::{self, Owner};
use crate::world::{Refused, World};

pub(crate) struct Host {
    pub(crate) id: HostId,
    pub(crate) name: String,
    running: bool,
    /// How often the host has started.
    life: u32,
    rng: Rng,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Endpoint(Box<EndpointHost>),
    Node(Box<dyn Node>),
}

pub(crate) struct EndpointHost {
    config: EndpointConfig,
    pub(crate) endpoint: Endpoint,
    pub(crate) app: Box<dyn Application>,
    clock: Clock,
    /// When the valid wake-up for the endpoint's timers is due.
    scheduled: Option<Time>,
    generation: u32,
    /// Where packets are written before they are copied out at their exact size.
    buffer: Vec<u8>,
    /// What packets wait for. `None`: they take no time.
    pub(crate) processor: Option<Box<Processor>>,
}

impl Host {
    pub(crate) fn with_endpoint(
        id: HostId,
        name: &str,
        config: EndpointConfig,
        app: Box<dyn Application>,
        seed: u64,
    ) -> Host {
        let endpoint = new_endpoint(&config, seed, id, 0);
        let host = EndpointHost {
            config,
            endpoint,
            app,
            clock: Clock::default(),
            scheduled: None,
            generation: 0,
            buffer: Vec::with_capacity(2048),
            processor: None,
        };
        Host::new(id, name, seed, Kind::Endpoint(Box::new(host)))
    }

    pub(crate) fn with_node(id: HostId, name: &str, node: Box<dyn Node>, seed: u64) -> Host {
        Host::new(id, name, seed, Kind::Node(node))
    }

    fn new(id: HostId, name: &str, seed: u64, kind: Kind) -> Host {
        let rng = new_rng(seed, id, 0);
        Host { id, name: name.to_string(), running: true, life: 0, rng, kind }
    }

    pub(crate) fn program(&self) -> &dyn Any {
        match &self.kind {
            Kind::Endpoint(host) => host.app.as_ref(),
            Kind::Node(node) => node.as_ref(),
        }
    }

    pub(crate) fn program_mut(&mut self) -> &mut dyn Any {
        match &mut self.kind {
            Kind::Endpoint(host) => host.app.as_mut(),
            Kind::Node(node) => node.as_mut(),
        }
    }

    pub(crate) const fn life(&self) -> u32 {
        self.life
    }

    /// Whether something meant for the given life of the host still concerns it.
    pub(crate) const fn lives(&self, life: u32) -> bool {
        self.running && self.life == life
    }

    /// Whether an endpoint's wake-up with this generation is the valid one.
    pub(crate) fn awaits(&self, generation: u32) -> bool {
        match &self.kind {
            Kind::Endpoint(host) => self.running && host.generation == generation,
            Kind::Node(_) => false,
        }
    }

    pub(crate) fn start(&mut self, world: &mut World) {
        match &mut self.kind {
            Kind::Endpoint(_) => self.act(world, |app, cx| app.on_start(cx)),
            Kind::Node(node) => {
                let (id, life) = (self.id, self.life);
                node.on_start(&mut NodeContext { world, rng: &mut self.rng, host: id, life });
            }
        }
    }

    pub(crate) fn timer(&mut self, world: &mut World, token: u64) {
        match &mut self.kind {
            Kind::Endpoint(_) => self.act(world, |app, cx| app.on_timer(cx, token)),
            Kind::Node(node) => {
                let (id, life) = (self.id, self.life);
                let mut cx = NodeContext { world, rng: &mut self.rng, host: id, life };
                node.on_timer(&mut cx, token);
            }
        }
    }

    /// Hands a packet in that has arrived.
    pub(crate) fn receive(&mut self, world: &mut World, packet: Packet) {
        if !self.running {
            world.stats.lost_at_dead_hosts += 1;
            return;
        }
        match &mut self.kind {
            Kind::Endpoint(host) => match &mut host.processor {
                Some(processor) => {
                    processor.add(Job::Receive(packet));
                    host.process(world, self.id, self.life);
                }
                None => {
                    host.handle(world, packet);
                    self.drive(world);
                }
            },
            Kind::Node(node) => {
                let (id, life) = (self.id, self.life);
                let mut cx = NodeContext { world, rng: &mut self.rng, host: id, life };
                node.on_packet(&mut cx, packet);
            }
        }
    }

    /// The processor is done with a packet.
    pub(crate) fn processed(&mut self, world: &mut World) {
        let Kind::Endpoint(host) = &mut self.kind else { return };
        match host.processor.as_mut().and_then(|processor| processor.end()) {
            Some(Job::Receive(packet)) => host.handle(world, packet),
            Some(Job::Send(source, packet)) => host.send(world, self.id, source, packet),
            None => {}
        }
        self.drive(world);
    }

    /// Hands an ICMP message in.
    pub(crate) fn report(&mut self, world: &mut World, icmp: &Icmp) {
        let Kind::Endpoint(host) = &mut self.kind else { return };
        if self.running {
            host.endpoint.handle_icmp(host.clock.read(world.now), icmp);
            self.drive(world);
        }
    }

    /// Runs the endpoint's timers if one is due.
    pub(crate) fn wake(&mut self, world: &mut World) {
        let Kind::Endpoint(host) = &mut self.kind else { return };
        host.scheduled = None;
        let now = host.clock.read(world.now);
        // A timer that was put off leaves its wake-up behind, which then comes too early.
        if host.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            host.endpoint.handle_timeout(now);
            self.drive(world);
        } else {
            host.schedule(world, self.id);
        }
    }

    pub(crate) fn jump_clock(&mut self, world: &mut World, by: i64) {
        let Kind::Endpoint(host) = &mut self.kind else { return };
        host.clock.jump(by);
        host.scheduled = None; // All wake-ups stand for moments of the old clock.
        if self.running {
            host.schedule(world, self.id);
        }
    }

    pub(crate) fn crash(&mut self) {
        self.running = false;
        self.life += 1; // No timer of this life may fire in the next one.
    }

    pub(crate) fn restart(&mut self, world: &mut World) {
        self.life += 1;
        self.running = true;
        self.rng = new_rng(world.seed, self.id, self.life);
        if let Kind::Endpoint(host) = &mut self.kind {
            host.endpoint = new_endpoint(&host.config, world.seed, self.id, self.life);
            host.tell_addresses(world, self.id);
            if let Some(processor) = &mut host.processor {
                processor.clear();
            }
            host.scheduled = None;
            host.generation = host.generation.wrapping_add(1);
        }
        self.start(world);
    }

    /// Tells the endpoint which addresses the host has now.
    pub(crate) fn addresses_changed(&mut self, world: &mut World) {
        let Kind::Endpoint(host) = &mut self.kind else { return };
        host.tell_addresses(world, self.id);
        if self.running {
            self.drive(world);
        }
    }

    /// Lets the application do something, and sends what results. Without an endpoint or on a
    /// host that is down nothing happens.
    pub(crate) fn act<R>(
        &mut self,
        world: &mut World,
        action: impl FnOnce(&mut dyn Application, &mut Context<'_>) -> R,
    ) -> R {
        let Kind::Endpoint(host) = &mut self.kind else { panic!("{} has no endpoint", self.name) };
        let (app, mut cx) = host.context(world, &mut self.rng, self.id, self.life);
        let result = action(app, &mut cx);
        if self.running {
            self.drive(world);
        }
        result
    }

    /// Passes on all that the endpoint has to say, until it is quiet.
    fn drive(&mut self, world: &mut World) {
        let Kind::Endpoint(host) = &mut self.kind else { return };
        let (id, life) = (self.id, self.life);
        loop {
            let mut quiet = true;
            while let Some((association, event)) = host.endpoint.poll_event() {
                quiet = false;
                let (app, mut cx) = host.context(world, &mut self.rng, id, life);
                app.on_event(&mut cx, association, event);
            }
            host.trace();
            let now = host.clock.read(world.now);
            while !world.exhausted() {
                let Some(transmit) = host.endpoint.poll_transmit(now, &mut host.buffer) else {
                    break;
                };
                quiet = false;
                let packet = Packet {
                    source: transmit.destination, // Replaced when the source is known.
                    destination: transmit.destination,
                    udp: transmit
                        .encapsulation
                        .map(|destination| UdpPorts { source: ENCAPSULATION_PORT, destination }),
                    protocol: Protocol::Sctp,
                    payload: Bytes::copy_from_slice(&host.buffer),
                    fragments: transmit.fragments,
                    ecn: transmit.ecn,
                    labels: transmit.labels,
                };
                host.trace();
                match &mut host.processor {
                    Some(processor) => processor.add(Job::Send(transmit.source, packet)),
                    None => host.send(world, id, transmit.source, packet),
                }
            }
            if quiet || world.exhausted() {
                break;
            }
        }
        host.schedule(world, id);
        host.process(world, id, life);
    }
}

impl EndpointHost {
    /// Hands a packet in.
    fn handle(&mut self, world: &World, packet: Packet) {
        self.app.on_packet(world.now, false, &packet);
        let datagram = Datagram {
            source: packet.source,
            destination: packet.destination,
            encapsulation: packet.udp.map(|ports| ports.source),
            ecn: packet.ecn,
            packet: packet.payload,
        };
        self.endpoint.handle_datagram(self.clock.read(world.now), datagram);
    }

    /// Puts a packet on its link.
    fn send(&mut self, world: &mut World, id: HostId, source: Option<IpAddr>, packet: Packet) {
        self.app.on_packet(world.now, true, &packet);
        let destination = packet.destination;
        let sent = world.send_from(id, &self.config.local_addresses, source, packet);
        if let Err(Refused::TooBig { mtu }) = sent {
            // What a kernel answers with EMSGSIZE.
            let icmp = Icmp { destination, kind: IcmpKind::TooBig { mtu }, quoted: None };
            self.endpoint.handle_icmp(self.clock.read(world.now), &icmp);
        }
    }

    /// Lets the processor begin with what waits for it.
    fn process(&mut self, world: &mut World, id: HostId, life: u32) {
        let Some(processor) = &mut self.processor else { return };
        if let Some(at) = processor.begin(world.now) {
            world.schedule(at, Happening::Processed { host: id.0, life });
        }
    }

    /// Tells the endpoint which addresses the host has, where it has interfaces.
    fn tell_addresses(&mut self, world: &World, id: HostId) {
        if let Some(stack) = &world.stacks[id.index()] {
            self.endpoint.set_host_addresses(self.clock.read(world.now), &stack.addresses());
        }
    }

    /// Hands the trace events over that there are.
    fn trace(&mut self) {
        while let Some((association, at, event)) = self.endpoint.poll_trace() {
            self.app.on_trace(self.clock.to_simulation(at), association, &event);
        }
    }

    fn context<'a>(
        &'a mut self,
        world: &'a mut World,
        rng: &'a mut Rng,
        host: HostId,
        life: u32,
    ) -> (&'a mut dyn Application, Context<'a>) {
        let endpoint = &mut self.endpoint;
        (self.app.as_mut(), Context { world, endpoint, rng, host, life, clock: self.clock })
    }

    /// Makes sure that the endpoint is woken in time.
    fn schedule(&mut self, world: &mut World, id: HostId) {
        let Some(at) = self.endpoint.poll_timeout() else { return };
        let at = self.clock.to_simulation(at).max(world.now);
        if at != Time::FAR_FUTURE && self.scheduled.is_none_or(|scheduled| at < scheduled) {
            self.scheduled = Some(at);
            self.generation = self.generation.wrapping_add(1);
            let happening = Happening::Endpoint { host: id.0, generation: self.generation };
            world.queue.push(at, happening);
        }
    }
}

fn new_endpoint(config: &EndpointConfig, seed: u64, id: HostId, life: u32) -> Endpoint {
    Endpoint::new(config.clone(), seed::derive(seed, Owner::Endpoint(id.index(), life)))
}

fn new_rng(seed: u64, id: HostId, life: u32) -> Rng {
    Rng::from_seed(seed::derive(seed, Owner::Application(id.index(), life)))
}
