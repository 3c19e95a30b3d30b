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
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, fault};
use crate::random::Random;

/// Loss in bursts: the table `gilbert_elliott` of a [`LinkConfig`](crate::LinkConfig), in the place of
/// `loss`. All are probabilities for one packet.
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
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub(super) struct GilbertElliott {
    config: GilbertElliottConfig,
    pub(super) bad: bool,
}

impl GilbertElliott {
    pub(super) fn new(config: GilbertElliottConfig) -> GilbertElliott {
        GilbertElliott { config, bad: false }
    }

    pub(super) fn drops(&mut self, random: &mut Random) -> bool {
        let GilbertElliottConfig { p, r, loss_good, loss_bad } = self.config;
        self.bad ^= random.chance(if self.bad { r } else { p });
        random.chance(if self.bad { loss_bad } else { loss_good })
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
        (0..count).map(|_| model.drops(&mut random)).collect()
    }

    #[test]
    fn bursts_have_their_rate_and_length() {
        let config = GilbertElliottConfig { p: 0.01, r: 0.25, loss_good: 0.0, loss_bad: 1.0 };
        let lost = losses(config, 400_000);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let rate = count / 400_000.0;
        assert!((rate - 0.01 / 0.26).abs() < 0.002, "{rate}");
        assert!((count / bursts - 4.0).abs() < 0.15, "{}", count / bursts);
    }

    #[test]
    fn both_states_may_lose() {
        let config = GilbertElliottConfig { p: 0.1, r: 0.3, loss_good: 0.02, loss_bad: 0.5 };
        let rate = losses(config, 400_000).iter().filter(|lost| **lost).count() as f64 / 400_000.0;
        let expected = (0.3 * 0.02 + 0.1 * 0.5) / 0.4;
        assert!((rate - expected).abs() < 0.003, "{rate}");
    }

    #[test]
    fn the_first_packet_finds_the_channel_good() {
        let alternating = GilbertElliottConfig { p: 1.0, r: 1.0, loss_good: 0.0, loss_bad: 1.0 };
        assert_eq!(losses(alternating, 4), [true, false, true, false]);
        let never = GilbertElliottConfig { p: 0.0, ..alternating };
        assert_eq!(losses(never, 3), [false; 3]);
    }
}
