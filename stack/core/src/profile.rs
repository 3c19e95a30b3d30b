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
//! assert!(Profile::named("reno").unwrap_err().to_string().contains("rfc9260"));
//! # Ok::<(), tresse_core::ProfileError>(())
//! ```

/// Pairs each name with its file.
macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*]
    };
}

mod multipath;
mod parameters;
mod recovery;
mod suggestion;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use multipath::*;
pub use parameters::*;
pub use recovery::*;

/// The profiles that are built in: name and TOML text.
const BUILT_IN: &[(&str, &str)] = &built_in![
    // Whole senders and receivers.
    "rfc9260",
    "rfc2960",
    "lksctp-2.6.15",
    "lksctp-2.6.32",
    "ns2",
    "ns2-3.4",
    "freebsd-cmt",
    "tresse",
    // The rows of the papers' comparisons.
    "pedersen-original",
    "pedersen-rto-fr",
    "pedersen-restart",
    "pedersen-nodelay",
    "pedersen-fr-bundling",
    "hurtig-standard",
    "hurtig-early-retransmit",
    "gonzalez-static",
    "gonzalez-dynamic",
    "gonzalez-dynamic-float",
    "ladha-plain",
    "ladha-eifel-ts",
    "ladha-eifel-rbit",
    "ladha-dup-tsn",
    "ladha-combined",
    "ladha-f-rto",
    "sarnow-efficient",
    "sarnow-no-fr",
    "sarnow-rescheduling",
    // For concurrent transfer, to be joined to any of them; of schedulers and congestion controls
    // the last one counts.
    "schedule-round-robin",
    "schedule-min-rtt",
    "schedule-ecf",
    "schedule-blest",
    "schedule-redundant",
    "fast-retransmit-again",
    "buffer-splitting",
    "chunk-rescheduling",
    "chunk-rescheduling-original",
    "silent-path",
    "queue-limit",
    "pacing",
    "cmt-rpv1",
    "cmt-rpv2",
    "lia",
    "olia",
    "balia",
    "dac",
    "nr-sack",
    "nr-sack-all",
    "sack-window",
    "sack-window-pieces",
    // Mechanisms, to be joined to any of them.
    "early-retransmit-bytes",
    "early-retransmit-packets",
    "early-retransmit-switch-off",
    "limited-transmit",
    "thin-estimate",
    "thin-fast-retransmit",
    "thin-bundle-fast-retransmit",
    "thin-bundle-new",
    "thin-rto-min",
    "thin-no-backoff",
    "rto-restart",
    "no-sack-delay",
    "immediate-sack",
    "dynamic-rto-min",
    "dynamic-rto-min-float",
    "eifel-timestamp",
    "eifel-retransmit-bit",
    "dup-tsn",
    "f-rto",
    "rack",
    "tail-loss-probe",
    "prompt-probe",
    "rack-tlp",
    "prr",
];

/// The first of the mechanisms of concurrent transfer in the list of built-in profiles.
const FIRST_MULTIPATH: &str = "schedule-round-robin";
/// The first of the mechanisms in the list of built-in profiles.
const FIRST_MECHANISM: &str = "early-retransmit-bytes";

/// Everything that decides how an association recovers from loss and controls congestion.
///
/// Every field has a default: that of RFC 9260 §16. Field names are the TOML keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The name it was asked for by.
    pub name: String,
    /// One line on what it is.
    pub description: String,
    /// Retransmission timeout (RFC 9260 §6.3).
    pub rto: RtoParameters,
    /// What the receiver side sends (RFC 9260 §6.2).
    pub sack: SackParameters,
    /// Error limits and timers of the association (RFC 9260 §8, §16).
    pub limits: LimitParameters,
    /// Heartbeats (RFC 9260 §8.3).
    pub heartbeat: HeartbeatParameters,
    /// Congestion window rules (RFC 9260 §7.2).
    pub congestion: CongestionParameters,
    /// Fast Retransmit and Fast Recovery (RFC 9260 §7.2.4).
    pub fast_retransmit: FastRetransmitParameters,
    /// Early Retransmit counted in bytes (RFC 5827 §3.1).
    pub early_retransmit_bytes: EarlyRetransmitBytesParameters,
    /// Early Retransmit counted in packets (Hurtig & Brunstrom §2.3).
    pub early_retransmit_packets: EarlyRetransmitPacketsParameters,
    /// Limited Transmit (RFC 3042).
    pub limited_transmit: LimitedTransmitParameters,
    /// Early Retransmit turned off after it was wrong (Hurtig & Brunstrom §2.2).
    pub early_retransmit_switch_off: EarlyRetransmitSwitchOffParameters,
    /// RACK loss detection (RFC 8985 §6).
    pub rack: RackParameters,
    /// Tail loss probes (RFC 8985 §7).
    pub tail_loss_probe: TailLossProbeParameters,
    /// Proportional Rate Reduction (RFC 6937).
    pub prr: PrrParameters,
    /// What makes a stream thin (Pedersen 2006 §4.1).
    pub thin_stream: ThinStreamParameters,
    /// Fast retransmit after one SACK while thin (Pedersen 2006 §4.2.1).
    pub thin_fast_retransmit: ThinFastRetransmitParameters,
    /// Outstanding chunks in fast retransmissions while thin (Pedersen 2006 §4.2.2).
    pub bundle_fast_retransmit: BundleFastRetransmitParameters,
    /// Outstanding chunks in packets of new data while thin (Pedersen 2006 §4.4).
    pub bundle_new: BundleNewParameters,
    /// A lower RTO.Min while thin (Pedersen 2006 §4.3.1).
    pub thin_rto_min: ThinRtoMinParameters,
    /// No exponential backoff while thin (Pedersen 2006 §4.3.4).
    pub thin_no_backoff: ThinNoBackoffParameters,
    /// RTO restart (Pedersen 2006 §4.3.3; RFC 7765).
    pub rto_restart: RtoRestartParameters,
    /// One budget for what may be sent in vain.
    pub budget: BudgetParameters,
    /// Dynamic RTO.Min (Gonzalez, Peng & McClellan 2015 §6).
    pub dynamic_rto_min: DynamicRtoMinParameters,
    /// Eifel detection by TIMESTAMP chunks (Ladha et al. §4; RFC 3522).
    pub eifel_timestamp: EifelTimestampParameters,
    /// Eifel detection by retransmit bits (Ladha et al. §4).
    pub eifel_retransmit_bit: EifelRetransmitBitParameters,
    /// Detection by duplicate TSN reports (RFC 3708).
    pub dup_tsn: DupTsnParameters,
    /// Forward RTO-Recovery (RFC 5682).
    pub f_rto: FRtoParameters,
    /// What is done about a spurious retransmission (RFC 4015).
    pub spurious_response: SpuriousResponseParameters,
    /// The T3-rtx timer (RFC 9260 §6.3.2).
    pub t3_rtx: T3RtxParameters,
    /// Concurrent multipath transfer (draft-tuexen-tsvwg-sctp-multipath).
    pub multipath: MultipathParameters,
}

//= RFC 9260 16-1
impl Default for Profile {
    fn default() -> Self {
        Profile {
            name: "rfc9260".into(),
            description: String::new(),
            rto: RtoParameters::default(),
            sack: SackParameters::default(),
            limits: LimitParameters::default(),
            heartbeat: HeartbeatParameters::default(),
            congestion: CongestionParameters::default(),
            fast_retransmit: FastRetransmitParameters::default(),
            early_retransmit_bytes: EarlyRetransmitBytesParameters::default(),
            early_retransmit_packets: EarlyRetransmitPacketsParameters::default(),
            limited_transmit: LimitedTransmitParameters::default(),
            early_retransmit_switch_off: EarlyRetransmitSwitchOffParameters::default(),
            rack: RackParameters::default(),
            tail_loss_probe: TailLossProbeParameters::default(),
            prr: PrrParameters::default(),
            thin_stream: ThinStreamParameters::default(),
            thin_fast_retransmit: ThinFastRetransmitParameters::default(),
            bundle_fast_retransmit: BundleFastRetransmitParameters::default(),
            bundle_new: BundleNewParameters::default(),
            thin_rto_min: ThinRtoMinParameters::default(),
            thin_no_backoff: ThinNoBackoffParameters::default(),
            rto_restart: RtoRestartParameters::default(),
            budget: BudgetParameters::default(),
            dynamic_rto_min: DynamicRtoMinParameters::default(),
            eifel_timestamp: EifelTimestampParameters::default(),
            eifel_retransmit_bit: EifelRetransmitBitParameters::default(),
            dup_tsn: DupTsnParameters::default(),
            f_rto: FRtoParameters::default(),
            spurious_response: SpuriousResponseParameters::default(),
            t3_rtx: T3RtxParameters::default(),
            multipath: MultipathParameters::default(),
        }
    }
}

/// Why a profile cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No profile of that name is built in.
    #[error("unknown profile \"{name}\"{}; known: {}; join them with +", meant(name, known), known.join(", "))]
    Unknown {
        /// The name, or the part of it, that is unknown.
        name: String,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// The TOML text does not parse, or a key or value is wrong.
    #[error("profile parameters: {0}")]
    Toml(String),
    /// A value is outside its range.
    #[error("profile parameter {key} = {value} is out of range: {range}")]
    Range {
        /// TOML key.
        key: &'static str,
        /// Value found.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
}

impl Profile {
    /// How long the peer may delay a SACK (RFC 9260 §6.2).
    pub(crate) fn max_sack_delay(&self) -> Duration {
        self.tail_loss_probe.max_sack_delay()
    }

    /// TIMESTAMP chunks are offered.
    pub(crate) const fn offers_timestamps(&self) -> bool {
        self.eifel_timestamp.enabled
    }

    /// Retransmit bits are offered.
    pub(crate) const fn offers_retransmit_bit(&self) -> bool {
        self.eifel_retransmit_bit.enabled
    }

    /// The profile `tresse`: the default of an association.
    pub fn tresse() -> Arc<Profile> {
        static TRESSE: OnceLock<Arc<Profile>> = OnceLock::new();
        Arc::clone(TRESSE.get_or_init(|| {
            Arc::new(Profile::named("tresse").expect("a test checks every built-in profile"))
        }))
    }

    /// The profile `rfc9260`.
    pub fn standard() -> Arc<Profile> {
        static STANDARD: OnceLock<Arc<Profile>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| {
            Arc::new(Profile::named("rfc9260").expect("a test checks every built-in profile"))
        }))
    }

    /// Names of all built-in profiles, bases first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Names of the built-in mechanisms: overlays that can be joined to any profile, in any number.
    pub fn mechanisms() -> impl Iterator<Item = &'static str> {
        Profile::names().skip_while(|name| *name != FIRST_MECHANISM)
    }

    /// Names of the built-in mechanisms of concurrent transfer: overlays that can be joined to any
    /// profile and act where an association asks for it.
    pub fn multipath_mechanisms() -> impl Iterator<Item = &'static str> {
        let first = Profile::names().skip_while(|name| *name != FIRST_MULTIPATH);
        first.take_while(|name| *name != FIRST_MECHANISM)
    }

    /// The profile called `name`: one built-in name or several joined by `+`.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] lists the known names.
    pub fn named(name: &str) -> Result<Profile, ProfileError> {
        let mut table = toml::Table::new();
        for part in name.split('+').map(str::trim) {
            merge_built_in(&mut table, part)?;
        }
        table.insert("name".into(), name.into());
        Profile::from_table(table)
    }

    /// This profile with the parameters in `toml` instead of its own.
    ///
    /// # Errors
    /// [`ProfileError::Toml`] for text that is not TOML, unknown keys or wrong types;
    /// [`ProfileError::Range`] for values out of range.
    pub fn with_overrides(&self, toml: &str) -> Result<Profile, ProfileError> {
        let overrides: toml::Table =
            toml.parse().map_err(|e: toml::de::Error| ProfileError::Toml(one_line(&e)))?;
        self.with_override_table(overrides)
    }

    /// As [`with_overrides`](Self::with_overrides), from TOML that is parsed already.
    ///
    /// # Errors
    /// The same.
    pub fn with_override_table(&self, overrides: toml::Table) -> Result<Profile, ProfileError> {
        let mut table =
            toml::Table::try_from(self).map_err(|e| ProfileError::Toml(e.to_string()))?;
        merge(&mut table, overrides);
        Profile::from_table(table)
    }

    /// The profile as TOML, every parameter written out.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    fn from_table(mut table: toml::Table) -> Result<Profile, ProfileError> {
        table.remove("base");
        let profile: Profile =
            table.try_into().map_err(|e: toml::de::Error| ProfileError::Toml(one_line(&e)))?;
        profile.validate()?;
        Ok(profile)
    }

    //= RFC 9260 6.2-13 6.2-14
    fn validate(&self) -> Result<(), ProfileError> {
        const HOUR_MS: f64 = 3_600_000.0;
        let range = |key, value: f64, low: f64, high: f64, range| {
            if value >= low && value <= high {
                Ok(())
            } else {
                Err(ProfileError::Range { key, value: value.to_string(), range })
            }
        };
        let hour = "0 to 3600000 (one hour)";
        range("rto.initial_ms", self.rto.initial_ms, 1.0, HOUR_MS, "1 to 3600000")?;
        range("rto.min_ms", self.rto.min_ms, 0.0, self.rto.max_ms, "0 to rto.max_ms")?;
        range("rto.max_ms", self.rto.max_ms, 1.0, HOUR_MS, "1 to 3600000")?;
        range("rto.alpha", self.rto.alpha, 0.0, 1.0, "0 to 1")?;
        range("rto.beta", self.rto.beta, 0.0, 1.0, "0 to 1")?;
        range("rto.granularity_ms", self.rto.granularity_ms, 0.001, 1000.0, "0.001 to 1000")?;
        range("rto.tick_ms", self.rto.tick_ms, 0.0, 1000.0, "0 to 1000")?;
        // RFC 9260 §6.2: SACK.Delay MUST NOT be configured to be more than 500 ms.
        range("sack.delay_ms", self.sack.delay_ms, 0.0, 500.0, "0 to 500")?;
        range("sack.packets", f64::from(self.sack.packets), 1.0, 1000.0, "1 to 1000")?;
        range("heartbeat.interval_ms", self.heartbeat.interval_ms, 0.0, HOUR_MS, hour)?;
        range("limits.max_init_rto_ms", self.limits.max_init_rto_ms, 0.0, HOUR_MS, hour)?;
        range("limits.cookie_life_ms", self.limits.cookie_life_ms, 1.0, HOUR_MS, hour)?;
        range(
            "limits.shutdown_guard_rto_max",
            self.limits.shutdown_guard_rto_max,
            0.1,
            100.0,
            "0.1 to 100",
        )?;
        range("congestion.ssthresh_floor", self.congestion.ssthresh_floor, 1.0, 100.0, "1 to 100")?;
        range(
            "congestion.slow_start_limit",
            self.congestion.slow_start_limit,
            0.1,
            100.0,
            "0.1 to 100",
        )?;
        range("t3_rtx.backoff", self.t3_rtx.backoff, 1.0, 10.0, "1 to 10")?;
        let rttvars = "0 to 100";
        let late = self.bundle_new.overdue_rttvar;
        range("bundle_new.overdue_rttvar", late, 0.0, 100.0, rttvars)?;
        let late = self.bundle_fast_retransmit.overdue_rttvar;
        range("bundle_fast_retransmit.overdue_rttvar", late, 0.0, 100.0, rttvars)?;
        range("thin_rto_min.min_ms", self.thin_rto_min.min_ms, 0.0, HOUR_MS, hour)?;
        let dynamic = &self.dynamic_rto_min;
        range("dynamic_rto_min.tick_ms", dynamic.tick_ms, 0.001, 1000.0, "0.001 to 1000")?;
        range("dynamic_rto_min.bootstrap", dynamic.bootstrap, 0.0, 1e6, "0 to 1000000")?;
        range("dynamic_rto_min.start_ms", dynamic.start_ms, 0.0, HOUR_MS, hour)?;
        range("dynamic_rto_min.floor_ms", dynamic.floor_ms, 0.0, HOUR_MS, hour)?;
        range("spurious_response.decay", self.spurious_response.decay, 0.0, 1.0, "0 to 1")?;
        let threshold = self.multipath.rescheduling_threshold;
        range("multipath.rescheduling_threshold", threshold, 0.0, 1.0, "0 to 1")?;
        range("multipath.pacing", self.multipath.pacing, 0.0, 100.0, "0 to 100")?;
        range("rack.reordering_window", self.rack.reordering_window, 0.0, 4.0, "0 to 4")?;
        let probe = &self.tail_loss_probe;
        range("tail_loss_probe.max_sack_delay_ms", probe.max_sack_delay_ms, 0.0, 500.0, "0 to 500")
    }
}

/// What may have been meant by an unknown name, as a part of a sentence.
fn meant(name: &str, known: &[&'static str]) -> String {
    let nearest = suggestion::nearest(name, known);
    nearest.map_or_else(String::new, |nearest| format!(": did you mean \"{nearest}\"?"))
}

/// The whole message, with the place it names, on one line.
fn one_line(error: &toml::de::Error) -> String {
    let text = error.to_string();
    text.lines().map(str::trim).filter(|l| !l.is_empty() && *l != "|").collect::<Vec<_>>().join(" ")
}

fn merge_built_in(table: &mut toml::Table, name: &str) -> Result<(), ProfileError> {
    let (_, text) = BUILT_IN.iter().find(|(n, _)| *n == name).ok_or_else(|| {
        ProfileError::Unknown { name: name.to_owned(), known: Profile::names().collect() }
    })?;
    let mut own: toml::Table =
        text.parse().map_err(|e: toml::de::Error| ProfileError::Toml(one_line(&e)))?;
    if let Some(toml::Value::String(base)) = own.remove("base") {
        for part in base.split('+') {
            merge_built_in(table, part)?;
        }
    }
    merge(table, own);
    Ok(())
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            // 100 and 100.0 mean the same to a person.
            (Some(old @ toml::Value::Float(_)), toml::Value::Integer(n)) => {
                *old = toml::Value::Float(n as f64);
            }
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
