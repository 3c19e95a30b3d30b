//! Deterministic discrete-event simulation: hosts that run [`tresse_core::Endpoint`] over
//! [`tresse_netem`] links under a virtual clock.
//!
//! The same seed and the same calls give the same packets, byte for byte: events at one moment
//! run in the order in which they were scheduled, and every host and link draws from a random
//! stream of its own.
//!
//! ```
//! use tresse_core::{AssociationConfig, EndpointConfig, Time};
//! use tresse_sim::apps::{Bulk, Plan, Sender, Sink};
//! use tresse_sim::{LinkConfig, Simulation, StopReason};
//!
//! let (a, b) = ("10.0.0.1".parse()?, "10.0.0.2".parse()?);
//! let mut sim = Simulation::new(1);
//! let bulk = Bulk { messages: Some(1000), ..Bulk::of_size(1400) };
//! let client = sim.add_host(
//!     "client",
//!     EndpointConfig { local_addresses: vec![a], ..EndpointConfig::default() },
//!     Box::new(
//!         Sender::new(Plan::Bulk(bulk))
//!             .connect(vec![b], 5000, AssociationConfig::default())
//!             .shutdown_when_done(),
//!     ),
//! );
//! let server = sim.add_host(
//!     "server",
//!     EndpointConfig { local_addresses: vec![b], accept: true, ..EndpointConfig::default() },
//!     Box::new(Sink::new()),
//! );
//! sim.duplex(client, server, a, b, LinkConfig::new(10_000.0, 20.0))?;
//! assert_eq!(sim.run(Time::from_millis(60_000)), StopReason::Idle);
//! assert_eq!(sim.app::<Sink>(server).stats().messages, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod application;
pub mod apps;
mod capture;
mod clock;
mod draw;
mod event_queue;
mod host;
mod ids;
mod interface;
mod ip_stack;
mod node;
mod packet;
mod processor;
mod route;
mod rules;
mod seed;
mod simulation;
mod stats;
pub mod tcp;
mod world;

pub use application::{Application, Context};
pub use capture::{Capture, CaptureBuffer, CapturePoint};
pub use draw::Draw;
pub use ids::{HostId, LinkId};
pub use interface::Interface;
pub use ip_stack::{HostModel, IpStack, RouteEntry};
pub use ipnet::IpNet;
pub use node::{Node, NodeContext};
pub use packet::{ENCAPSULATION_PORT, Packet, Protocol, UdpPorts};
pub use processor::{ProcessorConfig, ProcessorStats, SackWalks};
pub use route::Route;
pub use rules::LinkRules;
pub use simulation::{Change, Passage, Simulation, StopReason};
pub use stats::SimulationStats;
pub use tresse_netem::{ConfigError, DropCause, EcnField, LinkConfig, LinkStats, LossStage};
