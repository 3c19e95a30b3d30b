//! The hosts of a run, the programs on them, and the links between them.

use std::rc::Rc;
use std::sync::Arc;

use tresse_core::{AssociationConfig, EndpointConfig, Profile};
use tresse_netem::LinkConfig;
use tresse_sim::apps::{Plan, Router, Sender, Sink};
use tresse_sim::{Change, HostId, LinkId, LinkRules, Route, Simulation};

use super::measured::EVENT_LIMIT;
use super::moving;
use super::pair::{Pair, address};
use super::source::{End, Receiver, Source};
use super::transfer::TransferObserver;
use super::wire::{SharedUnderway, missing_reports};
use super::workload::plan;
use crate::flow::run::FlowRun;
use crate::flow::{Flow, Mover, Observe, PathMtu, Shared, Topology, Workload};
use crate::schema::Experiment;
use crate::seed;

const PORT: u16 = 5000;

/// Second byte of the addresses of the first flow that competes; the others follow.
const COMPETITOR: u8 = 9;

/// The hosts and what is between them.
pub(super) struct Network {
    pub(super) simulation: Simulation,
    pub(super) sender: HostId,
    pub(super) receiver: HostId,
    /// Where the data of the competing flows arrives.
    pub(super) competitors: Vec<HostId>,
    /// Forward and backward link of each path.
    pub(super) links: Vec<(LinkId, LinkId)>,
    /// Forward and backward link of the shared bottleneck.
    shared: Option<(LinkId, LinkId)>,
    /// What passes at present.
    mtu: Option<PathMtu>,
}

/// The two routers at the ends of the shared bottleneck.
#[derive(Clone, Copy)]
struct Routers {
    near: HostId,
    far: HostId,
}

impl Network {
    pub(super) fn build(run: &FlowRun) -> Result<Network, String> {
        let flow = &run.setup.experiment.kind;
        let topology = &flow.topology;
        let mut simulation = Simulation::new(seed::network(run.seed, run.replication));
        simulation.set_event_limit(EVENT_LIMIT);

        let pair = add_pair(&mut simulation, run)?;
        if let Some(processor) = &run.setup.processor {
            simulation.set_processor(pair.sender, processor.config());
            simulation.set_processor(pair.receiver, processor.config());
        }
        set_clocks(&mut simulation, pair, run)?;
        let shared = topology.shared.as_ref();
        let routers = shared.map(|_| Routers {
            near: simulation.add_node("near", Box::new(Router::new())),
            far: simulation.add_node("far", Box::new(Router::new())),
        });
        let moves = &topology.moves;
        if !moves.is_empty() {
            moving::give_interfaces(&mut simulation, pair, topology.path_count());
        }
        let mut links = Vec::new();
        for (path, ends) in (0u8..).zip(topology.paths()) {
            let through = routers.filter(|_| shared.is_some_and(|s| s.paths.contains(&(path + 1))));
            let fault = |e| format!("link of path {}: {e}", path + 1);
            links.push(match moves.is_empty() {
                true => connect(&mut simulation, pair, path, ends, through).map_err(fault)?,
                false => moving::connect(&mut simulation, pair, path, ends).map_err(fault)?,
            });
        }
        let mut network = Network {
            simulation,
            sender: pair.sender,
            receiver: pair.receiver,
            competitors: Vec::new(),
            links,
            shared: None,
            mtu: None,
        };
        network.set_mtu(topology.mtu)?;
        moving::schedule(&mut network.simulation, pair, moves)?;
        if let (Some(shared), Some(routers)) = (shared, routers) {
            for n in 0..shared.competitors {
                network.add_competitor(&run.setup.experiment, shared, routers, COMPETITOR + n)?;
            }
            network.add_bottleneck(shared, routers)?;
        }
        Ok(network)
    }

    /// Another pair of hosts, whose addresses have the second byte `path`.
    fn add_competitor(
        &mut self,
        experiment: &Experiment<Flow>,
        shared: &Shared,
        routers: Routers,
        path: u8,
    ) -> Result<(), String> {
        let profile = Profile::named(&shared.competitor).map_err(|e| e.to_string())?;
        let association = AssociationConfig {
            concurrent_transfer: false,
            ..experiment.association(&Arc::new(profile))
        };
        let endpoint = |host: u8| EndpointConfig {
            local_port: PORT,
            local_addresses: vec![address(path, host)],
            association: association.clone(),
            ..EndpointConfig::default()
        };
        // It goes on for as long as the flow under test.
        let end = End { after: None, messages: None };
        let flow = &experiment.kind;
        let program = Sender::new(plan(&flow.workload).0)
            .connect(vec![address(path, 2)], PORT, association.clone())
            .from_connection()
            .without_log();
        let underway = SharedUnderway::default();
        let source = Source::new(program, end, Observe::default(), 0, underway, None);
        let sender = self.simulation.add_host("competitor", endpoint(1), Box::new(source));
        let accept = EndpointConfig { accept: true, ..endpoint(2) };
        let program = Box::new(Receiver::new(Sink::new().without_log(), end, None));
        let receiver = self.simulation.add_host("competitor-receiver", accept, program);
        self.competitors.push(receiver);
        let ends = (&flow.topology.forward, &flow.topology.backward);
        let pair = Pair { sender, receiver };
        connect(&mut self.simulation, pair, path, ends, Some(routers))
            .map_err(|e| format!("shared link: {e}"))?;
        Ok(())
    }

    /// The link that all flows share.
    fn add_bottleneck(&mut self, shared: &Shared, routers: Routers) -> Result<(), String> {
        // What goes to a host takes the routes that are there by now; the rest is for the other router.
        let mut link = |from, to, config: &LinkConfig| {
            self.simulation
                .add_link(from, to, Route::any(), config.clone())
                .map_err(|e| format!("shared link: {e}"))
        };
        self.shared = Some((
            link(routers.near, routers.far, &shared.forward)?,
            link(routers.far, routers.near, &shared.backward)?,
        ));
        Ok(())
    }

    /// Gives all links the settings of `topology`.
    pub(super) fn apply(&mut self, topology: &Topology) -> Result<(), String> {
        let shared = topology.shared.as_ref().map(|s| (&s.forward, &s.backward));
        let links = self.links.iter().copied().chain(self.shared);
        for ((to, from), (forward, backward)) in
            links.collect::<Vec<_>>().into_iter().zip(topology.paths().chain(shared))
        {
            for (id, config) in [(to, forward), (from, backward)] {
                if self.simulation.link_config(id) != config {
                    let change = Change::Link(id, Box::new(config.clone()));
                    self.simulation.apply(change).map_err(|e| format!("change: {e}"))?;
                }
            }
        }
        self.set_mtu(topology.mtu)
    }

    /// Packets of this size pass on each path, and no larger ones.
    fn set_mtu(&mut self, mtu: Option<PathMtu>) -> Result<(), String> {
        if self.mtu == mtu {
            return Ok(());
        }
        self.mtu = mtu;
        for link in self.links.iter().flat_map(|(there, back)| [*there, *back]) {
            let reports = mtu.is_some_and(|mtu| mtu.icmp);
            let mtu = mtu.map(|mtu| mtu.bytes);
            let rules = LinkRules { mtu, reports, ..LinkRules::default() };
            self.simulation.apply(Change::Rules(link, rules)).map_err(|e| format!("mtu: {e}"))?;
        }
        Ok(())
    }
}

/// The hosts under test with their programs.
fn add_pair(simulation: &mut Simulation, run: &FlowRun) -> Result<Pair, String> {
    let flow = &run.setup.experiment.kind;
    let paths = flow.topology.path_count();
    let addresses = |host: u8| (0..paths).map(|path| address(path, host)).collect::<Vec<_>>();
    let profile = run.setup.sender.profile()?;
    let association = run.setup.experiment.association(profile);
    // Who moves is bound to whatever addresses it has.
    let moves = |host| flow.topology.moves.iter().any(|m| (m.end == Mover::Sender) == (host == 1));
    let endpoint = |host: u8| EndpointConfig {
        local_port: PORT,
        local_addresses: if moves(host) { Vec::new() } else { addresses(host) },
        association: association.clone(),
        ..EndpointConfig::default()
    };
    let (plan, end): (Plan, End) = plan(&flow.workload);
    let sent_log = !matches!(flow.workload, Workload::Bulk(_));
    let config = AssociationConfig { trace: flow.observe.series, ..association.clone() };
    let program = Sender::new(plan).connect(addresses(2), PORT, config).from_connection();
    let program = if sent_log { program } else { program.without_log() };
    let underway = SharedUnderway::default();
    let transfer = flow.observe.transfer.then(|| TransferObserver::new(association.receive_buffer));
    let missing = missing_reports(profile);
    let source = Source::new(program, end, flow.observe, missing, Rc::clone(&underway), transfer);
    let sender = simulation.add_host("sender", endpoint(1), Box::new(source));
    let logged = sent_log || flow.observe.transfer;
    let sink = if logged { Sink::new() } else { Sink::new().without_log() };
    let accept = EndpointConfig { accept: true, ..endpoint(2) };
    let program = Box::new(Receiver::new(sink, end, flow.observe.sequence.then_some(underway)));
    let receiver = simulation.add_host("receiver", accept, program);
    Ok(Pair { sender, receiver })
}

/// Sets the clocks of both hosts ahead of the links', each by another span in each run.
fn set_clocks(simulation: &mut Simulation, pair: Pair, run: &FlowRun) -> Result<(), String> {
    let apart = run.setup.experiment.kind.topology.clocks_apart_ms * 1e6;
    for (host, purpose) in [(pair.sender, "sender's clock"), (pair.receiver, "receiver's clock")] {
        let ahead = apart * seed::share(run.seed, run.replication, purpose);
        if ahead > 0.0 {
            let jump = Change::ClockJump(host, ahead as i64);
            simulation.apply(jump).map_err(|e| format!("clock: {e}"))?;
        }
    }
    Ok(())
}

/// Links two hosts on one path, directly or by way of the routers: then the links of the path end
/// there, and from the far router on there is no delay.
fn connect(
    simulation: &mut Simulation,
    pair: Pair,
    path: u8,
    (forward, backward): (&LinkConfig, &LinkConfig),
    through: Option<Routers>,
) -> Result<(LinkId, LinkId), String> {
    let (a, b) = (address(path, 1), address(path, 2));
    let there = Route::to(b).default_source(a);
    let back = Route::to(a).default_source(b);
    let (near, far) = through.map_or((pair.receiver, pair.sender), |r| (r.near, r.far));
    let mut link = |from, to, route, config: &LinkConfig| {
        simulation.add_link(from, to, route, config.clone()).map_err(|e| e.to_string())
    };
    let links =
        (link(pair.sender, near, there, forward)?, link(pair.receiver, far, back, backward)?);
    if through.is_some() {
        let perfect = LinkConfig::default();
        link(far, pair.receiver, Route::to(b), &perfect)?;
        link(near, pair.sender, Route::to(a), &perfect)?;
    }
    Ok(links)
}
