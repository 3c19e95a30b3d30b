//! Settings of a link, as they stand in TOML.

use serde::{Deserialize, Serialize};

use crate::changes::LinkChange;
use crate::error::{ConfigError, MAX_MILLIS, fault};
use crate::loss::gilbert_elliott::GilbertElliottConfig;
use crate::queue::codel::CodelConfig;
use crate::queue::red::RedConfig;
use crate::spikes::SpikesConfig;
use crate::ticks::TicksConfig;

/// Everything that one direction of a link does to packets. The default is a perfect link:
/// unlimited bandwidth, no delay, no impairment.
///
/// Field names are the TOML keys; unknown keys are refused. Probabilities lie between 0 and 1
/// (`loss = 0.05` is 5 %) and apply to each packet independently. Lists name packets of this
/// direction, counted from 1 since the link was made, whatever became of them; retransmissions
/// count like any packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Bandwidth in kbit/s (1000 bit/s). Absent (default): unlimited, so that nothing ever waits
    /// in the queue. A change applies from the next packet that starts to be serialised.
    pub bandwidth_kbps: Option<f64>,
    /// Bytes that each packet costs beyond the size offered, for headers below it (18 for
    /// Ethernet). The simulator counts IP and UDP headers by itself. Default 0.
    pub overhead_bytes: u32,
    /// Propagation delay in milliseconds, one way. Default 0.
    pub delay_ms: f64,
    /// The delay of each packet is uniformly distributed between `delay_ms - jitter_ms` and
    /// `delay_ms + jitter_ms`. At most `delay_ms`. Default 0.
    pub jitter_ms: f64,
    /// Whether jitter may let a packet overtake another one. Default `false`: a packet that would
    /// overtake arrives together with the one before it.
    pub jitter_reorders: bool,
    /// Ticks of a clock at which delays end. Absent (default): delays are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticks: Option<TicksConfig>,
    /// The most packets that wait in the drop-tail queue, the one being serialised not counted.
    /// Absent (default): unlimited.
    pub queue_packets: Option<u32>,
    /// The most bytes (link overhead included) that wait in the drop-tail queue, the packet being
    /// serialised not counted. Absent (default): unlimited. Both limits hold when both are given.
    pub queue_bytes: Option<u64>,
    /// Probability that a packet is lost. Default 0.
    pub loss: f64,
    /// Where `loss` and the `drop_*` lists apply. Default `entry`.
    pub loss_stage: LossStage,
    /// Lose exactly these packets.
    pub drop_packets: Vec<u64>,
    /// Lose exactly these packets, counting only those that carry user data.
    pub drop_data: Vec<u64>,
    /// Lose exactly these packets, counting only those that carry an acknowledgment.
    pub drop_acks: Vec<u64>,
    /// Probability that a packet is duplicated. The copy follows at once and takes queue space
    /// and bandwidth of its own. Default 0.
    pub duplicate: f64,
    /// Duplicate exactly these packets.
    pub duplicate_packets: Vec<u64>,
    /// Probability that a packet is corrupted. Default 0.
    pub corrupt: f64,
    /// Corrupt exactly these packets.
    pub corrupt_packets: Vec<u64>,
    /// How many different bits of a corrupted packet flip, at least 1. Default 1.
    pub corrupt_bits: u32,
    /// Probability that a packet is reordered, in the way that `reorder_delay_ms` or
    /// `reorder_after` says; exactly one of them must then be given. Default 0.
    pub reorder: f64,
    /// Reorder exactly these packets.
    pub reorder_packets: Vec<u64>,
    /// Reorder exactly these packets, counting only those that carry user data.
    pub reorder_data: Vec<u64>,
    /// Reorder by this much delay on top of the usual one, in milliseconds.
    pub reorder_delay_ms: Option<f64>,
    /// Reorder by holding the packet back until this many later ones have passed it; it arrives
    /// right after the last of them. At least 1.
    pub reorder_after: Option<u32>,
    /// With `reorder_after`: how long a packet is held back at most, in milliseconds beyond its
    /// usual arrival. Absent (default): until enough packets pass, be it for ever.
    pub reorder_hold_ms: Option<f64>,
    /// `false` loses every packet. Going down also loses what is queued and on the way, like a
    /// cable that is cut. Default `true`.
    pub up: bool,
    /// Loss in bursts, in the place of `loss`. Absent (default): none.
    pub gilbert_elliott: Option<GilbertElliottConfig>,
    /// Random early detection before the queue. Absent (default): none. `queue_packets` and
    /// `queue_bytes` limit the queue all the same.
    pub red: Option<RedConfig>,
    /// Controlled delay: drops at the head of a queue that stands. Absent (default): none. Excludes `red`;
    /// `queue_packets` and `queue_bytes` limit the queue all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CodelConfig>,
    /// What becomes of the ECN field of every packet, as on ways that do not know it; marks of `red` and `codel` are beside
    /// that. Default `"keep"`.
    #[serde(skip_serializing_if = "EcnField::is_kept")]
    pub ecn: EcnField,
    /// Delay spikes. Absent (default): none.
    pub spikes: Option<SpikesConfig>,
    /// Changes of settings that the link makes by itself. Default: none.
    pub changes: Vec<LinkChange>,
}

/// Where on a link packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossStage {
    /// Before the queue: a lost packet takes neither queue space nor bandwidth. So do dummynet
    /// and Linux netem.
    #[default]
    Entry,
    /// After serialisation: a lost packet has taken its share of queue and bandwidth, like a
    /// transmission error.
    Wire,
}

/// What becomes of the ECN field of a packet (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnField {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is cleared: not ECT.
    Clear,
    /// CE, congestion experienced, if it is ECT.
    Mark,
}

impl EcnField {
    const fn is_kept(&self) -> bool {
        matches!(self, EcnField::Keep)
    }
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig {
            bandwidth_kbps: None,
            overhead_bytes: 0,
            delay_ms: 0.0,
            jitter_ms: 0.0,
            jitter_reorders: false,
            ticks: None,
            queue_packets: None,
            queue_bytes: None,
            loss: 0.0,
            loss_stage: LossStage::Entry,
            drop_packets: Vec::new(),
            drop_data: Vec::new(),
            drop_acks: Vec::new(),
            duplicate: 0.0,
            duplicate_packets: Vec::new(),
            corrupt: 0.0,
            corrupt_packets: Vec::new(),
            corrupt_bits: 1,
            reorder: 0.0,
            reorder_packets: Vec::new(),
            reorder_data: Vec::new(),
            reorder_delay_ms: None,
            reorder_after: None,
            reorder_hold_ms: None,
            up: true,
            gilbert_elliott: None,
            red: None,
            codel: None,
            ecn: EcnField::Keep,
            spikes: None,
            changes: Vec::new(),
        }
    }
}

impl LinkConfig {
    /// A loss-free link with this bandwidth in kbit/s, this one-way delay in milliseconds and an
    /// unlimited queue.
    pub fn new(bandwidth_kbps: f64, delay_ms: f64) -> LinkConfig {
        LinkConfig { bandwidth_kbps: Some(bandwidth_kbps), delay_ms, ..LinkConfig::default() }
    }

    /// Checks every value and that the values fit each other.
    ///
    /// # Errors
    /// The first fault found, as one line that begins with the key.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_values()?;
        self.validate_lists()?;
        self.validate_reordering()?;
        if let Some(gilbert_elliott) = &self.gilbert_elliott {
            if self.loss > 0.0 {
                return fault("gilbert_elliott", "excludes loss".to_string());
            }
            gilbert_elliott.validate()?;
        }
        self.ticks.as_ref().map_or(Ok(()), TicksConfig::validate)?;
        self.red.as_ref().map_or(Ok(()), RedConfig::validate)?;
        if self.red.is_some() && self.codel.is_some() {
            return fault("codel", "excludes red".to_string());
        }
        self.codel.as_ref().map_or(Ok(()), CodelConfig::validate)?;
        self.spikes.as_ref().map_or(Ok(()), SpikesConfig::validate)?;
        self.validate_changes()
    }

    /// Makes the change.
    pub(crate) fn apply(&mut self, change: &LinkChange) {
        self.bandwidth_kbps = change.bandwidth_kbps.or(self.bandwidth_kbps);
        self.delay_ms = change.delay_ms.unwrap_or(self.delay_ms);
        self.loss = change.loss.unwrap_or(self.loss);
        self.up = change.up.unwrap_or(self.up);
    }

    fn validate_values(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("corrupt", self.corrupt),
            ("reorder", self.reorder),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return fault(key, format!("a probability between 0 and 1 is needed, not {value}"));
            }
        }
        for (key, value) in [
            ("delay_ms", self.delay_ms),
            ("jitter_ms", self.jitter_ms),
            ("reorder_delay_ms", self.reorder_delay_ms.unwrap_or(0.0)),
            ("reorder_hold_ms", self.reorder_hold_ms.unwrap_or(0.0)),
        ] {
            if !(0.0..=MAX_MILLIS).contains(&value) {
                return fault(
                    key,
                    format!("milliseconds between 0 and {MAX_MILLIS} are needed, not {value}"),
                );
            }
        }
        if self.jitter_ms > self.delay_ms {
            return fault("jitter_ms", format!("must not exceed delay_ms = {}", self.delay_ms));
        }
        if let Some(kbps) = self.bandwidth_kbps
            && !(0.001..=1e12).contains(&kbps)
        {
            return fault(
                "bandwidth_kbps",
                format!("kbit/s between 0.001 and 1e12 are needed, not {kbps}"),
            );
        }
        if self.corrupt_bits == 0 {
            return fault("corrupt_bits", "at least 1 is needed".to_string());
        }
        Ok(())
    }

    fn validate_lists(&self) -> Result<(), ConfigError> {
        for (key, list) in [
            ("drop_packets", &self.drop_packets),
            ("drop_data", &self.drop_data),
            ("drop_acks", &self.drop_acks),
            ("duplicate_packets", &self.duplicate_packets),
            ("corrupt_packets", &self.corrupt_packets),
            ("reorder_packets", &self.reorder_packets),
            ("reorder_data", &self.reorder_data),
        ] {
            if list.contains(&0) {
                return fault(key, "packets are counted from 1".to_string());
            }
        }
        Ok(())
    }

    /// Every change is checked with the settings that it leaves alone.
    fn validate_changes(&self) -> Result<(), ConfigError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        // A trace has thousands.
        let unchanged = LinkConfig { changes: Vec::new(), ..self.clone() };
        for (index, change) in self.changes.iter().enumerate() {
            change.validate()?;
            let mut changed = unchanged.clone();
            changed.apply(change);
            if let Err(ConfigError { key, reason }) = changed.validate() {
                return fault("changes", format!("change {}: {key}: {reason}", index + 1));
            }
        }
        Ok(())
    }

    fn validate_reordering(&self) -> Result<(), ConfigError> {
        let wanted =
            self.reorder > 0.0 || !self.reorder_packets.is_empty() || !self.reorder_data.is_empty();
        match (self.reorder_delay_ms, self.reorder_after) {
            (Some(_), Some(_)) => fault("reorder_after", "excludes reorder_delay_ms".to_string()),
            (None, None) if wanted => {
                fault("reorder", "reorder_delay_ms or reorder_after is missing".to_string())
            }
            (_, Some(0)) => fault("reorder_after", "at least 1 is needed".to_string()),
            (_, None) if self.reorder_hold_ms.is_some() => {
                fault("reorder_hold_ms", "needs reorder_after".to_string())
            }
            _ => Ok(()),
        }
    }
}
