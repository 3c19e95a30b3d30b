//! The programs of both hosts: those of the simulator, with an end and with observers.

use std::collections::BTreeMap;
use std::time::Duration;

use tresse_core::{AssociationId, Event, Time, TraceEvent};
use tresse_sim::apps::{Sender, Sink};
use tresse_sim::{Application, Context, Packet};

use super::series::SeriesObserver;
use super::transfer::TransferObserver;
use super::wire::{SharedUnderway, WireObserver};
use crate::flow::Observe;
use crate::flow::record::Traces;

/// When a run is over: so long after the association was up, or else when all messages have been
/// delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) after: Option<Duration>,
    /// How many messages must have been delivered.
    pub(super) messages: Option<u64>,
}

/// Token of the timer for the end.
const END: u64 = u64::MAX;

/// A program that wraps one of the simulator's.
pub(super) trait Program {
    type Inner;
    fn program(&self) -> &Self::Inner;
}

/// The data sender.
pub(super) struct Source {
    program: Sender,
    end: End,
    wire: Option<WireObserver>,
    series: Option<SeriesObserver>,
    transfer: Option<TransferObserver>,
}

impl Program for Source {
    type Inner = Sender;

    fn program(&self) -> &Sender {
        &self.program
    }
}

impl Source {
    /// A sender that is observed; `missing_reports` make a chunk missing.
    pub(super) fn new(
        program: Sender,
        end: End,
        observe: Observe,
        missing_reports: u32,
        underway: SharedUnderway,
        transfer: Option<TransferObserver>,
    ) -> Source {
        let wire = observe.retransmissions || observe.sequence;
        Source {
            program,
            end,
            wire: wire.then(|| WireObserver::new(observe, missing_reports, underway)),
            series: observe.series.then(SeriesObserver::default),
            transfer,
        }
    }

    /// What was observed: metrics into `values`, and the rest. Times count from `origin`.
    /// `deliveries`: when a message was delivered, and the TSN that it begins with.
    pub(super) fn finish(
        &mut self,
        origin: Time,
        deliveries: &[(Time, u32)],
        values: &mut BTreeMap<String, f64>,
    ) -> Traces {
        let mut traces = Traces::default();
        if let Some(wire) = self.wire.take() {
            wire.finish(origin, deliveries, values, &mut traces);
        }
        if let Some(series) = self.series.take() {
            series.finish(origin, values, &mut traces);
        }
        if let Some(transfer) = self.transfer.take() {
            transfer.finish(deliveries, values);
        }
        traces
    }
}

impl Application for Source {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.program.on_start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        match (&event, self.end.after) {
            (Event::Connected { .. }, Some(time)) => {
                let at = cx.simulation_time() + time;
                cx.set_simulation_timer(at, END);
            }
            // Nothing more will happen.
            (Event::Closed(_), _) => cx.stop(),
            _ => {}
        }
        if let (Event::Connected { .. }, Some(series)) = (&event, &mut self.series) {
            let now = cx.now();
            series.begin(now, cx.endpoint().path_stats(id).iter().map(|path| path.cwnd));
        }
        self.program.on_event(cx, id, event);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        if token == END {
            cx.stop();
        } else {
            self.program.on_timer(cx, token);
        }
    }

    fn on_trace(&mut self, now: Time, _id: AssociationId, event: &TraceEvent) {
        if let Some(series) = &mut self.series {
            series.on_trace(now, event);
        }
    }

    fn on_packet(&mut self, now: Time, outgoing: bool, packet: &Packet) {
        if let Some(wire) = &mut self.wire {
            wire.on_packet(now, outgoing, packet);
        }
        if let Some(transfer) = &mut self.transfer {
            transfer.on_packet(now, outgoing, packet);
        }
    }
}

/// The data receiver.
pub(super) struct Receiver {
    program: Sink,
    end: End,
    association: Option<AssociationId>,
    underway: Option<SharedUnderway>,
}

impl Program for Receiver {
    type Inner = Sink;

    fn program(&self) -> &Sink {
        &self.program
    }
}

impl Receiver {
    /// A receiver that notes which packets arrive, if asked to.
    pub(super) fn new(program: Sink, end: End, underway: Option<SharedUnderway>) -> Receiver {
        Receiver { program, end, association: None, underway }
    }

    /// The association that the sender opened.
    pub(super) fn association(&self) -> Option<AssociationId> {
        self.association
    }
}

impl Application for Receiver {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.program.on_start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, id: AssociationId, event: Event) {
        self.association.get_or_insert(id);
        self.program.on_event(cx, id, event);
        let delivered = self.program.stats().messages;
        if self.end.after.is_none() && self.end.messages.is_some_and(|n| delivered >= n) {
            cx.stop();
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        self.program.on_timer(cx, token);
    }

    fn on_packet(&mut self, _now: Time, outgoing: bool, packet: &Packet) {
        if let Some(underway) = &self.underway
            && !outgoing
        {
            underway.borrow_mut().arrives(packet);
        }
    }
}
