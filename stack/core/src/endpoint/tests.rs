//! Whole endpoints under test: two of them joined by a wire ([`Pair`]), or one against a peer that
//! the test plays by hand ([`Script`]). Each test is about one rule and names it.

mod pair;
mod script;
mod sent;

mod acks;
mod addresses;
mod amplification;
mod asconf;
mod authentication;
mod collision;
mod concurrent;
mod cookies;
mod crossing;
mod dac;
mod data;
mod destination;
mod drop_reports;
mod ecn;
mod encapsulation;
mod events;
mod failover;
mod fast_retransmit;
mod faults;
mod flow;
mod forward_tsn;
mod heartbeat;
mod hostile;
mod icmp;
mod identity;
mod init;
mod interleaving;
mod labels;
mod lifetime;
mod limits;
mod memory;
mod multihoming;
mod multipath;
mod next_message;
mod nr_sack;
mod ootb;
mod outage;
mod packets;
mod partial;
mod parts;
mod path_failure;
mod path_mtu;
mod patience;
mod ports;
mod potentially_failed;
mod reconfiguration;
mod repeats;
mod restart;
mod run_time;
mod setup;
mod shutdown;
mod sources;
mod stream_schedulers;
mod tags;
mod timers;
mod transfer;
mod verification;
mod window;
mod zero_checksum;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use tresse_wire::{
    CauseCode, CauseWriter, ChunkType, CommonHeader, DataFlags, GapAckBlock, InitFields,
    PacketWriter, ParameterWriter, Ppid, Ssn, StreamId, Tsn, VerificationTag,
};

use super::Endpoint;
use crate::config::{AssociationConfig, EndpointConfig};
use crate::datagram::{Datagram, Ecn, IpFragments, IpLabels, Transmit};
use crate::event::{CloseReason, Event, NextMessage, ReceivedMessage, SendOptions, TraceEvent};
use crate::extensions::Extensions;
use crate::ids::{AssociationId, PathId};
use crate::profile::Profile;
use crate::state::State;
use crate::time::Time;
use pair::Filter;
pub(crate) use pair::{Pair, Side};
use script::Script;
pub(crate) use sent::Sent;

/// The SCTP port of everybody.
const PORT: u16 = 5000;

/// The first `count` addresses of a side; the two sides share networks.
fn addresses(side: Side, count: u8) -> Vec<IpAddr> {
    let host = if side == Side::A { 1 } else { 2 };
    (0..count).map(|net| IpAddr::from([10, 0, net, host])).collect()
}

/// A profile by name, with TOML on top of it, and trace events.
pub(crate) fn profile(name: &str, overrides: &str) -> AssociationConfig {
    let profile = Profile::named(name).unwrap().with_overrides(overrides).unwrap();
    AssociationConfig {
        profile: profile.into(),
        trace: true,
        extensions: Extensions::NONE,
        ..AssociationConfig::default()
    }
}

/// RFC 9260 as it stands, without Nagle's algorithm.
fn standard() -> AssociationConfig {
    AssociationConfig { no_delay: true, ..profile("rfc9260", "") }
}

/// The same without Max.Burst, where tests count packets.
fn bursty() -> AssociationConfig {
    AssociationConfig { no_delay: true, ..profile("rfc9260", "[limits]\nmax_burst = 0") }
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
