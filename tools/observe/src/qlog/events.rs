//! The events of `docs/qlog.md`. Times are in milliseconds, sizes in bytes.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use tresse::{
    AddressChange, AddressOutcome, AssociationInfo, AuthenticationEvent, Direction, Event,
    ObservedEvent, ObservedPacket, PathId, PathStats, ResetDirection, SendFailure, Time,
    TraceEvent,
};
use tresse_wire::Packet;

use super::names::{agreed, closed, outcome_name};
use super::packet::PacketData;

/// One record.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    time: f64,
    name: &'static str,
    /// The path, as qlog calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuple: Option<String>,
    data: Data<'a>,
}

/// The `data` of an event, by its name.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Packet(PacketData<'a>),
    State {
        new: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_cause: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outbound_streams: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inbound_streams: Option<u16>,
    },
    Path {
        remote: IpAddr,
        new: &'static str,
    },
    Primary {
        remote: IpAddr,
    },
    PeerError {
        error_cause: u16,
        length: usize,
    },
    /// What became of a change of our addresses.
    Asked {
        change: &'static str,
        address: IpAddr,
        outcome: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_cause: Option<u16>,
    },
    Extensions {
        extensions: Vec<&'static str>,
    },
    StreamsReset {
        direction: &'static str,
        /// None for all.
        streams: Vec<u16>,
        outcome: &'static str,
    },
    AssociationReset {
        outcome: &'static str,
        local_tsn: u32,
        remote_tsn: u32,
    },
    StreamsAdded {
        outcome: &'static str,
        outbound_streams: u16,
        inbound_streams: u16,
    },
    Authentication {
        new: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<u16>,
    },
    Adaptation {
        indication: u32,
    },
    Sent {
        tsn: u32,
        length: usize,
        transmission: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'static str>,
    },
    Sacked {
        cumulative_tsn_ack: u32,
        gap_ack_blocks: usize,
        duplicate_tsns: usize,
        newly_acked: usize,
        a_rwnd: u32,
    },
    Lost {
        tsn: u32,
        trigger: &'static str,
        miss_indications: u32,
    },
    Tsn {
        tsn: u32,
    },
    Abandoned {
        tsn: u32,
        chunks: usize,
    },
    Unsent {
        stream_id: u16,
        length: usize,
        trigger: &'static str,
    },
    Forwarded {
        new_cumulative_tsn: u32,
        skipped_streams: usize,
    },
    PassedOver {
        new_cumulative_tsn: u32,
        skipped_streams: usize,
        dropped_chunks: usize,
        advanced: bool,
    },
    CutShort {
        tsn: u32,
        stream_id: u16,
    },
    DropReport {
        quoted_length: usize,
        acted_on: bool,
    },
    Nothing {},
    Mtu {
        old: usize,
        new: usize,
        trigger: &'static str,
    },
    MtuSearch {
        new: &'static str,
        mtu: usize,
    },
    MtuProbe {
        length: usize,
        padding: &'static str,
    },
    Rtt {
        latest_rtt: f64,
        smoothed_rtt: f64,
        rto: f64,
    },
    Window {
        cwnd: usize,
        ssthresh: usize,
        flight: usize,
        trigger: &'static str,
    },
    Expired {
        rto: f64,
    },
    Spurious {
        loss: &'static str,
        trigger: &'static str,
    },
    RtoMin {
        rto_min: f64,
    },
    Armed {
        expires: f64,
    },
}

impl<'a> Record<'a> {
    fn new(at: Time, name: &'static str, path: Option<PathId>, data: Data<'a>) -> Record<'a> {
        let time = at.as_nanos() as f64 / 1e6;
        Record { time, name, tuple: path.map(|path| path.0.to_string()), data }
    }

    pub(super) fn packet(observed: &ObservedPacket<'_>, packet: &Packet<'a>) -> Record<'a> {
        let name = match observed.direction {
            Direction::In => "sctp:packet_received",
            Direction::Out => "sctp:packet_sent",
        };
        let data = Data::Packet(PacketData::new(observed, packet));
        Record::new(observed.at, name, None, data)
    }

    /// What the congestion window of a path is before anything was sent on it.
    pub(super) fn initial_window(at: Time, path: &PathStats) -> Record<'a> {
        let (cwnd, ssthresh, flight) = (path.cwnd, path.ssthresh, path.flight);
        let data = Data::Window { cwnd, ssthresh, flight, trigger: "initial" };
        Record::new(at, "sctp:congestion_window_updated", Some(path.id), data)
    }

    /// What both ends have offered.
    pub(super) fn extensions(at: Time, info: &AssociationInfo) -> Record<'a> {
        let data = Data::Extensions { extensions: agreed(info) };
        Record::new(at, "sctp:extensions_negotiated", None, data)
    }

    pub(super) fn event(observed: &ObservedEvent<'_>) -> Option<Record<'a>> {
        const STATE: &str = "sctp:association_state_updated";
        const UNSENT: &str = "sctp:unsent_message_abandoned";
        let state = |new, trigger, error_cause| Data::State {
            new,
            trigger,
            error_cause,
            outbound_streams: None,
            inbound_streams: None,
        };
        let (name, path, data) = match observed.event {
            Event::Connected { outbound_streams, inbound_streams, .. } => {
                let data = Data::State {
                    new: "established",
                    trigger: None,
                    error_cause: None,
                    outbound_streams: Some(*outbound_streams),
                    inbound_streams: Some(*inbound_streams),
                };
                (STATE, None, data)
            }
            Event::Restarted => (STATE, None, state("established", Some("restart"), None)),
            Event::PeerShutdown => {
                (STATE, None, state("shutdown-received", Some("peer_shutdown"), None))
            }
            Event::Closed(reason) => {
                let (trigger, cause) = closed(reason);
                (STATE, None, state("closed", Some(trigger), cause))
            }
            Event::PathChanged { path, address, state, .. } => {
                let data = Data::Path { remote: *address, new: state.name() };
                ("sctp:path_state_updated", Some(*path), data)
            }
            Event::PrimaryChanged { path, address } => {
                ("sctp:primary_path_updated", Some(*path), Data::Primary { remote: *address })
            }
            Event::PeerError { cause, value } => {
                let data = Data::PeerError { error_cause: *cause, length: value.len() };
                ("sctp:peer_error", None, data)
            }
            Event::AddressChanged { change, address, outcome } => {
                let change = match change {
                    AddressChange::Add => "add",
                    AddressChange::Delete => "delete",
                    AddressChange::SetPrimary => "set-primary",
                };
                let (outcome, error_cause) = match outcome {
                    AddressOutcome::Done => ("done", None),
                    AddressOutcome::Refused { cause } => ("refused", Some(*cause)),
                    AddressOutcome::NotSupported => ("not-supported", None),
                    _ => ("failed", None),
                };
                let data = Data::Asked { change, address: *address, outcome, error_cause };
                ("sctp:local_address_updated", None, data)
            }
            Event::PeerAddressAdded(path, address) => {
                let data = Data::Path { remote: *address, new: "added" };
                ("sctp:peer_address_updated", Some(*path), data)
            }
            Event::PeerAddressRemoved(path, address) => {
                let data = Data::Path { remote: *address, new: "removed" };
                ("sctp:peer_address_updated", Some(*path), data)
            }
            Event::Expired(failure) => (UNSENT, None, unsent(failure, "lifetime")),
            Event::Abandoned(failure) if !failure.sent => (UNSENT, None, unsent(failure, "policy")),
            event => {
                let (name, data) = extension(event)?;
                (name, None, data)
            }
        };
        Some(Record::new(observed.at, name, path, data))
    }

    pub(super) fn trace(at: Time, event: &TraceEvent) -> Option<Record<'a>> {
        let (name, path, data) = match event {
            TraceEvent::Sent { tsn, path, bytes, transmission, cause } => {
                let trigger = cause.map(|cause| cause.name());
                let (tsn, length, transmission) = (tsn.0, *bytes, *transmission);
                ("sctp:data_sent", Some(path), Data::Sent { tsn, length, transmission, trigger })
            }
            TraceEvent::Sacked { cumulative, gap_blocks, duplicates, newly_acked, a_rwnd } => {
                let data = Data::Sacked {
                    cumulative_tsn_ack: cumulative.0,
                    gap_ack_blocks: *gap_blocks,
                    duplicate_tsns: *duplicates,
                    newly_acked: *newly_acked,
                    a_rwnd: *a_rwnd,
                };
                ("sctp:sack_processed", None, data)
            }
            TraceEvent::Lost { tsn, path, cause, misses } => {
                let trigger = cause.name();
                let data = Data::Lost { tsn: tsn.0, trigger, miss_indications: *misses };
                ("sctp:chunk_lost", Some(path), data)
            }
            TraceEvent::Reneged { tsn } => ("sctp:chunk_reneged", None, Data::Tsn { tsn: tsn.0 }),
            TraceEvent::Abandoned { tsn, chunks } => {
                ("sctp:message_abandoned", None, Data::Abandoned { tsn: tsn.0, chunks: *chunks })
            }
            TraceEvent::Forwarded { tsn, path, streams } => {
                let (new_cumulative_tsn, skipped_streams) = (tsn.0, *streams);
                let data = Data::Forwarded { new_cumulative_tsn, skipped_streams };
                ("sctp:forward_tsn_sent", Some(path), data)
            }
            TraceEvent::PassedOver { tsn, streams, dropped, advanced } => {
                let data = Data::PassedOver {
                    new_cumulative_tsn: tsn.0,
                    skipped_streams: *streams,
                    dropped_chunks: *dropped,
                    advanced: *advanced,
                };
                ("sctp:forward_tsn_processed", None, data)
            }
            TraceEvent::PartialDeliveryAborted { tsn, stream } => {
                let data = Data::CutShort { tsn: tsn.0, stream_id: stream.0 };
                ("sctp:partial_delivery_aborted", None, data)
            }
            TraceEvent::DropReport { quoted, helped } => {
                let data = Data::DropReport { quoted_length: *quoted, acted_on: *helped };
                ("sctp:packet_drop_report_processed", None, data)
            }
            TraceEvent::ExtraPacket { path } => ("sctp:extra_packet", Some(path), Data::Nothing {}),
            TraceEvent::EcnGivenUp { path } => ("sctp:ecn_given_up", Some(path), Data::Nothing {}),
            TraceEvent::Mtu { path, old, new, cause } => {
                let data = Data::Mtu { old: *old, new: *new, trigger: cause.name() };
                ("sctp:mtu_updated", Some(path), data)
            }
            TraceEvent::MtuSearch { path, state, mtu } => {
                let new = state.map_or("off", |state| state.name());
                ("sctp:mtu_search_updated", Some(path), Data::MtuSearch { new, mtu: *mtu })
            }
            TraceEvent::MtuProbe { path, length, pad_chunk } => {
                let padding = if *pad_chunk { "pad-chunk" } else { "heartbeat-info" };
                let data = Data::MtuProbe { length: *length, padding };
                ("sctp:mtu_probe_sent", Some(path), data)
            }
            TraceEvent::Rtt { path, sample, srtt, rto } => {
                let (latest_rtt, smoothed_rtt) = (millis(*sample), millis(*srtt));
                let data = Data::Rtt { latest_rtt, smoothed_rtt, rto: millis(*rto) };
                ("sctp:rtt_updated", Some(path), data)
            }
            TraceEvent::Window { path, cwnd, ssthresh, flight, cause } => {
                let (cwnd, ssthresh, flight) = (*cwnd, *ssthresh, *flight);
                let data = Data::Window { cwnd, ssthresh, flight, trigger: cause.name() };
                ("sctp:congestion_window_updated", Some(path), data)
            }
            TraceEvent::TimerExpired { path, rto } => {
                ("sctp:t3_rtx_expired", Some(path), Data::Expired { rto: millis(*rto) })
            }
            TraceEvent::Spurious { path, timeout, by } => {
                let loss = if *timeout { "timeout" } else { "sack" };
                let data = Data::Spurious { loss, trigger: by.name() };
                ("sctp:loss_spurious", Some(path), data)
            }
            TraceEvent::RtoMin { rto_min } => {
                ("sctp:rto_min_updated", None, Data::RtoMin { rto_min: millis(*rto_min) })
            }
            TraceEvent::TimerArmed { path, at } => {
                ("sctp:t3_rtx_armed", Some(path), Data::Armed { expires: at.as_secs_f64() * 1e3 })
            }
            _ => return None,
        };
        Some(Record::new(at, name, path.copied(), data))
    }

    pub(super) fn to_text(&self) -> Vec<u8> {
        sequence(self)
    }
}

/// A JSON text with the separators of RFC 7464 around it.
pub(super) fn sequence(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(256);
    text.push(0x1e);
    // These types have string keys only and finite numbers, and memory does not fail.
    if serde_json::to_writer(&mut text, value).is_err() {
        return Vec::new();
    }
    text.push(b'\n');
    text
}

/// A message that was given up before any of it had left.
fn unsent<'a>(failure: &SendFailure, trigger: &'static str) -> Data<'a> {
    let message = &failure.message;
    Data::Unsent { stream_id: message.stream.0, length: message.payload.len(), trigger }
}

/// What became of requests to change streams (RFC 6525), and what is known of keys (RFC 4895) and of the peer (RFC 5061).
fn extension<'a>(event: &Event) -> Option<(&'static str, Data<'a>)> {
    Some(match event {
        Event::StreamsReset { direction, streams, outcome } => {
            let direction = match direction {
                ResetDirection::Outgoing => "outgoing",
                ResetDirection::Incoming => "incoming",
                ResetDirection::Both => "both",
            };
            let streams = streams.iter().map(|stream| stream.0).collect();
            let data = Data::StreamsReset { direction, streams, outcome: outcome_name(*outcome) };
            ("sctp:streams_reset", data)
        }
        Event::AssociationReset { outcome, local_tsn, remote_tsn } => {
            let (outcome, local_tsn, remote_tsn) =
                (outcome_name(*outcome), local_tsn.0, remote_tsn.0);
            let data = Data::AssociationReset { outcome, local_tsn, remote_tsn };
            ("sctp:association_reset", data)
        }
        Event::StreamsAdded { outcome, outbound_streams, inbound_streams } => {
            let data = Data::StreamsAdded {
                outcome: outcome_name(*outcome),
                outbound_streams: *outbound_streams,
                inbound_streams: *inbound_streams,
            };
            ("sctp:streams_added", data)
        }
        Event::Authentication(event) => {
            let (new, key, before) = match event {
                AuthenticationEvent::NotSupported => ("not-supported", None, None),
                AuthenticationEvent::NewKey { key, before } => {
                    ("new-key", Some(*key), Some(*before))
                }
                AuthenticationEvent::FreeKey { key } => ("free-key", Some(*key), None),
                AuthenticationEvent::UnknownKey { key } => ("unknown-key", Some(*key), None),
                _ => return None,
            };
            ("sctp:authentication_updated", Data::Authentication { new, key, before })
        }
        Event::PeerAdaptation(indication) => {
            let data = Data::Adaptation { indication: *indication };
            ("sctp:peer_adaptation", data)
        }
        _ => return None,
    })
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
