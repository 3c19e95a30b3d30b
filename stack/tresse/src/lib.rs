//! SCTP (RFC 9260) for asynchronous Rust, in user space, over UDP encapsulation (RFC 6951) or
//! directly on IP.
//!
//! An [`Endpoint`] is one SCTP port on one or more local addresses ([`Carrier`]). It opens
//! associations with
//! [`connect`](Endpoint::connect) and takes those of peers with [`accept`](Endpoint::accept). An
//! [`Association`] sends and receives whole messages on many streams.
//!
//! ```
//! use tresse::{Config, Endpoint};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind(Config::server("127.0.0.1:0".parse()?, 5001))?;
//! let address = server.local_addr();
//! let echo = tokio::spawn(async move {
//!     let association = server.accept().await?;
//!     while let Ok(received) = association.recv().await {
//!         association.send(received.stream, received.payload).await?;
//!     }
//!     Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! });
//!
//! let client = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
//! let association = client.connect((address, 5001)).await?;
//! association.send(3, "hello").await?;
//! let answer = association.recv().await?;
//! assert_eq!(answer.payload, "hello");
//! assert_eq!(answer.stream.0, 3);
//! association.shutdown().await?;
//! echo.await?.map_err(|error| error.to_string())?;
//! # Ok(())
//! # }
//! ```
//!
//! # How it runs
//! There is no global state and no thread of its own. Each endpoint has one *driver*, a future
//! that moves packets between the socket and the protocol and runs the timers.
//! [`Endpoint::bind`] spawns it as one task on the current tokio runtime; [`Endpoint::open`]
//! returns it, for callers who choose where it is polled; [`Endpoint::open_with`] takes another
//! [`runtime`], and [`Endpoint::open_over`] what moves packets instead of sockets.
//!
//! The protocol ([`tresse_core::Endpoint`]) stands behind one mutex per endpoint, as in quinn,
//! rather than behind a channel of commands: a call to `send` learns at once whether the message
//! was accepted, no second queue grows beside the send buffer, and a task is woken only when it
//! has something to do. The lock is held for one message by callers and for one received batch by
//! the driver, never across a system call or an `await`.
//!
//! # Endings
//! | what | then |
//! |---|---|
//! | [`Association::shutdown`] | everything sent is delivered, then both sides close |
//! | [`Association::abort`] | closes at once; the peer is told the reason |
//! | the last clone of an [`Association`] is dropped | a graceful shutdown goes on in the driver; what still arrives is discarded. If the association was not established yet, it is aborted |
//! | the last clone of an [`Endpoint`] is dropped, or one is [closed](Endpoint::close) | nothing new is accepted; open associations go on, and the driver ends with the last of them |
//! | the driver or its runtime is dropped | everything ends with [`Closed::Driver`]; peers are not told and notice by their timers. Await [`Endpoint::wait_idle`] first |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// The programs of the README, which are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs of the guide, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;

mod association;
mod clock;
mod config;
mod driver;
mod endpoint;
mod error;
mod figures;
mod host;
mod incoming;
mod metrics;
mod peer;
mod raw;
pub mod runtime;
mod sharded;
mod shared;
mod team;
mod untold;

pub use association::{Association, OpenMessage, RecvHalf, SendHalf};
pub use config::{Carrier, Config, Direction, ObservedEvent, ObservedPacket, Observer};
pub use driver::Driver;
pub use endpoint::Endpoint;
pub use error::{AcceptError, Closed, ConnectError, NoRoute, SendError};
pub use figures::AssociationMetrics;
pub use incoming::Incoming;
pub use metrics::{EndpointMetrics, Monitor, association_name};
pub use peer::Peer;
pub use raw::{Events, RawEndpoint};
pub use sharded::ShardedEndpoint;

pub use bytes::Bytes;
pub use tresse_carrier::{
    CarrierStats, DEFAULT_UDP_PORT, Dscp, Ecn, FlowLabel, IpLabels, SocketOptions,
};
#[cfg(feature = "toml")]
pub use tresse_core::ProfileError;
/// The parameters of a [`Profile`], and what they choose from.
pub use tresse_core::profile;
pub use tresse_core::{
    AbandonPolicy, AbandonedMessages, AddressChange, AddressError, AddressOutcome,
    AssociationConfig, AssociationError, AssociationId, AssociationInfo, AssociationState,
    AssociationStats, Authentication, AuthenticationEvent, AuthenticationInfo, CloseReason,
    EndpointConfig, EndpointStats, Event, Extensions, Families, KeyError, LossCause, LossEvidence,
    LossPurpose, Message, MessagePart, MtuCause, MtuDiscovery, MtuSearchState, NextMessage,
    NotOpened, PathCounters, PathId, PathSettings, PathState, PathStats, PeerFilter, PortConfig,
    Profile, ReceivedMessage, ReconfigurationError, ReconfigurationOutcome, ReconfigurationPolicy,
    Reliability, ResetDirection, SendFailure, SendOptions, SharedKeys, SpuriousCause, Time,
    TraceEvent, WindowCause,
};
pub use tresse_wire::{ChunkType, HmacIdentifier, Ppid, Ssn, StreamId, Tsn};
