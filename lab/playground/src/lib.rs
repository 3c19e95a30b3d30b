//! The simulator in a page: a [`Scenario`] goes in, a [`Story`] comes out, with every packet, what became of it, what
//! the sender decided and why. The same scenario gives the same story, natively and as WebAssembly.
//!
//! ```
//! use tresse_playground::{Scenario, play};
//!
//! let scenario: Scenario = serde_json::from_str(
//!     r#"{"seconds": 5, "sides": [{"profile": "tresse"}, {"profile": "rfc9260"}],
//!         "traffic": {"kind": "thin", "size": 100, "interval_ms": 250, "messages": 8},
//!         "events": [{"what": "lose-data", "number": 8}]}"#,
//! )?;
//! let story = play(&scenario)?;
//! let [ours, standard] = &story.sides[..] else { panic!("two sides") };
//! assert_eq!(ours.summary.delivered, 8);
//! // The last message is lost: nothing behind it tells, and RFC 9260 waits for its timer.
//! assert!(ours.summary.max_ms < standard.summary.max_ms);
//! assert_eq!(standard.summary.timeouts, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The functions that the page calls have names there, which the lint counts as unsafe (`wasm.rs`).
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

mod catalogue;
mod chunks;
mod decisions;
pub mod folder;
mod middle;
mod play;
mod recorder;
mod scenario;
mod story;
mod summary;
pub mod wasm;

pub use catalogue::{Catalogue, Preset, catalogue, presets};
pub use play::play;
pub use scenario::{Event, Fault, Link, Scenario, Side, Traffic, Way};
pub use story::{
    Chunk, Decision, DecisionKind, LostBy, Message, Packet, SideStory, Story, Summary, WindowPoint,
};
