//! Delay spikes: spells in which packets do not move at all, and then all at once.
//!
//! Source: the "hiccup" module of Ladha et al., "On Making SCTP Robust to Spurious Retransmissions"
//! (§4, §6), after Ludwig's for the Eifel algorithm: a mobile link that stops for some seconds.
//! Idea: spells of random length come at random intervals, counted from the end of one to the start
//! of the next; nothing is lost in them, and when one ends everything goes on.
//!
//! ```text
//! start[1] = U(interval)                  end[n] = start[n] + U(length)
//! start[n + 1] = end[n] + U(interval)     a spell lasts from start (included) to end (excluded)
//! ```
//!
//! The paper does not say where its module sits; `place` offers three readings. The schedule follows
//! from the seed alone: traffic neither draws from its random numbers nor moves it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, MAX_MILLIS, fault};
use crate::random::Random;
use crate::time::Nanos;

/// Delay spikes: the table `spikes` of a [`LinkConfig`](crate::LinkConfig). Either `interval_s` and
/// `length_s` are given, or `list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpikesConfig {
    /// `[low, high]`: seconds from the end of one spike to the start of the next, uniformly
    /// distributed. The first one starts one interval after the link's time zero, or after the
    /// change of settings that brought the spikes.
    pub interval_s: Option<[f64; 2]>,
    /// `[low, high]`: seconds that a spike lasts, uniformly distributed.
    pub length_s: Option<[f64; 2]>,
    /// Exactly these spikes, in any order.
    pub list: Vec<Spike>,
    /// Where packets are stopped. Default `sender`.
    pub place: SpikePlace,
}

/// One spike of [`SpikesConfig::list`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spike {
    /// Milliseconds from the link's time zero to the start.
    pub start_ms: f64,
    /// Milliseconds that it lasts.
    pub length_ms: f64,
}

/// Where a spike stops packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpikePlace {
    /// Before the queue: packets offered during the spike wait outside, however many, and enter the
    /// queue together when it ends. What was queued before goes on.
    #[default]
    Sender,
    /// At the bottleneck: nothing is serialised. The packet under way resumes afterwards, the others
    /// wait in the queue, which may overflow.
    Link,
    /// After the link: what arrives during the spike is handed over in order when it ends.
    Receiver,
}

/// Seconds from one start to the next that are needed on average, so that no schedule is endless.
const MIN_CYCLE_S: f64 = 0.1;

/// Seconds that the longest interval needs at least, so that every spike ends.
const MIN_INTERVAL_S: f64 = 0.001;

impl SpikesConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let max = MAX_MILLIS / 1e3;
        for (key, range) in
            [("spikes.interval_s", self.interval_s), ("spikes.length_s", self.length_s)]
        {
            let Some([low, high]) = range else { continue };
            if !(0.0 <= low && low <= high && high <= max) {
                return fault(
                    key,
                    format!(
                        "[low, high] between 0 and {max} seconds are needed, not {low}, {high}"
                    ),
                );
            }
        }
        for Spike { start_ms, length_ms } in &self.list {
            let usable = 0.0..=MAX_MILLIS;
            if !usable.contains(start_ms) || !usable.contains(length_ms) {
                return fault(
                    "spikes.list",
                    format!("milliseconds between 0 and {MAX_MILLIS} are needed"),
                );
            }
        }
        match (self.interval_s, self.length_s, self.list.is_empty()) {
            (Some(interval), Some(length), true) => {
                let cycle = (interval[0] + interval[1] + length[0] + length[1]) / 2.0;
                if cycle < MIN_CYCLE_S {
                    let reason = format!("spikes must begin {MIN_CYCLE_S} s apart on average");
                    return fault("spikes.interval_s", reason);
                }
                if interval[1] < MIN_INTERVAL_S {
                    let reason = format!("[low, high] needs {MIN_INTERVAL_S} s or more as high");
                    return fault("spikes.interval_s", reason);
                }
                Ok(())
            }
            (None, None, false) => Ok(()),
            (_, _, false) => fault("spikes.list", "excludes interval_s and length_s".to_string()),
            (None, _, true) => fault("spikes.interval_s", "is missing".to_string()),
            (_, None, true) => fault("spikes.length_s", "is missing".to_string()),
        }
    }
}

/// A spell without movement, from `start` (included) to `end` (excluded).
#[derive(Clone, Copy, Debug)]
struct Spell {
    start: Nanos,
    end: Nanos,
}

/// The spikes of one link.
#[derive(Clone, Debug)]
pub(crate) struct Spikes {
    config: Option<SpikesConfig>,
    random: Random,
    /// The coming spells in order, none touching another, as far as they have been drawn.
    spells: VecDeque<Spell>,
    /// End of the last spell drawn.
    drawn_to: Nanos,
}

impl Spikes {
    pub(crate) fn new(config: Option<&SpikesConfig>, random: Random) -> Spikes {
        let mut spikes =
            Spikes { config: None, random, spells: VecDeque::new(), drawn_to: Nanos::ZERO };
        spikes.reconfigure(Nanos::ZERO, config);
        spikes
    }

    /// Unchanged settings leave the schedule alone; new ones begin a new schedule at `now`.
    pub(crate) fn reconfigure(&mut self, now: Nanos, config: Option<&SpikesConfig>) {
        if self.config.as_ref() == config {
            return;
        }
        self.config = config.cloned();
        self.spells.clear();
        self.drawn_to = now;
        let mut list: Vec<Spell> = config
            .map_or(&[][..], |config| &config.list)
            .iter()
            .map(|spike| {
                let start = Nanos::from_millis_f64(spike.start_ms);
                Spell { start, end: start + Nanos::from_millis_f64(spike.length_ms) }
            })
            .collect();
        list.sort_unstable_by_key(|spell| spell.start);
        for spell in list {
            self.append(spell);
        }
    }

    /// Whether packets are stopped here.
    pub(crate) fn at(&self, place: SpikePlace) -> bool {
        self.config.as_ref().is_some_and(|config| config.place == place)
    }

    /// Forgets the spells that were over before `now`. Later questions are about later moments.
    pub(crate) fn forget(&mut self, now: Nanos) {
        while self.spells.front().is_some_and(|spell| spell.end <= now) {
            self.spells.pop_front();
        }
    }

    /// The first moment from `at` on at which packets move.
    pub(crate) fn next_calm(&mut self, at: Nanos) -> Nanos {
        let mut calm = at;
        while let Some(spell) = self.spell_after(calm).filter(|spell| spell.start <= calm) {
            calm = spell.end;
        }
        calm
    }

    /// When work of `span` is done that begins at `start` and rests during spikes.
    pub(crate) fn finish(&mut self, start: Nanos, span: Nanos) -> Nanos {
        let mut at = self.next_calm(start);
        let mut left = span;
        while let Some(spell) = self.spell_after(at).filter(|spell| spell.start < at + left) {
            left = left - (spell.start - at);
            at = spell.end;
        }
        at + left
    }

    /// The first spell that ends after `at`, be it under way or still to come.
    fn spell_after(&mut self, at: Nanos) -> Option<Spell> {
        while self.drawn_to <= at && self.draw() {}
        self.spells.iter().find(|spell| spell.end > at).copied()
    }

    /// Draws one more spell. `false` when there is none.
    fn draw(&mut self) -> bool {
        let Some(SpikesConfig { interval_s: Some(interval), length_s: Some(length), .. }) =
            self.config
        else {
            return false;
        };
        if self.drawn_to == Nanos::MAX {
            return false;
        }
        let start = self.drawn_to + uniform(interval, &mut self.random);
        let end = start + uniform(length, &mut self.random);
        self.drawn_to = end;
        self.append(Spell { start, end });
        true
    }

    /// Appends a spell that starts no earlier than the last one; what touches becomes one.
    fn append(&mut self, spell: Spell) {
        match self.spells.back_mut() {
            Some(last) if spell.start <= last.end => last.end = last.end.max(spell.end),
            _ if spell.start < spell.end => self.spells.push_back(spell),
            _ => {}
        }
    }
}

/// Uniform between both ends, in seconds.
fn uniform([low, high]: [f64; 2], random: &mut Random) -> Nanos {
    Nanos::from_millis_f64((low + (high - low) * random.unit()) * 1e3)
}

#[cfg(test)]
mod tests;
