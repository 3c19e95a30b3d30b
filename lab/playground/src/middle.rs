//! The path between both hosts: first the events of the scenario, then a link each way. It is a host of the simulation
//! that both others reach in no time, so that it sees what becomes of each packet.

use std::cell::RefCell;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use tresse_core::Time;
use tresse_netem::{DropCause, Link, Nanos, Verdict, link_seed};
use tresse_sim::{Node, NodeContext, Packet};

use crate::recorder::{Recorder, Ticket};
use crate::scenario::{Event, Fault, Scenario, Way};
use crate::story::LostBy;

/// Address of the receiver of messages.
pub(crate) const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// A packet that an event holds up; the first one to go on is the greatest.
#[derive(Debug)]
struct Held {
    until: Nanos,
    order: u64,
    ticket: Ticket,
    packet: Packet,
}

impl Held {
    const fn key(&self) -> (std::cmp::Reverse<Nanos>, std::cmp::Reverse<u64>) {
        (std::cmp::Reverse(self.until), std::cmp::Reverse(self.order))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

/// One direction.
struct Direction {
    way: Way,
    link: Link<(Ticket, Packet)>,
    held: BinaryHeap<Held>,
    /// Until when a spike holds packets up, so that the next one does not overtake them.
    blocked_until: Nanos,
    order: u64,
    /// When the link was told to wake up.
    alarm: Option<Nanos>,
}

/// The path.
pub(crate) struct Middle {
    directions: [Direction; 2],
    events: Vec<Event>,
    recorder: Rc<RefCell<Recorder>>,
}

/// What an event does to a packet.
enum Fate {
    Lost,
    /// Goes on then.
    Later {
        until: Nanos,
        overtaken: bool,
    },
    Untouched,
}

impl Middle {
    pub(crate) fn new(
        scenario: &Scenario,
        recorder: Rc<RefCell<Recorder>>,
    ) -> Result<Middle, Fault> {
        let direction = |way: Way, index: usize| {
            let link = Link::new(scenario.link.config(way), link_seed(scenario.seed, index));
            // The scenario has been checked with narrower bounds than those of links.
            let link = link.map_err(|error| Fault::Syntax(error.to_string()))?;
            let (held, blocked_until) = (BinaryHeap::new(), Nanos::ZERO);
            Ok(Direction { way, link, held, blocked_until, order: 0, alarm: None })
        };
        let directions = [direction(Way::There, 0)?, direction(Way::Back, 1)?];
        Ok(Middle { directions, events: scenario.events.clone(), recorder })
    }

    fn fate(&self, now: Nanos, way: Way, ticket: Ticket) -> Fate {
        let mut fate = Fate::Untouched;
        let mut later = |until: Nanos, overtaken: bool| {
            let before = match fate {
                Fate::Later { until, .. } => until,
                _ => Nanos::ZERO,
            };
            if until > before {
                fate = Fate::Later { until, overtaken };
            }
        };
        let during = |from_ms: f64, to_ms: f64| (at(from_ms)..at(to_ms)).contains(&now);
        for event in &self.events {
            match *event {
                Event::LosePacket { way: w, number } if w == way && number == ticket.number => {
                    return Fate::Lost;
                }
                Event::LoseData { number } if ticket.data == Some(number) => return Fate::Lost,
                Event::LoseBetween { way: w, from_ms, to_ms }
                    if w.includes(way) && during(from_ms, to_ms) =>
                {
                    return Fate::Lost;
                }
                Event::Spike { way: w, from_ms, to_ms, height_ms }
                    if w.includes(way) && during(from_ms, to_ms) =>
                {
                    later(height_ms.map_or(at(to_ms), |height| now + at(height)), false);
                }
                Event::DelayPacket { way: w, number, by_ms }
                    if w == way && number == ticket.number =>
                {
                    later(now + at(by_ms), true);
                }
                Event::DelayData { number, by_ms } if ticket.data == Some(number) => {
                    later(now + at(by_ms), true);
                }
                _ => {}
            }
        }
        fate
    }
}

impl Direction {
    /// A packet may go on.
    fn enter(&mut self, now: Nanos, ticket: Ticket, packet: Packet, recorder: &mut Recorder) {
        let size = u32::try_from(packet.ip_size()).unwrap_or(u32::MAX);
        let verdict = self.link.offer(now, size, packet.class(), (ticket, packet));
        if let Verdict::Dropped(cause) = verdict {
            let by = match cause {
                DropCause::Random => LostBy::Chance,
                _ => LostBy::Queue,
            };
            recorder.lost(ticket, by);
        }
    }

    /// Does what is due, and has itself woken for what comes next.
    fn proceed(&mut self, cx: &mut NodeContext<'_>, recorder: &mut Recorder) {
        let now = nanos(cx.now());
        while self.held.peek().is_some_and(|held| held.until <= now) {
            let Some(Held { ticket, packet, .. }) = self.held.pop() else { break };
            self.enter(now, ticket, packet, recorder);
        }
        while let Some(delivery) = self.link.poll(now) {
            let (ticket, packet) = delivery.packet;
            recorder.arrives(cx.now(), ticket);
            cx.send(packet);
        }
        let next = self.held.peek().map(|held| held.until);
        let next = next.into_iter().chain(self.link.next_wakeup()).min();
        if let Some(at) = next
            && self.alarm.is_none_or(|alarm| alarm <= now || at < alarm)
        {
            self.alarm = Some(at);
            cx.set_timer(Time::ZERO + Duration::from_nanos(at.get()), self.way as u64);
        }
    }
}

impl Node for Middle {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        let way = if packet.destination == RECEIVER { Way::There } else { Way::Back };
        let now = nanos(cx.now());
        let Some(ticket) = self.recorder.borrow_mut().reaches_middle(way) else { return };
        let fate = self.fate(now, way, ticket);
        let recorder = &mut *self.recorder.borrow_mut();
        let direction = &mut self.directions[way as usize];
        let until = match fate {
            Fate::Lost => return recorder.lost(ticket, LostBy::Event),
            Fate::Later { until, overtaken: true } => until,
            Fate::Later { until, overtaken: false } => until.max(direction.blocked_until),
            Fate::Untouched => direction.blocked_until,
        };
        if until > now {
            if !matches!(fate, Fate::Later { overtaken: true, .. }) {
                direction.blocked_until = until;
            }
            recorder.held(ticket, (until.get() - now.get()) as f64 / 1e6);
            direction.order += 1;
            direction.held.push(Held { until, order: direction.order, ticket, packet });
        } else {
            direction.enter(now, ticket, packet, recorder);
        }
        direction.proceed(cx, recorder);
    }

    fn on_timer(&mut self, cx: &mut NodeContext<'_>, token: u64) {
        let recorder = &mut *self.recorder.borrow_mut();
        self.directions[usize::from(token == Way::Back as u64)].proceed(cx, recorder);
    }
}

fn at(ms: f64) -> Nanos {
    Nanos::from_millis_f64(ms)
}

const fn nanos(time: Time) -> Nanos {
    Nanos::new(time.as_nanos())
}
