//! The parameters of each mechanism, with units, defaults and sources.

use std::time::Duration;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// A group of parameters: a struct with its defaults, strict about keys. In brackets are the least and the greatest value that a
/// profile by name or as TOML may give to a number; of durations the greatest is an hour.
macro_rules! parameters {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$fdoc:meta])* $field:ident : $ty:ty $([$least:literal, $most:literal])? = $default:expr,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(default, deny_unknown_fields))]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }
        impl Default for $name {
            fn default() -> Self { $name { $($field: $default,)* } }
        }
        #[cfg(feature = "toml")]
        impl $name {
            /// The first value that is out of its range.
            pub(super) fn out_of_range(&self) -> Option<$crate::profile::OutOfRange> {
                $($(
                    let value = f64::from(self.$field);
                    if !($least..=$most).contains(&value) {
                        let range = (f64::from($least), f64::from($most));
                        return Some($crate::profile::OutOfRange { field: stringify!($field), value, range });
                    }
                )?)*
                None
            }
        }
    };
}
pub(super) use parameters;

/// Mechanisms to choose from, of which one runs.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
        pub enum $name { $($(#[$vdoc])* $variant,)* }
        impl $name {
            /// All that there are.
            pub const ALL: &[$name] = &[$($name::$variant,)*];
        }
    };
}
pub(super) use choices;

parameters! {
    /// Retransmission timeout (RFC 9260 §6.3.1, §16).
    RtoParameters {
        /// RTO.Initial in milliseconds: before the first measurement. Default 1000.
        initial_ms: f64 [1.0, 3.6e6] = 1000.0,
        //= RFC 9260 16-1 16-2
        /// RTO.Min in milliseconds. Default 1000. Lower recovers sooner, and risks spurious
        /// timeouts when the peer delays SACKs.
        min_ms: f64 [0.0, 3.6e6] = 1000.0,
        /// RTO.Max in milliseconds. Default 60 000.
        max_ms: f64 [1.0, 3.6e6] = 60_000.0,
        /// RTO.Alpha: weight of a sample in SRTT. Default 1/8.
        alpha: f64 [0.0, 1.0] = 0.125,
        /// RTO.Beta: weight of a deviation in RTTVAR. Default 1/4.
        beta: f64 [0.0, 1.0] = 0.25,
        /// Clock granularity G in milliseconds, the floor of RTTVAR (rule G1). Default 1.
        granularity_ms: f64 [0.001, 1000.0] = 1.0,
        /// Clock tick in milliseconds of a kernel that knows time in whole ticks only: samples, SRTT, RTTVAR
        /// and RTO are such numbers, each share of them is rounded down, and T3-rtx expires at a tick.
        /// Default 0: time is exact.
        tick_ms: f64 [0.0, 1000.0] = 0.0,
    }
}

/// When a receiver acknowledges every packet at once (Pedersen 2006 §4.3.2, §5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum NoSackDelay {
    /// As RFC 9260 §6.2 delays them.
    Never,
    /// Always: the paper's option. Doubles the SACKs of a bulk transfer.
    Always,
    /// While packets come alone: the one before came longer ago than the delay would be.
    Sparse,
}

/// What a receiver promises never to discard (draft-natarajan-tsvwg-sctp-nrsack).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum NrSackMode {
    /// Nothing: SACKs are sent as RFC 9260 §3.3.4 has them.
    Off,
    /// What was handed to the application although earlier TSNs are missing: unordered messages,
    /// and those of streams that lack nothing.
    Delivered,
    /// Everything that arrived. The receiver then keeps what it holds for reordering even when it
    /// runs out of room, where RFC 9260 §6.2 would have it drop the largest TSN. If the association
    /// fails, what it held back for order is lost without a report to the sender.
    All,
}

parameters! {
    /// What the receiver sends, and what is expected of that of the peer (RFC 9260 §6.2).
    SackParameters {
        //= RFC 9260 6.2-13 6.2-14
        /// SACK.Delay in milliseconds, 0 to 500 (RFC 9260 §6.2). Default 200.
        delay_ms: f64 [0.0, 500.0] = 200.0,
        /// Milliseconds that the peer may delay a SACK, as its sender takes for granted: what waits for a SACK
        /// early (tail loss probes, silent paths, bounded guesses) waits so much longer when a single packet is in flight.
        /// Default 200 (RFC 9260 §6.2); 0 to 500.
        peer_delay_ms: f64 [0.0, 500.0] = 200.0,
        /// A SACK at the latest for every n-th packet with data. Default 2.
        packets: u32 [1.0, 1000.0] = 2,
        /// What fills the last gap is acknowledged at once (RFC 5681 §4.2). Default true. Linux 2.6.15 does
        /// so only while TSNs are missing afterwards: then T3-rtx can expire before the SACK comes.
        when_filled: bool = true,
        /// A packet whose last DATA chunk is a duplicate is acknowledged at once, also if there is new DATA
        /// before it (RFC 9260 §6.2: "MAY"). Default false. Linux does so (`sctp_sf_eat_data_6_2`).
        if_last_is_duplicate: bool = false,
        /// When SACKs are not delayed at all. Default `never`.
        no_sack_delay: NoSackDelay = NoSackDelay::Never,
        /// The sender asks for a SACK at once when a packet takes the last of what waits (I bit,
        /// RFC 7053 §4). Default false.
        ask_when_idle: bool = false,
        /// NR-SACKs instead of SACKs, if the peer knows them too. The sender frees its buffer of what the receiver promises to
        /// keep. `AssociationInfo::nr_sack` tells whether both have agreed on it. Default `off`.
        nr_sack: NrSackMode = NrSackMode::Off,
    }
}

parameters! {
    /// Limits and timers of the association (RFC 9260 §16).
    LimitParameters {
        /// Max.Burst: new data sent at one opportunity, in full packets (this many times PMDCS bytes,
        /// RFC 9260 §6.1 D); 0 is no limit. Default 4.
        max_burst: u32 = 4,
        /// Association.Max.Retrans. Default 10. Of an association that has counted more errors than a new value
        /// allows, the next one is the last.
        association_max_retrans: u32 = 10,
        /// Path.Max.Retrans. Default 5.
        path_max_retrans: u32 = 5,
        //= RFC 7829 3.2-1 6-1
        /// PotentiallyFailed.Max.Retrans (RFC 7829): consecutive errors after which data takes
        /// another path and this one is asked by HEARTBEATs. Default 5, as Path.Max.Retrans, which turns it off;
        /// RFC 7829 recommends 0.
        pf_max_retrans: u32 = 5,
        /// On a path with a spurious timeout one more error is needed for that, and for the switchover below, until the peer
        /// restarts: the next timeout alone says little, and the other path may be the worse one. Default false (RFC 7829 §3.2).
        pf_forgives_spurious: bool = false,
        //= RFC 7829 5-8 5-9
        /// Primary.Switchover.Max.Retrans (RFC 7829 §5): consecutive errors, counted as those above whatever `patience` says, of the primary path after which the path that carries
        /// data instead becomes the primary one, so that data does not go back. At least `pf_max_retrans`, and `path_max_retrans` if
        /// that turns the former off. Default 65 535, which, as all above, is never: data goes back as soon as the primary path answers.
        ps_max_retrans: u32 = 65_535,
        /// Errors count at the pace of RFC 9260's own timers, whatever mechanisms let timers expire
        /// sooner. Then an association and a path live through the same outage as without these
        /// mechanisms, and a dead peer is noticed as late. Default false: every expiration counts.
        patience: bool = false,
        /// SACKs in a row that acknowledge again what one before had taken back, though it was not sent
        /// in between, and that acknowledge nothing new: after more of them than this, and than chunks
        /// are outstanding, the peer is aborted with Protocol Violation. Late SACKs look like that, at
        /// most as many as are on the way; a receiver that drops chunks for want of memory (RFC 9260
        /// §6.2) does not, however often, as what it dropped is sent again first. Default 1000; 0
        /// never aborts. One such SACK costs little either way.
        contradictory_sacks: u32 = 1000,
        /// Max.Init.Retransmits. Default 8.
        max_init_retransmits: u32 = 8,
        /// The longest that T1-init and T1-cookie wait, in milliseconds, should RTO.Max be more
        /// (`sinit_max_init_timeo`, RFC 6458 §8.1.3); 0 is no limit. Default 0. Less gives a quicker
        /// answer where nobody is, and gives up a slow network sooner.
        max_init_rto_ms: f64 [0.0, 3.6e6] = 0.0,
        /// Valid.Cookie.Life in milliseconds. Default 60 000.
        cookie_life_ms: f64 [1.0, 3.6e6] = 60_000.0,
        /// T5-shutdown-guard in units of RTO.Max. Default 5 (RFC 9260 §9.2). It begins again with each message
        /// that the peer still delivers after our SHUTDOWN.
        shutdown_guard_rto_max: f64 [0.1, 100.0] = 5.0,
        /// Associations that peers at one source may have open, an IPv4 address or a network of IPv6 with 64
        /// bits. They count once a valid cookie has shown that the peer is there; more are refused with Out
        /// of Resource. Default 4096: some thousand hosts behind one NAT; 0 is no limit. This and the next
        /// two count on the endpoint; they are taken from the profile with which its port listens.
        associations_per_source: u32 = 4096,
        /// INITs from one source that are answered in a second; those beyond are passed over, and come
        /// again. After a second without any, this many may come at once. Default 1000; 0 is no limit. Forged
        /// sources share 4096 counters: only beyond four million INITs in a second they get into the way of
        /// others.
        inits_per_source: u32 = 1000,
        /// Restarts (RFC 9260 §5.2.4 A) from one source in a second, counted alike; a COOKIE ECHO beyond is
        /// passed over, and comes again. Default 100; 0 is no limit.
        restarts_per_source: u32 = 100,
    }
}

parameters! {
    /// Heartbeats (RFC 9260 §8.3).
    HeartbeatParameters {
        /// Whether idle paths are asked by HEARTBEATs. Default true. Unconfirmed addresses always are.
        enabled: bool = true,
        /// HB.interval in milliseconds. Default 30 000.
        interval_ms: f64 [0.0, 3.6e6] = 30_000.0,
        /// A path that does not answer is tried from our other addresses: heartbeats look for one that reaches
        /// it (RFC 9260 §6.4). Default true. Without it the path keeps its source, as in ns-2.
        other_sources: bool = true,
        /// HB.Max.Burst: heartbeats sent at one opportunity. Default 1.
        max_burst: u32 = 1,
    }
}

choices! {
    /// Which congestion control a path runs.
    CongestionAlgorithm {
        /// RFC 9260 §7.2, and with other parameters RFC 2960. With concurrent transfer, every path is
        /// controlled for itself: "CMT", as aggressive on a shared bottleneck as one flow per path.
        Rfc9260,
        /// CUBIC (RFC 9438): the window follows a cubic function of the time since the last loss, and falls to 0.7 of
        /// itself instead of a half. Fills long fat paths in seconds, not minutes; takes what NewReno takes where that is
        /// more.
        Cubic,
        /// BBR version 3 (draft-ietf-ccwg-bbr): the window and the rate follow what the path delivers and its shortest round
        /// trip, not single losses. Full use at 1 % of random loss and with short queues; packets are paced, also on a
        /// single path. Beside flows that fill a queue it takes more than they do if the queue is short, less if it is long.
        Bbr,
        /// Coupled: resource pooling by slow start thresholds (draft-tuexen-tsvwg-sctp-multipath).
        CmtRpv1,
        /// Coupled: resource pooling by bandwidths (draft-tuexen-tsvwg-sctp-multipath).
        CmtRpv2,
        /// Coupled: Linked Increases (RFC 6356).
        Lia,
        /// Coupled: Opportunistic Linked Increases (draft-khalili-mptcp-congestion-control).
        Olia,
        /// Coupled: Balanced Linked Adaptation (draft-walid-mptcp-congestion-control).
        Balia,
    }
}

/// How large the first congestion window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
pub enum InitialWindow {
    /// min(4 PMDCS, max(2 PMDCS, 4404)) bytes (RFC 9260 §7.2.1).
    Rfc9260,
    /// 2 MTU (RFC 2960 §7.2.1).
    Rfc2960,
}

parameters! {
    /// Congestion window rules (RFC 9260 §7.2).
    CongestionParameters {
        /// The algorithm. Default `rfc9260`. The coupled ones differ from it only while several
        /// paths carry data: less on a bottleneck that the paths share, in return for slower growth.
        algorithm: CongestionAlgorithm = CongestionAlgorithm::Rfc9260,
        /// The first window. Default `rfc9260`.
        initial_window: InitialWindow = InitialWindow::Rfc9260,
        /// Floor of ssthresh after a loss, in units of PMDCS. Default 4 (RFC 9260 §7.2.3);
        /// RFC 2960 says 2.
        ssthresh_floor: f64 [1.0, 100.0] = 4.0,
        /// `ssthresh_floor` of a path whose queue does not hold that: a recovery has lost its own retransmissions there, or
        /// one has followed the other (`congestion/second_loss.rs`). One path at a time. 1 to 100; default 4: no other. RFC
        /// 5681 §3.1 says 2.
        overloaded_floor: f64 [1.0, 100.0] = 4.0,
        /// L of RFC 9260 §7.2.1: slow start grows by at most L PMDCS a SACK; where packets are paced, by all that was
        /// acknowledged up to ssthresh (RFC 9406 §4.3). Default 1.
        slow_start_limit: f64 [0.1, 100.0] = 1.0,
        /// The first slow start ends when the round trip grows (HyStart++, RFC 9406), before the queue overflows; its L is 8, or
        /// none where packets are paced, whatever `slow_start_limit` says. Fewer losses at the start, and now and then
        /// an early end where the round trip varies without a queue. Default false.
        hystart_plus_plus: bool = false,
        /// A loss cuts the window only if the packets behind it have waited in a queue, or if many are lost; one that does leaves what
        /// the path holds without a queue, a half to 0.8 (TCP Veno, H-TCP: `congestion/loss_differentiation.rs`). More goodput
        /// where packets are lost at random; beside others in a queue of a few packets, whose delay hardly shows, more than a fair
        /// share (docs/adr/0024). Not for BBR, which looks at no single loss. Default false.
        loss_differentiation: bool = false,
        /// The window grows, and counts bytes towards growth, only when a SACK advances the Cumulative TSN Ack Point,
        /// as RFC 2960 §7.2.1 and §7.2.2 ask. Default false.
        growth_needs_cumulative_advance: bool = false,
        /// ssthresh is halved again at the second and further timeouts in a row (RFC 9260 §7.2.3).
        /// Otherwise it is held (RFC 5681 §3.1), so that a long outage does not forget the capacity
        /// of the path. Default true.
        halve_at_every_timeout: bool = true,
        /// After a timeout a single packet may be in flight until something is acknowledged (RFC 9260
        /// §7.2.3). Otherwise as many as cwnd holds, which is several small ones. Default true.
        one_packet_after_timeout: bool = true,
        /// After a timeout new chunks may follow that one packet as long as all that is in flight would fit a
        /// single one: a packet's bytes, as TCP counts (RFC 5681 §3.1), in several small packets. Default
        /// false.
        fill_packet_after_timeout: bool = false,
        /// Of what a timeout or a fast retransmit finds lost one packet leaves at once, and the rest waits
        /// for the next SACK, also where it takes another path whose cwnd has room: `RTX_LIMIT_ONE_PACKET`
        /// of ns-2. Otherwise it leaves as soon as cwnd allows (RFC 9260 §6.3.3 E3, §7.2.4). Default false.
        one_packet_until_sack: bool = false,
        /// A DATA chunk in flight counts with its header and padding (RFC 9260 §7.2). Otherwise its user data
        /// alone, as Linux counts (`sctp_data_size`): the same window holds more small chunks. Default true.
        counts_headers: bool = true,
        /// Decay of cwnd on an idle path, once per RTO (RFC 9260 §7.2.1). Default true.
        idle_decay: bool = true,
    }
}

pub(super) fn millis(ms: f64) -> Duration {
    // `validate` has bounded every duration, so this cannot overflow. Without `f64::round`, which is a call on
    // processors that are not known to have SSE 4.1, and this is asked for with every packet.
    Duration::from_nanos((ms.max(0.0) * 1e6 + 0.5) as u64)
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
    /// The length of a clock tick (`tick_ms`), as in kernels that measure time in jiffies (`sctp_transport_update_rto` of
    /// Linux 2.6). Default `None`: time is exact.
    pub fn tick(&self) -> Option<Duration> {
        (self.tick_ms > 0.0).then(|| millis(self.tick_ms))
    }
}

impl SackParameters {
    /// SACK.Delay.
    pub fn delay(&self) -> Duration {
        millis(self.delay_ms)
    }

    /// How long the peer may delay a SACK.
    pub fn peer_delay(&self) -> Duration {
        millis(self.peer_delay_ms)
    }
}

impl HeartbeatParameters {
    /// HB.interval.
    pub fn interval(&self) -> Duration {
        millis(self.interval_ms)
    }
}

impl LimitParameters {
    /// The longest wait of T1-init and T1-cookie, if there is such a limit.
    pub fn max_init_rto(&self) -> Option<Duration> {
        (self.max_init_rto_ms > 0.0).then(|| millis(self.max_init_rto_ms))
    }
    /// Valid.Cookie.Life.
    pub fn cookie_life(&self) -> Duration {
        millis(self.cookie_life_ms)
    }
}

/// This many errors of the primary path, and more, never make another one the primary (RFC 7829 §7.2).
pub(crate) const NO_SWITCHOVER: u32 = 65_535;

//= RFC 7829 5-1 5-2 5-3
/// The least Primary.Switchover.Max.Retrans: data leaves the primary path before another one is it, or when.
pub(crate) fn least_switchover(max_retrans: u32, pf_max_retrans: u32) -> u32 {
    max_retrans.min(pf_max_retrans).min(NO_SWITCHOVER)
}
