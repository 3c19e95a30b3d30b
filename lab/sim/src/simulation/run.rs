//! The loop: take what happens next, let it happen.

use tresse_core::Time;

use super::{Simulation, StopReason};
use crate::event_queue::Happening;

impl Simulation {
    /// Runs until nothing is left to happen, but no longer than simulation time `limit`. Time
    /// then stands at the last event, or at `limit` if that was reached.
    pub fn run(&mut self, limit: Time) -> StopReason {
        self.world.stop = false;
        loop {
            if self.world.stop {
                return StopReason::Stopped;
            }
            if self.world.exhausted() {
                return StopReason::EventLimit;
            }
            let Some((at, happening)) = self.world.queue.peek() else { return StopReason::Idle };
            if at > limit {
                // Void events must not keep a simulation from being idle.
                if self.is_void(happening) {
                    self.world.queue.pop();
                    continue;
                }
                self.world.now = self.world.now.max(limit);
                return StopReason::Limit;
            }
            self.world.queue.pop();
            if !self.is_void(happening) {
                self.world.now = at;
                self.world.stats.events += 1;
                self.happen(happening);
            }
        }
    }

    /// Runs up to and including simulation time `t`. Time then stands at `t`, unless the run was
    /// stopped.
    pub fn run_until(&mut self, t: Time) -> StopReason {
        let reason = self.run(t);
        if reason == StopReason::Idle {
            self.world.now = self.world.now.max(t);
        }
        reason
    }

    /// Whether the event has been superseded.
    fn is_void(&self, happening: Happening) -> bool {
        match happening {
            Happening::Start { host, life }
            | Happening::Timer { host, life, .. }
            | Happening::Processed { host, life } => !self.hosts[host as usize].lives(life),
            Happening::Link { link, generation } => {
                !self.world.wire_awaits(link as usize, generation)
            }
            Happening::Endpoint { host, generation } => {
                !self.hosts[host as usize].awaits(generation)
            }
            Happening::Report { .. } | Happening::Change { .. } => false,
        }
    }

    fn happen(&mut self, happening: Happening) {
        let world = &mut self.world;
        match happening {
            Happening::Start { host, .. } => self.hosts[host as usize].start(world),
            Happening::Timer { host, token, .. } => self.hosts[host as usize].timer(world, token),
            Happening::Endpoint { host, .. } => self.hosts[host as usize].wake(world),
            Happening::Processed { host, .. } => self.hosts[host as usize].processed(world),
            Happening::Link { link, .. } => {
                let link = link as usize;
                world.wire_wakes(link);
                while let Some((to, packet)) = world.arrival(link) {
                    self.hosts[to.index()].receive(world, packet);
                }
                world.schedule_wire(link);
            }
            Happening::Report { index } => {
                if let Some((to, icmp)) = world.reports[index as usize].take() {
                    self.hosts[to.index()].report(world, &icmp);
                }
            }
            Happening::Change { index } => {
                if let Some(change) = self.changes[index as usize].take() {
                    self.apply(change).expect("settings were validated when scheduled");
                }
            }
        }
    }
}
