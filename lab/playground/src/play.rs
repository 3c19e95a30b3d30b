//! Plays a scenario.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tresse_core::{
    AssociationConfig, AssociationId, CloseReason, EndpointConfig, Event, Profile, Time, TraceEvent,
};
use tresse_sim::apps::{Bulk, Plan, ScheduledMessage, Sender, Sink, transfer_times};
use tresse_sim::{Application, Context, HostId, LinkConfig, Packet, Route, Simulation, StopReason};

use crate::middle::{Middle, RECEIVER};
use crate::recorder::Recorder;
use crate::scenario::{Fault, MAX_MESSAGES, Scenario, Traffic, Way};
use crate::story::{Message, SideStory, Story, millis};
use crate::summary::summarise;

const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const PORT: u16 = 5000;

/// Events and packets of the longest simulation of a side: some seconds of computing.
const WORK: u64 = 4_000_000;

/// The most messages that are listed.
const MAX_LISTED: usize = 20_000;

/// Plays a scenario, each side by itself with the same random numbers. The same scenario gives the same story.
///
/// # Errors
/// The first value that is out of range, or a profile that there is not.
pub fn play(scenario: &Scenario) -> Result<Story, Fault> {
    let profiles = scenario.profiles()?;
    let sides = profiles.into_iter().map(|profile| play_side(scenario, profile));
    Ok(Story { sides: sides.collect::<Result<_, _>>()? })
}

/// A program, with what is seen on its host's interface.
struct Watched<A> {
    app: A,
    way: Way,
    recorder: Rc<RefCell<Recorder>>,
}

impl<A: Application> Application for Watched<A> {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.app.on_start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        self.app.on_event(cx, id, event);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        self.app.on_timer(cx, token);
    }

    fn on_trace(&mut self, now: Time, _: AssociationId, event: &TraceEvent) {
        self.recorder.borrow_mut().traced(now, event);
    }

    fn on_packet(&mut self, now: Time, outgoing: bool, packet: &Packet) {
        if outgoing {
            self.recorder.borrow_mut().sent(now, self.way, packet);
        }
    }
}

/// The hosts of a simulation.
struct Hosts {
    sender: HostId,
    receiver: HostId,
}

fn play_side(scenario: &Scenario, profile: Profile) -> Result<SideStory, Fault> {
    let name = profile.name.clone();
    let recorder = Rc::new(RefCell::new(Recorder::default()));
    let middle = Middle::new(scenario, Rc::clone(&recorder))?;
    let mut simulation = Simulation::new(scenario.seed);
    simulation.set_event_limit(WORK);
    let hosts = build(&mut simulation, scenario, profile, &recorder, middle);
    let stopped = simulation.run(Time::ZERO + Duration::from_secs_f64(scenario.seconds));
    let mut story = tell(&simulation, &hosts, &mut recorder.borrow_mut(), name);
    if stopped == StopReason::EventLimit {
        let seconds = simulation.now().as_secs_f64();
        story.note = Some(format!(
            "this is more traffic than a page can show: it ends after {seconds:.1} of {} s",
            scenario.seconds
        ));
    }
    Ok(story)
}

fn build(
    simulation: &mut Simulation,
    scenario: &Scenario,
    profile: Profile,
    recorder: &Rc<RefCell<Recorder>>,
    middle: Middle,
) -> Hosts {
    let association = AssociationConfig {
        profile: Arc::new(profile),
        no_delay: true,
        ..AssociationConfig::default()
    };
    let endpoint = |address: IpAddr| EndpointConfig {
        local_port: PORT,
        local_addresses: vec![address],
        accept: address == RECEIVER,
        association: association.clone(),
        ..EndpointConfig::default()
    };
    let traced = AssociationConfig { trace: true, ..association.clone() };
    let sender =
        Sender::new(plan(scenario)).connect(vec![RECEIVER], PORT, traced).from_connection();
    let sender = Watched { app: sender, way: Way::There, recorder: Rc::clone(recorder) };
    let receiver = Watched { app: Sink::new(), way: Way::Back, recorder: Rc::clone(recorder) };
    let hosts = Hosts {
        sender: simulation.add_host("sender", endpoint(SENDER), Box::new(sender)),
        receiver: simulation.add_host("receiver", endpoint(RECEIVER), Box::new(receiver)),
    };
    let middle = simulation.add_node("path", Box::new(middle));
    for (from, to, destination, source) in [
        (hosts.sender, middle, RECEIVER, SENDER),
        (middle, hosts.receiver, RECEIVER, SENDER),
        (hosts.receiver, middle, SENDER, RECEIVER),
        (middle, hosts.sender, SENDER, RECEIVER),
    ] {
        let route = Route::to(destination).default_source(source);
        let perfect = simulation.add_link(from, to, route, LinkConfig::default());
        perfect.expect("a link without limits is valid");
    }
    hosts
}

fn plan(scenario: &Scenario) -> Plan {
    let at = |ms: f64| Time::ZERO + Duration::from_secs_f64(ms / 1e3);
    let every = |interval_ms: f64, burst: u32, size: usize, count: Option<u32>| {
        let in_time = (scenario.seconds * 1e3 / interval_ms).ceil() as u32;
        let rounds = count.map_or(in_time, |count| count.min(in_time)).min(MAX_MESSAGES / burst);
        let messages = (0..rounds * burst).map(|index| ScheduledMessage {
            at: at(f64::from(index / burst) * interval_ms),
            stream: 0,
            size,
            unordered: false,
        });
        Plan::Schedule(messages.collect())
    };
    match scenario.traffic {
        Traffic::Thin { size, interval_ms, messages } => every(interval_ms, 1, size, messages),
        Traffic::Bursts { size, burst, interval_ms, bursts } => {
            every(interval_ms, burst, size, bursts)
        }
        Traffic::Bulk { size, messages } => {
            Plan::Bulk(Bulk { messages: messages.map(u64::from), ..Bulk::of_size(size) })
        }
    }
}

fn tell(
    simulation: &Simulation,
    hosts: &Hosts,
    recorder: &mut Recorder,
    profile: String,
) -> SideStory {
    let sender = &simulation.app::<Watched<Sender>>(hosts.sender).app;
    let sink = &simulation.app::<Watched<Sink>>(hosts.receiver).app;
    let times = transfer_times(sender.sent(), sink.deliveries());
    let transmissions = recorder.count_transmissions();
    let summary = summarise(&times, transmissions, recorder);
    let (decisions, decisions_left_out) = recorder.decisions.finish();
    let messages = times.iter().take(MAX_LISTED).map(|time| Message {
        number: time.index + 1,
        sent_ms: millis(time.sent),
        delivered_ms: time.delivered.map(millis),
    });
    SideStory {
        profile,
        messages: messages.collect(),
        packets_left_out: recorder.left_out(),
        packets: std::mem::take(&mut recorder.packets),
        decisions,
        decisions_left_out,
        windows: std::mem::take(&mut recorder.windows),
        summary,
        ended_ms: millis(simulation.now()),
        note: ending(sender),
    }
}

/// How the association ended, if it did.
fn ending(sender: &Sender) -> Option<String> {
    if let Some(error) = sender.connect_error() {
        return Some(format!("no association: {error}"));
    }
    let how = match sender.closed()? {
        CloseReason::Unreachable => "it gave the peer up (Association.Max.Retrans, RFC 9260 §8.1)",
        CloseReason::SetupFailed => "nobody answered (Max.Init.Retransmits, RFC 9260 §5.1)",
        CloseReason::PeerAborted { .. } => "the receiver ended it",
        CloseReason::ProtocolViolation(how) => how,
        _ => "it was closed",
    };
    Some(format!("the association is over: {how}"))
}
