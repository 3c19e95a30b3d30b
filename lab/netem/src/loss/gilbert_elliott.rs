//! Loss in bursts: a channel that is now good, now bad.
//!
//! Source: Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39, 1960;
//! Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", ibid. 42, 1963; parameters
//! as in Hasslinger & Hohlfeld, "The Gilbert-Elliott Model for Packet Loss in Real Time Services on
//! the Internet", 2008. Idea: a chain of two states moves with every packet, and each state has a
//! loss probability of its own.
//!
//! ```text
//! good -> bad with p, bad -> good with r, before each packet; the first packet starts from good
//! share of the bad state    p / (p + r)
//! loss in the long run      (r loss_good + p loss_bad) / (p + r)
//! packets in a row bad      1 / r on average
//! n steps in a pause        bad with b + (now - b) (1 - p - r)^n, b = p / (p + r), now = 1 if it is bad
//! ```
//!
//! Where only packets move it, a sender that has fallen silent finds the burst as it left it, and each of its probes is
//! one packet of many. What makes losses on a real channel, such as fading, ends with time: `step_ms`.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, fault};
use crate::random::Random;
use crate::time::Nanos;

/// Loss in bursts: the table `gilbert_elliott` of a [`LinkConfig`](crate::LinkConfig), in the place of
/// `loss`. All but `step_ms` are probabilities for one packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottConfig {
    /// From the good state to the bad one.
    pub p: f64,
    /// From the bad state to the good one.
    pub r: f64,
    /// Loss in the good state. Default 0.
    #[serde(default)]
    pub loss_good: f64,
    /// Loss in the bad state. Default 1.
    #[serde(default = "certain")]
    pub loss_bad: f64,
    /// In a pause the channel moves as well, once in each of so many milliseconds, such as the time that the link takes for a
    /// packet. Absent (default): only packets move it, as in Linux's netem.
    #[serde(default)]
    pub step_ms: Option<f64>,
}

const fn certain() -> f64 {
    1.0
}

impl GilbertElliottConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("gilbert_elliott.p", self.p),
            ("gilbert_elliott.r", self.r),
            ("gilbert_elliott.loss_good", self.loss_good),
            ("gilbert_elliott.loss_bad", self.loss_bad),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return fault(key, format!("a probability between 0 and 1 is needed, not {value}"));
            }
        }
        match self.step_ms {
            Some(ms) if !(ms.is_finite() && ms >= 1e-6) => {
                let text = format!("at least 1e-6 is needed, not {ms}");
                fault("gilbert_elliott.step_ms", text)
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct GilbertElliott {
    config: GilbertElliottConfig,
    bad: bool,
    /// When the last packet came.
    last: Option<Nanos>,
}

impl GilbertElliott {
    pub(super) fn new(config: GilbertElliottConfig) -> GilbertElliott {
        GilbertElliott { config, bad: false, last: None }
    }

    /// Other probabilities; what is bad stays bad.
    pub(super) fn reconfigure(&mut self, config: GilbertElliottConfig) {
        self.config = config;
    }

    pub(super) fn drops(&mut self, now: Nanos, random: &mut Random) -> bool {
        let GilbertElliottConfig { p, r, loss_good, loss_bad, .. } = self.config;
        let steps = self.steps(now);
        if steps > 1.0 {
            let share = p / (p + r).max(f64::MIN_POSITIVE);
            let bad = f64::from(u8::from(self.bad));
            self.bad = random.chance(share + (bad - share) * (1.0 - p - r).powf(steps));
        } else {
            self.bad ^= random.chance(if self.bad { r } else { p });
        }
        random.chance(if self.bad { loss_bad } else { loss_good })
    }

    /// How often the channel moves up to this packet: whole steps, once at least.
    fn steps(&mut self, now: Nanos) -> f64 {
        let last = self.last.replace(now);
        let Some((step_ms, last)) = self.config.step_ms.zip(last) else { return 1.0 };
        let step = Nanos::from_millis_f64(step_ms).get().max(1);
        ((now - last).get() / step).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stage;

    /// Which of this many packets are lost.
    fn losses(config: GilbertElliottConfig, count: usize) -> Vec<bool> {
        config.validate().expect("valid");
        let mut model = GilbertElliott::new(config);
        let mut random = Random::new(5, Stage::Loss);
        (0..count).map(|_| model.drops(Nanos::ZERO, &mut random)).collect()
    }

    /// Of many probes behind a lost packet, each after a pause of so many ms, the share that is lost.
    fn lost_after(config: GilbertElliottConfig, pause_ms: u64) -> f64 {
        let mut random = Random::new(6, Stage::Loss);
        let lost = |_| {
            let mut model = GilbertElliott { bad: true, ..GilbertElliott::new(config) };
            model.last = Some(Nanos::from_millis(5));
            model.drops(Nanos::from_millis(5 + pause_ms), &mut random)
        };
        f64::from((0..20_000).map(lost).map(u8::from).map(u32::from).sum::<u32>()) / 20_000.0
    }

    #[test]
    fn bursts_have_their_rate_and_length() {
        let config =
            GilbertElliottConfig { p: 0.01, r: 0.25, loss_good: 0.0, loss_bad: 1.0, step_ms: None };
        let lost = losses(config, 400_000);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let rate = count / 400_000.0;
        assert!((rate - 0.01 / 0.26).abs() < 0.002, "{rate}");
        assert!((count / bursts - 4.0).abs() < 0.15, "{}", count / bursts);
    }

    #[test]
    fn both_states_may_lose() {
        let config =
            GilbertElliottConfig { p: 0.1, r: 0.3, loss_good: 0.02, loss_bad: 0.5, step_ms: None };
        let rate = losses(config, 400_000).iter().filter(|lost| **lost).count() as f64 / 400_000.0;
        let expected = (0.3 * 0.02 + 0.1 * 0.5) / 0.4;
        assert!((rate - expected).abs() < 0.003, "{rate}");
    }

    #[test]
    fn the_first_packet_finds_the_channel_good() {
        let alternating =
            GilbertElliottConfig { p: 1.0, r: 1.0, loss_good: 0.0, loss_bad: 1.0, step_ms: None };
        assert_eq!(losses(alternating, 4), [true, false, true, false]);
        let never = GilbertElliottConfig { p: 0.0, ..alternating };
        assert_eq!(losses(never, 3), [false; 3]);
    }

    #[test]
    fn a_burst_ends_with_time_where_it_is_told_how_long_a_step_takes() {
        let by_packets =
            GilbertElliottConfig { p: 0.001, r: 0.1, loss_good: 0.0, loss_bad: 1.0, step_ms: None };
        let by_time = GilbertElliottConfig { step_ms: Some(2.0), ..by_packets };
        let near = |value: f64, expected: f64| {
            assert!((value - expected).abs() < 0.01, "{value}, not {expected}");
        };
        // Nine of ten packets follow a lost one into the burst, however late they are.
        near(lost_after(by_packets, 500), 0.9);
        near(lost_after(by_time, 3), 0.9);
        // Ten steps of the chain, and so many that it has forgotten where it was.
        let share = 0.001 / 0.101;
        near(lost_after(by_time, 20), share + (1.0 - share) * 0.899_f64.powi(10));
        near(lost_after(by_time, 500), share);
    }

    #[test]
    fn a_step_takes_some_time() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let config = GilbertElliottConfig {
                p: 0.1,
                r: 0.1,
                loss_good: 0.0,
                loss_bad: 1.0,
                step_ms: Some(wrong),
            };
            assert!(config.validate().is_err(), "{wrong}");
        }
    }
}
