//! The log: every decision as an event of `tracing`.
//!
//! | target | level | what |
//! |---|---|---|
//! | `tresse::association` | info | established, closed and why, peer's shutdown, restart |
//! | `tresse::association` | warn | ERROR chunks of the peer |
//! | `tresse::path` | info | a path changes its state |
//! | `tresse::recovery` | debug | chunk lost, T3-rtx expired, spurious, reneged, Limited Transmit, RTO.Min, path MTU and the search for it, FORWARD TSN and packet drop reports of the peer, messages whose rest does not come |
//! | `tresse::congestion` | debug | the window is cut, given back or begins again |
//! | `tresse::congestion` | trace | the window grows |
//! | `tresse::rtt` | trace | round-trip time samples |
//! | `tresse::data` | trace | DATA chunks sent, SACKs processed, T3-rtx armed |
//! | `tresse::packet` | trace | packets in both directions |
//!
//! Every event has the field `association`, such as `3v1`, except those of packets, which have
//! addresses. Times are in milliseconds (`_ms`), sizes in bytes.

use std::io::{self, Write};
use std::sync::Arc;

use tracing::{Level, debug, info, trace, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tresse::{
    AssociationId, Direction, Event, ObservedEvent, ObservedPacket, Observer, Time, TraceEvent,
    WindowCause, association_name,
};

use crate::spool::Stream;

/// Passes everything on to the `tracing` subscriber of the program. Where none listens for a level,
/// its events are not even put together.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogObserver;

impl Observer for LogObserver {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        if !tracing::enabled!(target: "tresse::packet", Level::TRACE) {
            return;
        }
        let direction = match packet.direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        trace!(
            target: "tresse::packet",
            direction, local = %packet.local, remote = %packet.remote, bytes = packet.packet.len(),
            "packet"
        );
    }

    fn event(&mut self, observed: &ObservedEvent<'_>) {
        // The frequent ones, which say nothing.
        if matches!(
            observed.event,
            Event::Readable
                | Event::Writable
                | Event::SendFailed(_)
                | Event::Expired(_)
                | Event::Abandoned(_)
        ) {
            return;
        }
        let association = association_name(observed.association);
        match observed.event {
            Event::Connected { outbound_streams, inbound_streams, accepted } => {
                let metrics = observed.metrics();
                let peer = metrics.as_ref().and_then(|m| m.primary().map(|path| path.remote));
                let ports = metrics.map(|m| (m.info.local_port, m.info.remote_port));
                info!(
                    target: "tresse::association",
                    association, peer = ?peer, ports = ?ports, outbound_streams, inbound_streams,
                    accepted, "established"
                );
            }
            Event::Restarted => info!(target: "tresse::association", association, "restarted"),
            Event::PeerShutdown => {
                info!(target: "tresse::association", association, "the peer shuts down");
            }
            Event::Closed(reason) => {
                info!(target: "tresse::association", association, reason = ?reason, "closed");
            }
            Event::PathChanged { path, address, state, .. } => info!(
                target: "tresse::path",
                association, path = path.0, address = %address, state = state.name(), "path"
            ),
            Event::PrimaryChanged { path, address } => info!(
                target: "tresse::path",
                association, path = path.0, address = %address, "primary path"
            ),
            Event::PeerError { cause, value } => warn!(
                target: "tresse::association",
                association, cause, bytes = value.len(), "error chunk of the peer"
            ),
            _ => {}
        }
    }

    fn trace(&mut self, association: AssociationId, _at: Time, event: &TraceEvent) {
        // The name costs an allocation.
        if !tracing::enabled!(target: "tresse::recovery", Level::DEBUG)
            && !tracing::enabled!(target: "tresse::congestion", Level::DEBUG)
            && !tracing::enabled!(target: "tresse::rtt", Level::TRACE)
            && !tracing::enabled!(target: "tresse::data", Level::TRACE)
        {
            return;
        }
        let association = association_name(association);
        match event {
            TraceEvent::Sent { .. } | TraceEvent::Sacked { .. } | TraceEvent::TimerArmed { .. } => {
                data(&association, event);
            }
            TraceEvent::Rtt { path, sample, srtt, rto } => trace!(
                target: "tresse::rtt",
                association, path = path.0, sample_ms = millis(*sample), srtt_ms = millis(*srtt),
                rto_ms = millis(*rto), "round-trip time"
            ),
            TraceEvent::Window { path, cwnd, ssthresh, flight, cause: WindowCause::Growth } => {
                trace!(
                    target: "tresse::congestion",
                    association, path = path.0, cwnd, ssthresh, flight, "window grows"
                );
            }
            TraceEvent::Window { path, cwnd, ssthresh, flight, cause } => debug!(
                target: "tresse::congestion",
                association, path = path.0, cwnd, ssthresh, flight, cause = cause.name(), "window"
            ),
            _ => recovery(&association, event),
        }
    }
}

fn data(association: &str, event: &TraceEvent) {
    match event {
        TraceEvent::Sent { tsn, path, bytes, transmission, cause } => trace!(
            target: "tresse::data",
            association, tsn = tsn.0, path = path.0, bytes, transmission,
            cause = cause.map(|cause| cause.name()), "DATA sent"
        ),
        TraceEvent::Sacked { cumulative, gap_blocks, duplicates, newly_acked, a_rwnd } => trace!(
            target: "tresse::data",
            association, cumulative = cumulative.0, gap_blocks, duplicates, newly_acked, a_rwnd,
            "SACK processed"
        ),
        TraceEvent::TimerArmed { path, at } => trace!(
            target: "tresse::data",
            association, path = path.0, at_s = at.as_secs_f64(), "T3-rtx armed"
        ),
        _ => {}
    }
}

fn recovery(association: &str, event: &TraceEvent) {
    match event {
        TraceEvent::Lost { tsn, path, cause, misses } => debug!(
            target: "tresse::recovery",
            association, tsn = tsn.0, path = path.0, cause = cause.name(), misses, "chunk lost"
        ),
        TraceEvent::Reneged { tsn } => {
            debug!(target: "tresse::recovery", association, tsn = tsn.0, "chunk reneged");
        }
        TraceEvent::PassedOver { tsn, streams, dropped, advanced } => debug!(
            target: "tresse::recovery",
            association, tsn = tsn.0, streams, dropped, advanced, "FORWARD TSN processed"
        ),
        TraceEvent::PartialDeliveryAborted { tsn, stream } => debug!(
            target: "tresse::recovery",
            association, tsn = tsn.0, stream = stream.0, "the rest of a message does not come"
        ),
        TraceEvent::DropReport { quoted, helped } => debug!(
            target: "tresse::recovery", association, quoted, helped, "packet drop report processed"
        ),
        TraceEvent::ExtraPacket { path } => {
            debug!(target: "tresse::recovery", association, path = path.0, "packet beyond cwnd");
        }
        TraceEvent::EcnGivenUp { path } => {
            debug!(target: "tresse::recovery", association, path = path.0, "ECN is given up");
        }
        TraceEvent::Mtu { path, old, new, cause } => debug!(
            target: "tresse::recovery",
            association, path = path.0, old, new, cause = cause.name(), "path MTU"
        ),
        TraceEvent::MtuSearch { path, state, mtu } => {
            let state = state.map_or("off", |state| state.name());
            debug!(
                target: "tresse::recovery",
                association, path = path.0, state, mtu, "search for the path MTU"
            );
        }
        TraceEvent::TimerExpired { path, rto } => debug!(
            target: "tresse::recovery",
            association, path = path.0, rto_ms = millis(*rto), "T3-rtx expired"
        ),
        TraceEvent::Spurious { path, timeout, by } => debug!(
            target: "tresse::recovery",
            association, path = path.0, timeout, by = by.name(), "the loss was none"
        ),
        TraceEvent::RtoMin { rto_min } => debug!(
            target: "tresse::recovery", association, rto_min_ms = millis(*rto_min), "RTO.Min"
        ),
        _ => {}
    }
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Reads a filter: a level for everything (`info`), levels by target
/// (`tresse::recovery=debug,tresse::path=info`), or both, joined by commas.
///
/// # Errors
/// One line that says what is wrong.
pub fn filter(text: &str) -> Result<Targets, String> {
    text.parse::<Targets>().map_err(|error| {
        format!("\"{text}\" is no filter ({error}): write info, or tresse::recovery=debug,info")
    })
}

/// Whether a filter asks for decisions of the recovery, which associations only record if their
/// configuration has `trace`.
#[must_use]
pub fn wants_trace(filter: &Targets) -> bool {
    let asked = |target, level| filter.would_enable(target, &level);
    asked("tresse::recovery", Level::DEBUG)
        || asked("tresse::congestion", Level::DEBUG)
        || asked("tresse::rtt", Level::TRACE)
        || asked("tresse::data", Level::TRACE)
}

/// Makes a log with this filter, one line for each event, the subscriber of the whole process.
///
/// # Errors
/// There is one already.
pub fn start(filter: Targets, stream: Stream) -> Result<(), String> {
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        // It would use the standard error, whose loss must do no harm.
        .log_internal_errors(false)
        .with_writer(Lines(Arc::new(stream)));
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init()
        .map_err(|error| error.to_string())
}

/// Gives every event to a stream.
struct Lines(Arc<Stream>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Arc::clone(&self.0))
    }
}

/// The place of one event.
struct Line(Arc<Stream>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_say_what_must_be_recorded() {
        for (text, trace) in [
            ("info", false),
            ("debug", true),
            ("tresse::recovery=debug", true),
            ("info,tresse::congestion=debug", true),
            ("tresse::rtt=debug", false),
            ("tresse=trace", true),
            ("tresse::packet=trace", false),
        ] {
            assert_eq!(wants_trace(&filter(text).unwrap()), trace, "{text}");
        }
        let wrong = filter("tresse=loud").unwrap_err();
        assert!(wrong.contains("tresse=loud") && !wrong.contains('\n'), "{wrong}");
    }
}
