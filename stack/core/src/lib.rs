//! A complete SCTP endpoint (RFC 9260) without IO, clock or randomness of its own.
//!
//! Datagrams and the time go in, datagrams, events and the next deadline come out. See
//! [`Endpoint`] for the five methods that drive it, and the order to call them in.

#![forbid(unsafe_code)]

mod ack;
mod asconf;
mod association;
mod auth;
mod chunk;
mod config;
mod congestion;
mod datagram;
mod endpoint;
mod error;
mod event;
mod extensions;
mod handshake;
mod ids;
mod journal;
mod memory;
mod mtu_discovery;
mod path;
mod peer_filter;
pub mod profile;
mod ranges;
mod receive;
mod recovery;
mod reliability;
mod rng;
pub mod scoreboard;
mod send;
mod settings;
mod state;
mod stats;
mod streams;
mod time;
mod windowed;

pub use association::PeerKey;
pub use auth::{Authentication, SharedKeys};
pub use bytes::Bytes;
pub use config::{AssociationConfig, EndpointConfig, Families, PortConfig, ReconfigurationPolicy};
pub use datagram::{
    Datagram, Dscp, Ecn, FlowLabel, Icmp, IcmpKind, IpFragments, IpLabels, Transmit,
};
pub use endpoint::{AuthenticationInfo, Endpoint, ShardKey};
pub use error::{
    AddressError, AssociationError, KeyError, NoAssociation, NotOpened, ReconfigurationError,
    SendError,
};
pub use event::{
    AddressChange, AddressOutcome, AuthenticationEvent, CloseReason, Event, Message, MessagePart,
    NextMessage, ReceivedMessage, ReconfigurationOutcome, ResetDirection, SendFailure, SendOptions,
    SpuriousCause, TraceEvent,
};
pub use extensions::Extensions;
pub use ids::{
    AssociationId, LossCause, LossEvidence, LossPurpose, MtuCause, MtuSearchState, PathId,
    PathState, WindowCause,
};
pub use mtu_discovery::MtuDiscovery;
pub use peer_filter::PeerFilter;
pub use profile::Profile;
#[cfg(feature = "toml")]
pub use profile::ProfileError;
pub use reliability::{AbandonPolicy, AbandonedMessages, Reliability};
pub use rng::Rng;
pub use settings::PathSettings;
pub use state::State as AssociationState;
pub use stats::{AssociationInfo, AssociationStats, EndpointStats, PathCounters, PathStats};
pub use time::Time;
pub use tresse_wire as wire;
