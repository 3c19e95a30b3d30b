//! Profiles: protocol behaviour as data.
//!
//! A profile is a TOML file in `profiles/`. A *base* (`rfc9260`, `rfc2960`, `lksctp-2.6.15`)
//! describes a whole sender and receiver; an *overlay* is one mechanism (`early-retransmit-packets`,
//! `rack`, ...). `tresse`, the default, joins what helps; there is one for each row of the papers'
//! comparisons (`pedersen-restart`, `ladha-dup-tsn`, ...). A profile name joins them with `+`, applied from left to
//! right: `lksctp-2.6.15+early-retransmit-packets`. A name that begins with an overlay stands on
//! `rfc9260`. TOML given by a user can override any parameter of the result.
//!
//! ```
//! use tresse_core::Profile;
//! let p = Profile::named("lksctp-2.6.15+early-retransmit-packets")?;
//! assert_eq!(p.fast_retransmit.threshold, 4);
//! let p = p.with_overrides("[rto]\nmin_ms = 100\n")?;
//! assert_eq!(p.rto.min().as_millis(), 100);
//! assert!(Profile::named("reno").unwrap_err().to_string().contains("unknown profile"));
//! # Ok::<(), tresse_core::ProfileError>(())
//! ```
//!
//! Names and TOML want the cargo feature `toml`, which is on unless it is left out. Without it there are
//! [`Profile::tresse`] and [`Profile::standard`], and the fields to change in them (docs/adr/0012).

mod multipath;
#[cfg(feature = "toml")]
mod named;
mod parameters;
mod recovery;
mod streams;
#[cfg(feature = "toml")]
mod suggestion;
#[cfg(all(test, feature = "toml"))]
mod tests;
mod tresse;

use std::sync::{Arc, OnceLock};

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

pub use multipath::*;
#[cfg(feature = "toml")]
pub use named::ProfileError;
pub use parameters::*;
pub use recovery::*;
pub use streams::*;

/// A value of a profile that is not within the least and the greatest one.
#[cfg(feature = "toml")]
struct OutOfRange {
    field: &'static str,
    value: f64,
    range: (f64, f64),
}

/// The profile of these tables, with the defaults of each.
macro_rules! profile {
    ($($(#[$doc:meta])* $table:ident: $ty:ty,)*) => {
        /// Everything that decides how an association recovers from loss and controls congestion.
        ///
        /// Every field has a default: RFC 9260, with the values of its §16; what it does not have is off. Field names are
        /// the TOML keys.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(default, deny_unknown_fields))]
        pub struct Profile {
            /// The name it was asked for by.
            pub name: String,
            /// One line on what it is.
            pub description: String,
            $($(#[$doc])* pub $table: $ty,)*
        }

        //= RFC 9260 16-1
        impl Default for Profile {
            fn default() -> Self {
                Profile {
                    name: "rfc9260".into(),
                    description: "RFC 9260 by the book".into(),
                    $($table: <$ty>::default(),)*
                }
            }
        }

        #[cfg(feature = "toml")]
        impl Profile {
            /// The first value that is out of its range, with the name of its table.
            fn out_of_range(&self) -> Option<(&'static str, OutOfRange)> {
                $(if let Some(found) = self.$table.out_of_range() {
                    return Some((stringify!($table), found));
                })*
                None
            }
        }
    };
}

profile! {
    /// Retransmission timeout (RFC 9260 §6.3).
    rto: RtoParameters,
    /// What the receiver side sends (RFC 9260 §6.2).
    sack: SackParameters,
    /// Error limits and timers of the association (RFC 9260 §8, §16).
    limits: LimitParameters,
    /// Heartbeats (RFC 9260 §8.3).
    heartbeat: HeartbeatParameters,
    /// Congestion window rules (RFC 9260 §7.2).
    congestion: CongestionParameters,
    /// Fast Retransmit and Fast Recovery (RFC 9260 §7.2.4).
    fast_retransmit: FastRetransmitParameters,
    /// Early Retransmit counted in bytes (RFC 5827 §3.1).
    early_retransmit_bytes: EarlyRetransmitBytesParameters,
    /// Early Retransmit counted in packets (Hurtig & Brunstrom §2.3).
    early_retransmit_packets: EarlyRetransmitPacketsParameters,
    /// Limited Transmit (RFC 3042).
    limited_transmit: LimitedTransmitParameters,
    /// Early Retransmit turned off after it was wrong (Hurtig & Brunstrom §2.2).
    early_retransmit_switch_off: EarlyRetransmitSwitchOffParameters,
    /// RACK loss detection (RFC 8985 §6).
    rack: RackParameters,
    /// Tail loss probes (RFC 8985 §7).
    tail_loss_probe: TailLossProbeParameters,
    /// Proportional Rate Reduction (RFC 6937).
    prr: PrrParameters,
    /// What makes a stream thin (Pedersen 2006 §4.1).
    thin_stream: ThinStreamParameters,
    /// Fast retransmit after one SACK while thin (Pedersen 2006 §4.2.1).
    thin_fast_retransmit: ThinFastRetransmitParameters,
    /// Outstanding chunks in fast retransmissions while thin (Pedersen 2006 §4.2.2).
    bundle_fast_retransmit: BundleFastRetransmitParameters,
    /// Outstanding chunks in packets of new data while thin (Pedersen 2006 §4.4).
    bundle_new: BundleNewParameters,
    /// A lower RTO.Min while thin (Pedersen 2006 §4.3.1).
    thin_rto_min: ThinRtoMinParameters,
    /// No exponential backoff while thin (Pedersen 2006 §4.3.4).
    thin_no_backoff: ThinNoBackoffParameters,
    /// RTO restart (Pedersen 2006 §4.3.3; RFC 7765).
    rto_restart: RtoRestartParameters,
    /// One budget for what may be sent in vain.
    budget: BudgetParameters,
    /// Dynamic RTO.Min (Gonzalez, Peng & McClellan 2015 §6).
    dynamic_rto_min: DynamicRtoMinParameters,
    /// Eifel detection by TIMESTAMP chunks (Ladha et al. §4; RFC 3522).
    eifel_timestamp: EifelTimestampParameters,
    /// Eifel detection by retransmit bits (Ladha et al. §4).
    eifel_retransmit_bit: EifelRetransmitBitParameters,
    /// Detection by duplicate TSN reports (RFC 3708).
    dup_tsn: DupTsnParameters,
    /// Forward RTO-Recovery (RFC 5682).
    f_rto: FRtoParameters,
    /// What is done about a spurious retransmission (RFC 4015).
    spurious_response: SpuriousResponseParameters,
    /// The T3-rtx timer (RFC 9260 §6.3.2).
    t3_rtx: T3RtxParameters,
    /// Concurrent multipath transfer (draft-tuexen-tsvwg-sctp-multipath).
    multipath: MultipathParameters,
    /// How streams share the association (RFC 8260 §3).
    streams: StreamParameters,
}

impl Profile {
    /// The profile `rfc9260`: [`Profile::default`].
    pub fn standard() -> Arc<Profile> {
        static STANDARD: OnceLock<Arc<Profile>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| Arc::new(Profile::default())))
    }
}
