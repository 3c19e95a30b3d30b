//! Profiles: protocol behaviour as data.
//!
//! A profile is a TOML file in `profiles/`. A *base* (`rfc9260`, `rfc2960`, `lksctp-2.6.15`)
//! describes a whole sender and receiver; an *overlay* (`early-retransmit-packets`,
//! `limited-transmit`, ...) changes some of it. A profile name joins them with `+`, applied from left to
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

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The profiles that are built in: name and TOML text.
const BUILT_IN: &[(&str, &str)] = &[
    ("rfc9260", include_str!("../profiles/rfc9260.toml")),
    ("rfc2960", include_str!("../profiles/rfc2960.toml")),
    ("lksctp-2.6.15", include_str!("../profiles/lksctp-2.6.15.toml")),
    ("early-retransmit-bytes", include_str!("../profiles/early-retransmit-bytes.toml")),
    ("early-retransmit-packets", include_str!("../profiles/early-retransmit-packets.toml")),
    ("limited-transmit", include_str!("../profiles/limited-transmit.toml")),
];

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
    /// The T3-rtx timer (RFC 9260 §6.3.2).
    pub t3_rtx: T3RtxParameters,
}

macro_rules! parameters {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }
        impl Default for $name {
            fn default() -> Self { $name { $($field: $default,)* } }
        }
    };
}

parameters! {
    /// Retransmission timeout (RFC 9260 §6.3.1, §16).
    RtoParameters {
        /// RTO.Initial in milliseconds: before the first measurement. Default 1000.
        initial_ms: f64 = 1000.0,
        /// RTO.Min in milliseconds. Default 1000. Lower recovers sooner, and risks spurious
        /// timeouts when the peer delays SACKs.
        min_ms: f64 = 1000.0,
        /// RTO.Max in milliseconds. Default 60 000.
        max_ms: f64 = 60_000.0,
        /// RTO.Alpha: weight of a sample in SRTT. Default 1/8.
        alpha: f64 = 0.125,
        /// RTO.Beta: weight of a deviation in RTTVAR. Default 1/4.
        beta: f64 = 0.25,
        /// Clock granularity G in milliseconds, the floor of RTTVAR (rule G1). Default 1.
        granularity_ms: f64 = 1.0,
    }
}

parameters! {
    /// What the receiver sends (RFC 9260 §6.2).
    SackParameters {
        /// SACK.Delay in milliseconds, 0 to 500. Default 200.
        delay_ms: f64 = 200.0,
        /// A SACK at the latest for every n-th packet with data. Default 2.
        packets: u32 = 2,
    }
}

parameters! {
    /// Limits and timers of the association (RFC 9260 §16).
    LimitParameters {
        /// Max.Burst: new packets sent at one opportunity; 0 is no limit. Default 4.
        max_burst: u32 = 4,
        /// Association.Max.Retrans. Default 10.
        association_max_retrans: u32 = 10,
        /// Path.Max.Retrans. Default 5.
        path_max_retrans: u32 = 5,
        /// Max.Init.Retransmits. Default 8.
        max_init_retransmits: u32 = 8,
        /// Valid.Cookie.Life in milliseconds. Default 60 000.
        cookie_life_ms: f64 = 60_000.0,
        /// T5-shutdown-guard in units of RTO.Max. Default 5 (RFC 9260 §9.2).
        shutdown_guard_rto_max: f64 = 5.0,
    }
}

parameters! {
    /// Heartbeats (RFC 9260 §8.3).
    HeartbeatParameters {
        /// Whether idle paths are probed. Default true. Unconfirmed addresses always are.
        enabled: bool = true,
        /// HB.interval in milliseconds. Default 30 000.
        interval_ms: f64 = 30_000.0,
        /// HB.Max.Burst: heartbeats sent at one opportunity. Default 1.
        max_burst: u32 = 1,
    }
}

/// Which congestion control a path runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionAlgorithm {
    /// RFC 9260 §7.2, and with other parameters RFC 2960.
    Rfc9260,
}

/// How large the first congestion window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWindow {
    /// min(4 PMDCS, max(2 PMDCS, 4404)) bytes (RFC 9260 §7.2.1).
    Rfc9260,
    /// 2 MTU (RFC 2960 §7.2.1).
    Rfc2960,
}

parameters! {
    /// Congestion window rules (RFC 9260 §7.2).
    CongestionParameters {
        /// The algorithm. Default `rfc9260`.
        algorithm: CongestionAlgorithm = CongestionAlgorithm::Rfc9260,
        /// The first window. Default `rfc9260`.
        initial_window: InitialWindow = InitialWindow::Rfc9260,
        /// Floor of ssthresh after a loss, in units of PMDCS. Default 4 (RFC 9260 §7.2.3);
        /// RFC 2960 says 2.
        ssthresh_floor: f64 = 4.0,
        /// L of RFC 9260 §7.2.1: slow start grows by at most L PMDCS a SACK. Default 1.
        slow_start_limit: f64 = 1.0,
        /// Slow start grows only when a SACK advances the Cumulative TSN Ack Point, as RFC 2960
        /// §7.2.1 asks. Default false.
        growth_needs_cumulative_advance: bool = false,
        /// Decay of cwnd on an idle path, once per RTO (RFC 9260 §7.2.1). Default true.
        idle_decay: bool = true,
    }
}

parameters! {
    /// Fast Retransmit (RFC 9260 §7.2.4).
    FastRetransmitParameters {
        /// Miss indications that declare a chunk lost; 0 turns fast retransmit off. Default 3.
        threshold: u32 = 3,
        /// Miss indications follow Highest TSN Newly Acknowledged; otherwise every SACK strikes
        /// every TSN that it reports missing (RFC 2960). Default true.
        htna: bool = true,
        /// Fast Recovery: no second cut of cwnd until the exit point. Default true.
        fast_recovery: bool = true,
        /// A TSN can be fast-retransmitted again after `threshold` further miss indications.
        /// Default false (rule 5: ineligible).
        repeat: bool = false,
        /// T3-rtx restarts when the earliest outstanding TSN is fast-retransmitted (rule 4).
        /// Default true.
        restart_t3: bool = true,
    }
}

parameters! {
    /// Early Retransmit counted in bytes (RFC 5827 §3.1).
    EarlyRetransmitBytesParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
    }
}

/// What "outstanding packets" counts in packet-based Early Retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutstandingCount {
    /// Packets neither cumulatively nor gap acknowledged, as an SCTP sender counts its flight.
    InFlight,
    /// Packets not cumulatively acknowledged; gap-acknowledged ones count (RFC 5827 §3.2).
    NotCumulativelyAcked,
}

parameters! {
    /// Early Retransmit counted in packets (Hurtig & Brunstrom §2.3; RFC 5827 §3.2).
    EarlyRetransmitPacketsParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// What counts as outstanding. Default `in-flight`: with it the mechanism "lowers its
        /// threshold when the amount of outstanding data gets below four packets" as SACKs
        /// arrive, which Figures 2 and 4 of the paper show.
        count: OutstandingCount = OutstandingCount::InFlight,
    }
}

parameters! {
    /// Limited Transmit (RFC 3042).
    LimitedTransmitParameters {
        /// Whether it runs. Default false.
        enabled: bool = false,
        /// New packets it may send in one loss episode. Default 2.
        packets: u32 = 2,
    }
}

parameters! {
    /// The T3-rtx timer (RFC 9260 §6.3.2, §6.3.3).
    T3RtxParameters {
        /// RTO is multiplied by this at each expiration (rule E2). Default 2.
        backoff: f64 = 2.0,
    }
}

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
            t3_rtx: T3RtxParameters::default(),
        }
    }
}

/// Why a profile cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No profile of that name is built in.
    #[error("unknown profile \"{name}\"; known: {}; join them with +", known.join(", "))]
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

fn millis(ms: f64) -> Duration {
    // `validate` has bounded every duration, so this cannot overflow.
    Duration::from_nanos((ms.max(0.0) * 1e6).round() as u64)
}

impl RtoParameters {
    /// RTO.Initial.
    pub fn initial(&self) -> Duration {
        millis(self.initial_ms)
    }
    /// RTO.Min.
    pub fn min(&self) -> Duration {
        millis(self.min_ms)
    }
    /// RTO.Max.
    pub fn max(&self) -> Duration {
        millis(self.max_ms)
    }
    /// Clock granularity.
    pub fn granularity(&self) -> Duration {
        millis(self.granularity_ms)
    }
}

impl SackParameters {
    /// SACK.Delay.
    pub fn delay(&self) -> Duration {
        millis(self.delay_ms)
    }
}

impl HeartbeatParameters {
    /// HB.interval.
    pub fn interval(&self) -> Duration {
        millis(self.interval_ms)
    }
}

impl LimitParameters {
    /// Valid.Cookie.Life.
    pub fn cookie_life(&self) -> Duration {
        millis(self.cookie_life_ms)
    }
}

impl Profile {
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
        // RFC 9260 §6.2: SACK.Delay MUST NOT be configured to be more than 500 ms.
        range("sack.delay_ms", self.sack.delay_ms, 0.0, 500.0, "0 to 500")?;
        range("sack.packets", f64::from(self.sack.packets), 1.0, 1000.0, "1 to 1000")?;
        range("heartbeat.interval_ms", self.heartbeat.interval_ms, 0.0, HOUR_MS, hour)?;
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
        range("t3_rtx.backoff", self.t3_rtx.backoff, 1.0, 10.0, "1 to 10")
    }
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
        merge_built_in(table, &base)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_loads_and_round_trips() {
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.name, name);
            assert!(!profile.description.is_empty(), "{name} has no description");
            assert_eq!(profile.with_overrides(&profile.to_toml()).unwrap(), profile);
        }
    }

    #[test]
    fn rfc9260_is_the_default_and_follows_section_16() {
        let standard = Profile::named("rfc9260").unwrap();
        let defaults = Profile { description: standard.description.clone(), ..Profile::default() };
        assert_eq!(standard, defaults);
    }

    #[test]
    fn overlays_stand_on_what_is_left_of_them() {
        let alone = Profile::named("early-retransmit-packets").unwrap();
        assert_eq!(alone.fast_retransmit.threshold, 3);
        let on_kernel = Profile::named("lksctp-2.6.15+early-retransmit-packets").unwrap();
        assert_eq!(on_kernel.fast_retransmit.threshold, 4);
        assert!(on_kernel.fast_retransmit.repeat);
        assert!(
            on_kernel.early_retransmit_packets.enabled && alone.early_retransmit_packets.enabled
        );
    }

    #[test]
    fn mistakes_are_named() {
        let unknown = Profile::named("rfc9260+warp").unwrap_err().to_string();
        assert!(unknown.contains("warp") && unknown.contains("lksctp-2.6.15"), "{unknown}");
        let standard = Profile::standard();
        for (text, word) in [
            ("[rto]\nmin = 3", "min"),
            ("[rto]\nmin_ms = 'x'", "min_ms"),
            ("rto = [", "array"),
            ("[sack]\ndelay_ms = 501", "sack.delay_ms"),
            ("[rto]\nmin_ms = nan", "rto.min_ms"),
            ("[rto]\nmin_ms = 70000", "rto.max_ms"),
        ] {
            let error = standard.with_overrides(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
