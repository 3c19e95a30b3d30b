//! A small stage: two endpoints, what is said when, and what the network does to it.

use std::collections::HashMap;
use std::time::Duration;

use super::{render, traces};
use crate::endpoint::tests::{Pair, Sent, Side, profile};
use crate::ids::{AssociationId, PathId};
use crate::stats::AssociationStats;
use crate::time::Time;

/// Messages are numbered from 1 after the warm-up, each in a chunk of its own.
pub(super) struct Story {
    pub(super) pair: Pair,
    pub(super) a: AssociationId,
    pub(super) z: AssociationId,
    start: Time,
    first: u32,
    sent: usize,
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl Story {
    /// Both ends run `name` with `overrides`; the delay is one way. Eight messages at a distance
    /// of two seconds settle the estimate of the RTT.
    pub(super) fn new(name: &str, overrides: &str, delay_ms: u64) -> Story {
        Story::between(name, name, overrides, delay_ms, 1)
    }

    pub(super) fn between(
        name: &str,
        peer: &str,
        overrides: &str,
        delay_ms: u64,
        addresses: u8,
    ) -> Story {
        let config = |name| {
            let mut config = profile(name, overrides);
            config.no_delay = true;
            config
        };
        let mut pair = Pair::new(&config(peer), addresses);
        pair.delay = ms(delay_ms);
        let a = pair.open(Side::A, &config(name));
        pair.run(ms(10 * delay_ms + 1000));
        let z = pair.end(Side::Z).associations()[0];
        for _ in 0..8 {
            pair.send(Side::A, a, 0, vec![0; 100]);
            pair.run(ms(2000));
        }
        let warm_up = traces(&mut pair);
        let mut sent = warm_up.iter().filter_map(|(_, e)| match e {
            crate::TraceEvent::Sent { tsn, .. } => Some(tsn.0),
            _ => None,
        });
        let first = sent.next_back().expect("the warm-up sent something").wrapping_add(1);
        let start = pair.now;
        assert_eq!(pair.recv_all(Side::Z, z).len(), 8);
        Story { pair, a, z, start, first, sent: 0 }
    }

    /// Message number `n`, if the packet carries it.
    fn number(first: u32, tsn: u32) -> u32 {
        tsn.wrapping_sub(first).wrapping_add(1)
    }

    /// The network loses these: message number, and which of its transmissions.
    pub(super) fn lose(&mut self, which: &[(u32, u32)]) {
        let (first, which) = (self.first, which.to_vec());
        let mut seen: HashMap<u32, u32> = HashMap::new();
        self.pair.drop = Box::new(move |packet: &Sent| {
            if packet.from != Side::A {
                return false;
            }
            let mut lost = false;
            for tsn in packet.tsns() {
                let n = Story::number(first, tsn);
                let count = seen.entry(n).or_default();
                *count += 1;
                lost |= which.contains(&(n, *count));
            }
            lost
        });
    }

    /// The network loses whatever the condition says.
    pub(super) fn lose_if(&mut self, condition: impl FnMut(&Sent) -> bool + 'static) {
        self.pair.drop = Box::new(condition);
    }

    /// Packets with data that leave in this time arrive only after `until`, all in their order.
    pub(super) fn hold(&mut self, from_ms: u64, until_ms: u64) {
        let (from, until) = (self.start + ms(from_ms), self.start + ms(until_ms));
        self.pair.detour = Box::new(move |packet: &Sent| {
            let held = packet.from == Side::A && packet.at >= from && packet.at < until;
            if held && packet.to.path == Some(PathId(0)) {
                until.since(packet.at)
            } else {
                Duration::ZERO
            }
        });
    }

    /// The first transmission of message `n` takes so much longer.
    pub(super) fn delay_message(&mut self, n: u32, by_ms: u64) {
        let first = self.first;
        let mut done = false;
        self.pair.detour = Box::new(move |packet: &Sent| {
            let it = packet.from == Side::A
                && packet.tsns().iter().any(|tsn| Story::number(first, *tsn) == n);
            let late = it && !done;
            done |= it;
            if late { ms(by_ms) } else { Duration::ZERO }
        });
    }

    /// At `at_ms`, sends `count` messages of `bytes`.
    pub(super) fn say(&mut self, at_ms: u64, count: usize, bytes: usize) {
        self.until(at_ms);
        for _ in 0..count {
            self.pair.send(Side::A, self.a, 0, vec![0; bytes]);
        }
        self.sent += count;
    }

    pub(super) fn until(&mut self, at_ms: u64) {
        let at = self.start + ms(at_ms);
        self.pair.run(at.since(self.pair.now));
    }

    /// Everything must have arrived, once and in order.
    pub(super) fn end(&mut self, at_ms: u64) -> String {
        self.until(at_ms);
        let received = self.pair.recv_all(Side::Z, self.z);
        assert_eq!(received.len(), self.sent);
        render(&traces(&mut self.pair), self.start, self.first)
    }

    pub(super) fn stats(&mut self) -> AssociationStats {
        let a = self.a;
        self.pair.end(Side::A).stats(a).expect("it is open")
    }
}
