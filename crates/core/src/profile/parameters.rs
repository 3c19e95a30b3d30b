//! The parameters of each mechanism, with units, defaults and sources.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
        /// Max.Burst: new data sent at one opportunity, in full packets (so many times PMDCS bytes,
        /// RFC 9260 §6.1 D); 0 is no limit. Default 4.
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
