//! Network link models without IO or clock: the same ones under the simulator's virtual clock and
//! under the real clock of an emulator.
//!
//! A [`Link`] is one direction between two hosts. Packets and the time go in through
//! [`Link::offer`]; [`Link::next_wakeup`] says when to come back, and [`Link::poll`] hands out what
//! has arrived by then. The packet itself is opaque: the link knows its size and its [`Class`].
//!
//! # Stages
//! Every packet goes through the stages in this order. A stage that is not configured costs
//! nothing and draws no random number, and each stage draws from a random stream of its own, so
//! that changing one impairment leaves the decisions of the others as they were.
//!
//! | | stage | file | keys of [`LinkConfig`] |
//! |---|---|---|---|
//! | 1 | up or down | `link.rs` | `up` |
//! | 2 | loss, when at the entry (default) | `loss/` | `drop_*`, `loss`, `gilbert_elliott`, `loss_stage` |
//! | 3 | duplication | `duplication.rs` | `duplicate*` |
//! | 4 | delay spikes at the sender | `spikes.rs` | `spikes` |
//! | 5 | queue | `queue/` | `red`, `codel`, `queue_packets`, `queue_bytes` |
//! | 6 | serialisation | `rate.rs` | `bandwidth_kbps`, `overhead_bytes` |
//! | | delay spikes at the link | `spikes.rs` | `spikes` |
//! | 7 | loss, when on the wire | `loss/` | as 2 |
//! | 8 | corruption | `corruption.rs` | `corrupt*` |
//! | 9 | propagation delay and jitter | `delay.rs`, `ticks.rs` | `delay_ms`, `jitter_ms`, `jitter_reorders`, `ticks` |
//! | 10 | reordering | `reordering.rs` | `reorder*` |
//! | | what becomes of the ECN field | `link.rs` | `ecn` |
//! | 11 | delay spikes at the receiver | `spikes.rs` | `spikes` |
//!
//! A link keeps the order of its packets unless `reorder*` or `jitter_reorders` says otherwise.
//! Whatever is asked of stages 6 to 11 for a packet is settled when its serialisation starts.
//! The link itself makes the changes of settings that `changes` lists (`changes.rs`).
//!
//! ```
//! use tresse_netem::{Class, Link, LinkConfig, Nanos};
//!
//! let config = LinkConfig {
//!     bandwidth_kbps: Some(1000.0),
//!     delay_ms: 10.0,
//!     drop_packets: vec![2],
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(config, 1)?;
//! for name in ["first", "second", "third"] {
//!     link.offer(Nanos::ZERO, 1250, Class::NONE, name);
//! }
//! let mut arrivals = Vec::new();
//! while let Some(now) = link.next_wakeup() {
//!     while let Some(delivery) = link.poll(now) {
//!         arrivals.push((delivery.at.as_millis(), delivery.packet));
//!     }
//! }
//! assert_eq!(arrivals, [(20, "first"), (30, "third")]);
//! # Ok::<(), tresse_netem::ConfigError>(())
//! ```

#![forbid(unsafe_code)]

mod cellular;
mod changes;
mod config;
mod corruption;
mod delay;
mod duplication;
mod error;
mod flying;
mod link;
mod loss;
mod packet;
mod pattern;
mod queue;
mod random;
mod rate;
mod reordering;
mod spikes;
mod stats;
mod ticks;
mod time;

pub use cellular::CellularConfig;
pub use changes::LinkChange;
pub use config::{EcnField, LinkConfig, LossStage};
pub use corruption::Corruption;
pub use error::ConfigError;
pub use link::Link;
pub use loss::gilbert_elliott::GilbertElliottConfig;
pub use packet::{Class, Delivery, Verdict};
pub use queue::codel::CodelConfig;
pub use queue::red::RedConfig;
pub use random::{link_seed, mix};
pub use spikes::{Spike, SpikePlace, SpikesConfig};
pub use stats::{DropCause, LinkStats};
pub use ticks::TicksConfig;
pub use time::Nanos;
