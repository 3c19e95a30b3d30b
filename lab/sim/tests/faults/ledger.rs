//! Who sent what to whom, and what became of it: the judge of every delivery.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use tresse_core::{AddressChange, CloseReason, Message, SendFailure, Time};
use tresse_sim::apps::content;

use crate::epochs::Epochs;

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// An accepted message neither arrived nor was reported as failed.
    Lost,
    /// A message was delivered twice.
    Duplicated,
    /// A message was delivered that nobody sent.
    Invented,
    /// Bytes, stream or U flag of a message changed on the way.
    Altered,
    /// An ordered message came before one that was sent earlier on its stream.
    Misordered,
    /// An association delivered messages of more associations of the peer than it may.
    Mixed,
    /// A failure report that is wrong: for an unknown message, twice, or after a graceful end.
    FalseFailure,
    /// Events that must not come in this order.
    EventOrder,
    /// A call was refused without reason.
    Refused,
    /// Nobody told the application that it can go on.
    LostWakeup,
    /// More bytes in the send buffer than configured.
    SendBuffer,
    /// More bytes held for the application than documented.
    ReceiveBuffer,
    /// Counters contradict what the application saw.
    Counters,
    /// An association is still there after it closed and was read.
    Leak,
    /// A timer runs though there is no association.
    TimerLeft,
    /// An association did not end in time.
    Unfinished,
    /// Under mild conditions an association did not end gracefully, or not everything arrived.
    NotGraceful,
    /// A pair of addresses worked, and yet an association was not set up, ended, or lost something.
    Unhealthy,
    /// More packets than the work and the time can explain.
    Chatter,
    /// Too much happened at one instant, or altogether.
    Spin,
    /// A congestion window, timeout or error counter out of its range.
    Range,
    /// An SSN that does not follow, or resets of streams that one end knows of and the other does not.
    Epochs,
    /// A message was taken from a peer that knows no secret.
    Stranger,
    /// The code panicked.
    Panic,
}

/// When a message may be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mortality {
    Reliable,
    /// As long as nothing of it was sent.
    Unsent,
    /// Also after that.
    Sent,
}

#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// An association as one host sees it.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) host: usize,
    pub(crate) life: u32,
    pub(crate) name: String,
    pub(crate) opened: Time,
    pub(crate) connected: Option<Time>,
    pub(crate) closed: Option<(Time, CloseReason)>,
    pub(crate) restarts: usize,
    /// What it sends: one flow, and another after each restart of the peer.
    flows: Vec<usize>,
    /// Flows that it received messages of.
    sources: Vec<usize>,
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    /// Parts of messages that were read.
    pub(crate) parts: u64,
    pub(crate) epochs: Epochs,
    /// Changes of its addresses that are not answered.
    pub(crate) asked: Vec<(AddressChange, IpAddr)>,
}

impl End {
    /// Counts over the whole association, restarts of the peer included.
    pub(crate) fn sent(&self, ledger: &Ledger) -> (u64, u64) {
        let messages = self.flows.iter().flat_map(|flow| &ledger.flows[*flow].messages);
        messages.fold((0, 0), |(count, bytes), id| {
            (count + 1, bytes + ledger.messages[*id as usize].size as u64)
        })
    }
}

/// The messages of one end up to its end or a restart of the peer.
#[derive(Debug)]
struct Flow {
    end: usize,
    messages: Vec<u32>,
    /// Ordered messages of each stream, and how many of them were delivered.
    streams: BTreeMap<u16, (Vec<u32>, usize)>,
    /// The end that received the first of them.
    receiver: Option<usize>,
}

#[derive(Debug)]
struct Sent {
    flow: usize,
    stream: u16,
    size: usize,
    unordered: bool,
    delivered: bool,
    /// When it was reported as failed, and whether the association was up then.
    failed: Option<(Time, bool)>,
    /// It was reported as too old, so that it must not arrive.
    expired: bool,
    /// It may be given up: never, before any of it was sent, or also after that.
    policy: Mortality,
    /// It was given up.
    abandoned: bool,
}

/// All that was sent in a scenario.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) ends: Vec<End>,
    flows: Vec<Flow>,
    messages: Vec<Sent>,
    pub(crate) violations: Vec<Violation>,
    /// Events and calls, when somebody wants to read them.
    pub(crate) log: Option<Vec<(Time, String)>>,
    /// What happened, to see that the scenarios exercise everything.
    pub(crate) seen: BTreeSet<&'static str>,
    /// Messages may be given up, so that SSNs are missing.
    pub(crate) gaps: bool,
    /// Bytes of the largest message accepted, by sending host.
    pub(crate) largest: [usize; 2],
}

impl Ledger {
    pub(crate) fn violate(&mut self, kind: Kind, text: impl Into<String>) {
        let violation = Violation { kind, text: text.into() };
        // The first few tell all.
        if self.violations.len() < 20 {
            self.violations.push(violation);
        }
    }

    pub(crate) fn note(&mut self, now: Time, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push((now, text()));
        }
    }

    pub(crate) fn open(&mut self, now: Time, host: usize, life: u32, name: String) -> usize {
        let end = self.ends.len();
        self.ends.push(End {
            host,
            life,
            name,
            opened: now,
            connected: None,
            closed: None,
            restarts: 0,
            flows: Vec::new(),
            sources: Vec::new(),
            received: 0,
            received_bytes: 0,
            parts: 0,
            epochs: Epochs::default(),
            asked: Vec::new(),
        });
        self.begin_flow(end);
        end
    }

    fn begin_flow(&mut self, end: usize) {
        self.ends[end].flows.push(self.flows.len());
        let streams = BTreeMap::new();
        self.flows.push(Flow { end, messages: Vec::new(), streams, receiver: None });
    }

    /// The number of the next message; it travels as payload protocol identifier.
    pub(crate) fn next_message(&self) -> u32 {
        self.messages.len() as u32
    }

    /// The next message was accepted for sending.
    pub(crate) fn accepted(
        &mut self,
        end: usize,
        stream: u16,
        size: usize,
        unordered: bool,
        policy: Mortality,
    ) {
        let id = self.next_message();
        let flow = *self.ends[end].flows.last().expect("one at least");
        let host = self.ends[end].host;
        self.largest[host] = self.largest[host].max(size);
        self.messages.push(Sent {
            flow,
            stream,
            size,
            unordered,
            delivered: false,
            failed: None,
            expired: false,
            policy,
            abandoned: false,
        });
        self.flows[flow].messages.push(id);
        if !unordered {
            self.flows[flow].streams.entry(stream).or_default().0.push(id);
        }
    }

    pub(crate) fn connected(&mut self, now: Time, end: usize) {
        let name = self.ends[end].name.clone();
        if self.ends[end].connected.replace(now).is_some() {
            self.violate(Kind::EventOrder, format!("{name}: Connected twice"));
        }
    }

    /// The peer restarted: what is sent from now on goes to its new life.
    pub(crate) fn restarted(&mut self, end: usize) {
        self.ends[end].restarts += 1;
        self.ends[end].epochs.restart();
        self.begin_flow(end);
    }

    pub(crate) fn closed(&mut self, now: Time, end: usize, reason: CloseReason) {
        self.ends[end].closed = Some((now, reason));
        self.ends[end].epochs.close();
    }

    /// A message was handed to the application.
    pub(crate) fn delivered(&mut self, end: usize, message: &Message) {
        let name = self.ends[end].name.clone();
        self.ends[end].received += 1;
        self.ends[end].received_bytes += message.payload.len() as u64;
        let id = message.ppid.0;
        let describe = || {
            let (stream, size) = (message.stream.0, message.payload.len());
            format!("{name}: message {id}, stream {stream}, {size} bytes")
        };
        let Some(sent) = self.messages.get(id as usize) else {
            return self.violate(Kind::Invented, describe());
        };
        let (flow, sender) = (sent.flow, self.flows[sent.flow].end);
        if self.ends[sender].host == self.ends[end].host {
            return self.violate(Kind::Invented, format!("{}: its own", describe()));
        }
        let expected = (sent.stream, sent.unordered, content(u64::from(id), sent.size));
        if (message.stream.0, message.unordered, &message.payload)
            != (expected.0, expected.1, &expected.2)
        {
            return self.violate(Kind::Altered, describe());
        }
        if self.takes_the_place(end, flow) {
            self.seen.insert("delivered to two associations");
            self.begin_again(flow);
        }
        if self.messages[id as usize].expired {
            return self.violate(Kind::FalseFailure, format!("{} expired", describe()));
        }
        if self.messages[id as usize].delivered {
            return self.violate(Kind::Duplicated, describe());
        }
        self.messages[id as usize].delivered = true;
        self.bind(end, flow);
        if !message.unordered {
            let (ids, next) = self.flows[flow].streams.entry(message.stream.0).or_default();
            // What was given up is passed over, and does not come later.
            while ids
                .get(*next)
                .is_some_and(|next| *next != id && self.messages[*next as usize].abandoned)
            {
                *next += 1;
            }
            if ids.get(*next) == Some(&id) {
                *next += 1;
            } else {
                let text = format!("{} before message {:?}", describe(), ids.get(*next));
                self.violate(Kind::Misordered, text);
            }
        }
    }

    /// Whether the peer lost an association during the setup, and `end` takes its place.
    ///
    /// Data may travel with COOKIE ECHO (RFC 9260 §5.1), before the sender knows of an
    /// association. A peer may take it and crash before its COOKIE ACK arrives; when it connects
    /// again, that cannot be told from a collision (§5.2.4, Table 12 B). Or it gives the
    /// association up, its ABORT is lost, and the sender asks for another cookie because the
    /// first one is stale (§5.2.6). In both cases what was not acknowledged is sent to the new
    /// association of the peer, which cannot know what was read from the old one.
    fn takes_the_place(&self, end: usize, flow: usize) -> bool {
        let receiver = self.flows[flow].receiver.filter(|receiver| *receiver != end);
        let Some(receiver) = receiver else { return false };
        let (old, new) = (&self.ends[receiver], &self.ends[end]);
        let sender = &self.ends[self.flows[flow].end];
        let lost = match &old.closed {
            Some((at, reason)) => *at <= new.opened && *reason != CloseReason::Shutdown,
            None => old.life < new.life,
        };
        lost && sender.connected.is_none_or(|at| at >= new.opened)
    }

    /// Nothing of this flow was delivered, as far as the new association of the receiver knows.
    fn begin_again(&mut self, flow: usize) {
        let Flow { messages, streams, receiver, .. } = &mut self.flows[flow];
        *receiver = None;
        for id in messages {
            self.messages[*id as usize].delivered = false;
        }
        for (_, next) in streams.values_mut() {
            *next = 0;
        }
    }

    /// One association delivers what one association of the peer sent; only a restart of the
    /// peer changes that.
    fn bind(&mut self, end: usize, flow: usize) {
        let receiver = *self.flows[flow].receiver.get_or_insert(end);
        let restarts = self.ends[end].restarts;
        let sources = &mut self.ends[end].sources;
        let known = sources.last() == Some(&flow);
        if !known {
            sources.push(flow);
        }
        if receiver != end || (!known && sources.len() > restarts + 1) {
            let sources = sources.clone();
            let (name, other) = (&self.ends[end].name, &self.ends[receiver].name);
            let text = format!(
                "{name} received flows {sources:?}, and flow {flow} went to {other} before"
            );
            self.violate(Kind::Mixed, text);
        }
    }

    /// The application was told that a message may not have arrived.
    pub(crate) fn failed(&mut self, now: Time, end: usize, failure: &SendFailure) {
        let SendFailure { message, context, .. } = failure;
        let name = self.ends[end].name.clone();
        let up = self.ends[end].connected.is_some();
        let id = message.ppid.0;
        let flows = &self.ends[end].flows;
        let Some(sent) = self.messages.get_mut(id as usize).filter(|m| flows.contains(&m.flow))
        else {
            return self.violate(Kind::FalseFailure, format!("{name}: never sent {id}"));
        };
        let again = sent.failed.replace((now, up)).is_some();
        // Fragments that were acknowledged are gone, from the front.
        let whole = content(u64::from(id), sent.size);
        let changed = (sent.stream, sent.unordered) != (message.stream.0, message.unordered);
        if changed
            || *context != id
            || !whole.ends_with(&message.payload)
            || message.payload.is_empty()
        {
            let text = format!("{name}: message {id} was reported as failed with other contents");
            self.violate(Kind::FalseFailure, text);
        }
        if again {
            self.violate(Kind::FalseFailure, format!("{name}: message {id} failed twice"));
        }
    }

    /// The application was told that a message is too old to be sent: nothing of it was.
    pub(crate) fn expired(&mut self, now: Time, end: usize, failure: &SendFailure) {
        self.seen.insert("message expired");
        let id = failure.message.ppid.0;
        self.failed(now, end, failure);
        let Some(sent) = self.messages.get_mut(id as usize) else { return };
        sent.expired = true;
        let whole = !failure.sent && failure.message.payload.len() == sent.size;
        let (flow, stream) = (sent.flow, sent.stream);
        if sent.delivered || !whole {
            self.violate(Kind::FalseFailure, format!("message {id} was sent and then expired"));
        }
        // Those behind it do not wait for it.
        if let Some((ids, next)) = self.flows[flow].streams.get_mut(&stream)
            && let Some(place) = ids.iter().skip(*next).position(|other| *other == id)
        {
            ids.remove(*next + place);
        }
    }

    /// The application was told that a message was given up.
    pub(crate) fn abandoned(&mut self, now: Time, end: usize, failure: &SendFailure) {
        let id = failure.message.ppid.0;
        let Some(sent) = self.messages.get(id as usize) else {
            return self.failed(now, end, failure);
        };
        let policy = sent.policy;
        if !failure.sent {
            self.seen.insert("message given up before it was sent");
            self.expired(now, end, failure);
        } else {
            self.seen.insert("message given up after a part was sent");
            self.failed(now, end, failure);
        }
        let sent = &mut self.messages[id as usize];
        sent.abandoned = true;
        let allowed = match policy {
            Mortality::Reliable => false,
            Mortality::Unsent => !failure.sent,
            Mortality::Sent => true,
        };
        if !allowed {
            self.violate(Kind::FalseFailure, format!("message {id} ({policy:?}) was given up"));
        }
    }

    /// Judges what became of every message, once nothing can happen any more. `unreadable` tells
    /// of a host and its life whether it ended with messages that could not be read, `keeps` of a
    /// host whether it promises to keep what it cannot deliver yet (`nr_sack = "all"`).
    pub(crate) fn settle(
        &mut self,
        unreadable: &dyn Fn(usize, u32) -> bool,
        keeps: &dyn Fn(usize) -> bool,
    ) {
        let mut found = Vec::new();
        for (flow, number) in self.flows.iter().zip(0usize..) {
            let end = &self.ends[flow.end];
            let last = end.flows.last() == Some(&number);
            let graceful = last && matches!(end.closed.as_ref(), Some((_, CloseReason::Shutdown)));
            // A crashed sender cannot be told, and a crashed receiver cannot read.
            let sender_crashed = end.closed.is_none() && unreadable(end.host, end.life);
            let receiver_crashed = match flow.receiver {
                Some(receiver) => unreadable(1 - end.host, self.ends[receiver].life),
                None => (0..=64).any(|life| unreadable(1 - end.host, life)),
            };
            for id in &flow.messages {
                let sent = &self.messages[*id as usize];
                let told = sent.failed.is_some();
                let held_back = !graceful && keeps(1 - end.host);
                let excused = sender_crashed || receiver_crashed || held_back;
                if !(sent.delivered || told || excused) {
                    let text = format!("{}: message {id} ({sent:?})", end.name);
                    found.push(Violation { kind: Kind::Lost, text });
                }
                // Refused for its stream number: that is known before the association is up.
                let given_up = sent.expired || sent.abandoned;
                if graceful && !given_up && sent.failed.is_some_and(|(_, up)| up) {
                    let text = format!("{}: message {id} failed, then Shutdown", end.name);
                    found.push(Violation { kind: Kind::FalseFailure, text });
                }
            }
        }
        found.truncate(5);
        self.violations.extend(found);
    }

    /// Who sent, and who received it.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        let bound = |flow: &Flow| Some((flow.end, flow.receiver?));
        self.flows.iter().filter_map(bound).collect()
    }

    /// Some message that the host sent.
    pub(crate) fn first_of(&self, host: usize) -> Option<u32> {
        let own = |m: &Sent| self.ends[self.flows[m.flow].end].host == host;
        self.messages.iter().position(own).map(|id| id as u32)
    }

    /// Messages accepted, of these delivered, and of these reported as failed.
    pub(crate) fn totals(&self) -> (usize, usize, usize) {
        let delivered = self.messages.iter().filter(|m| m.delivered).count();
        let failed = self.messages.iter().filter(|m| m.failed.is_some()).count();
        (self.messages.len(), delivered, failed)
    }

    /// Packets that the user data needs at least when `payload` bytes fit one, and each message
    /// begins a new one.
    pub(crate) fn chunks(&self, payload: usize) -> u64 {
        self.messages.iter().map(|m| m.size.div_ceil(payload) as u64).sum()
    }
}
