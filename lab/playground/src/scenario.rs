//! What is played, as it stands in a shared address: everything but the profiles has a default.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tresse_core::{Profile, ProfileError};
use tresse_netem::LinkConfig;

/// A transfer over one path, played once for each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Seed of all random numbers. Default 1.
    pub seed: u64,
    /// Simulated seconds from the first INIT on, 0.1 to 600. Default 5.
    pub seconds: f64,
    /// One or two senders that are compared. Default `tresse` and `rfc9260`.
    pub sides: Vec<Side>,
    /// The path between.
    pub link: Link,
    /// What is sent.
    pub traffic: Traffic,
    /// What happens to packets besides, the same on each side. Where two events take the same packet, it is lost if
    /// one of them says so, and otherwise comes as late as the latest.
    pub events: Vec<Event>,
}

/// A sender and its receiver, both of which have the same profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Side {
    /// A built-in profile, or several joined by `+`.
    pub profile: String,
    /// Parameters in the place of the profile's own, in TOML, such as `rto.min_ms = 300`. Default: none.
    pub overrides: String,
}

/// The path: a bottleneck each way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// Bandwidth each way in kbit/s, 1 to 1 000 000. Default 1000.
    pub rate_kbps: f64,
    /// Milliseconds from sender to receiver, 0 to 10 000. Default 50.
    pub there_ms: f64,
    /// Milliseconds back. Default 50.
    pub back_ms: f64,
    /// Packets that wait for the bottleneck at most, 1 to 100 000. Default 50.
    pub queue_packets: u32,
    /// Percent of the packets to the receiver that are lost at random. Default 0.
    pub loss_there_percent: f64,
    /// The same on the way back. Default 0.
    pub loss_back_percent: f64,
}

/// What the application sends, from when the association is up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// One message after the other, with pauses.
    Thin {
        /// Bytes of each, 8 to 65 536.
        size: usize,
        /// Milliseconds from one to the next, 1 at least.
        interval_ms: f64,
        /// How many; absent: as many as there is time for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<u32>,
    },
    /// As fast as it goes.
    Bulk {
        /// Bytes of each message.
        size: usize,
        /// How many; absent: without end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<u32>,
    },
    /// Several messages at once, with pauses.
    Bursts {
        /// Bytes of each message.
        size: usize,
        /// Messages of a burst, 1 to 1000.
        burst: u32,
        /// Milliseconds from one burst to the next, 1 at least.
        interval_ms: f64,
        /// How many bursts; absent: as many as there is time for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bursts: Option<u32>,
    },
}

/// A direction of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the sender of messages to their receiver.
    #[default]
    There,
    /// From the receiver, with its SACKs.
    Back,
    /// Both; only for spans of time.
    Both,
}

impl Way {
    /// Whether packets of `other`, which is not `Both`, are meant.
    pub(crate) fn includes(self, other: Way) -> bool {
        self == Way::Both || self == other
    }
}

/// Something that happens to packets on their way. Numbers count from 1; those of data count the packets to the
/// receiver that carry user data, retransmissions as well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// This packet is lost.
    LosePacket {
        /// Whose packets are counted.
        way: Way,
        /// Which.
        number: u64,
    },
    /// This packet with user data is lost.
    LoseData {
        /// Which.
        number: u64,
    },
    /// Every packet is lost that is sent in this span.
    LoseBetween {
        /// Which way.
        #[serde(default)]
        way: Way,
        /// Its start, in milliseconds.
        from_ms: f64,
        /// Its end.
        to_ms: f64,
    },
    /// A delay spike: whatever is sent in this span is held up before the bottleneck. Nothing overtakes.
    Spike {
        /// Which way.
        #[serde(default)]
        way: Way,
        /// Its start, in milliseconds.
        from_ms: f64,
        /// Its end.
        to_ms: f64,
        /// For how many milliseconds; absent: until the end, as on a link that stands still.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        height_ms: Option<f64>,
    },
    /// This packet takes longer, and others overtake it.
    DelayPacket {
        /// Whose packets are counted.
        way: Way,
        /// Which.
        number: u64,
        /// By how many milliseconds.
        by_ms: f64,
    },
    /// This packet with user data takes longer, and others overtake it.
    DelayData {
        /// Which.
        number: u64,
        /// By how many milliseconds.
        by_ms: f64,
    },
}

/// Why a scenario cannot be played: one line for whoever wrote it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A value is outside its range.
    #[error("{what} must be {allowed}, not {value}")]
    Range {
        /// Which.
        what: String,
        /// What it may be.
        allowed: &'static str,
        /// What it is.
        value: String,
    },
    /// The profile of a side, by its letter, is none.
    #[error("side {side}: {error}")]
    Profile {
        /// `A` or `B`.
        side: char,
        /// What is wrong.
        error: ProfileError,
    },
    /// The text is no scenario.
    #[error("this is no scenario: {0}")]
    Syntax(String),
}

impl Default for Scenario {
    fn default() -> Self {
        let side = |profile: &str| Side { profile: profile.to_owned(), overrides: String::new() };
        Scenario {
            seed: 1,
            seconds: 5.0,
            sides: vec![side("tresse"), side("rfc9260")],
            link: Link::default(),
            traffic: Traffic::Thin { size: 100, interval_ms: 250.0, messages: Some(12) },
            events: Vec::new(),
        }
    }
}

impl Default for Link {
    fn default() -> Self {
        Link {
            rate_kbps: 1000.0,
            there_ms: 50.0,
            back_ms: 50.0,
            queue_packets: 50,
            loss_there_percent: 0.0,
            loss_back_percent: 0.0,
        }
    }
}

impl Link {
    /// One direction, as a link has it.
    pub(crate) fn config(&self, way: Way) -> LinkConfig {
        let (delay_ms, percent) = match way {
            Way::Back => (self.back_ms, self.loss_back_percent),
            _ => (self.there_ms, self.loss_there_percent),
        };
        LinkConfig {
            queue_packets: Some(self.queue_packets),
            loss: percent / 100.0,
            ..LinkConfig::new(self.rate_kbps, delay_ms)
        }
    }
}

/// The most messages of a schedule.
pub(crate) const MAX_MESSAGES: u32 = 100_000;

/// The most events: each packet asks all of them.
const MAX_EVENTS: usize = 1000;

/// Milliseconds of the longest scenario.
const MAX_MS: f64 = 600_000.0;

impl Scenario {
    /// Reads one from JSON.
    ///
    /// # Errors
    /// [`Fault::Syntax`]; values are judged by [`play`](crate::play).
    pub fn from_json(text: &str) -> Result<Scenario, Fault> {
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        serde_json::from_str(text).map_err(|error| {
            Fault::Syntax(error.to_string().chars().take(300).map(printable).collect())
        })
    }

    /// Checks every value, and looks the profiles up, in the order of the sides.
    pub(crate) fn profiles(&self) -> Result<Vec<Profile>, Fault> {
        within("the duration", self.seconds, 0.1, 600.0, "0.1 to 600 seconds")?;
        within("the number of sides", self.sides.len() as f64, 1.0, 2.0, "1 or 2")?;
        self.link.check()?;
        self.traffic.check()?;
        let events = self.events.len() as f64;
        within("the number of events", events, 0.0, MAX_EVENTS as f64, "1000 at most")?;
        for (index, event) in self.events.iter().enumerate() {
            event.check(index + 1)?;
        }
        let letters = ['A', 'B'];
        let named = self.sides.iter().zip(letters).map(|(side, letter)| {
            let profile = Profile::named(side.profile.trim());
            profile
                .and_then(|profile| match side.overrides.trim() {
                    "" => Ok(profile),
                    overrides => profile.with_overrides(overrides),
                })
                .map_err(|error| Fault::Profile { side: letter, error })
        });
        named.collect()
    }
}

impl Link {
    fn check(&self) -> Result<(), Fault> {
        within("the rate", self.rate_kbps, 1.0, 1e6, "1 to 1000000 kbit/s")?;
        within("the delay there", self.there_ms, 0.0, 10_000.0, "0 to 10000 ms")?;
        within("the delay back", self.back_ms, 0.0, 10_000.0, "0 to 10000 ms")?;
        within("the queue", self.queue_packets.into(), 1.0, 1e5, "1 to 100000 packets")?;
        within("the loss there", self.loss_there_percent, 0.0, 100.0, "0 to 100 percent")?;
        within("the loss back", self.loss_back_percent, 0.0, 100.0, "0 to 100 percent")
    }
}

impl Traffic {
    fn check(&self) -> Result<(), Fault> {
        let (size, interval, count) = match *self {
            Traffic::Thin { size, interval_ms, messages } => (size, interval_ms, messages),
            Traffic::Bulk { size, messages } => (size, 1.0, messages),
            Traffic::Bursts { size, burst, interval_ms, bursts } => {
                within("the burst", burst.into(), 1.0, 1000.0, "1 to 1000 messages")?;
                (size, interval_ms, bursts)
            }
        };
        within("the size of messages", size as f64, 8.0, 65_536.0, "8 to 65536 bytes")?;
        within("the interval", interval, 1.0, MAX_MS, "1 to 600000 ms")?;
        within("the number of messages", count.unwrap_or(1).into(), 1.0, 1e5, "1 to 100000")
    }
}

impl Event {
    fn check(&self, place: usize) -> Result<(), Fault> {
        let named = |what: &str| format!("{what} of event {place}");
        let numbered = |number: u64, way: Way| {
            if number == 0 || way == Way::Both {
                let what = named("the packet");
                let allowed = "one of a direction, counted from 1";
                return Err(Fault::Range { what, allowed, value: format!("{number} of {way:?}") });
            }
            Ok(())
        };
        let later = |by_ms: f64| within(&named("the delay"), by_ms, 0.0, 60_000.0, "0 to 60000 ms");
        let span = |from_ms: f64, to_ms: f64| {
            within(&named("the start"), from_ms, 0.0, MAX_MS, "0 to 600000 ms")?;
            within(&named("the end"), to_ms, from_ms, MAX_MS, "its start to 600000 ms")
        };
        match *self {
            Event::LosePacket { way, number } => numbered(number, way),
            Event::LoseData { number } => numbered(number, Way::There),
            Event::LoseBetween { from_ms, to_ms, .. } => span(from_ms, to_ms),
            Event::Spike { from_ms, to_ms, height_ms, .. } => {
                span(from_ms, to_ms)?;
                later(height_ms.unwrap_or(0.0))
            }
            Event::DelayPacket { way, number, by_ms } => {
                numbered(number, way)?;
                later(by_ms)
            }
            Event::DelayData { number, by_ms } => {
                numbered(number, Way::There)?;
                later(by_ms)
            }
        }
    }
}

fn within(what: &str, value: f64, low: f64, high: f64, allowed: &'static str) -> Result<(), Fault> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Fault::Range { what: what.to_owned(), allowed, value: value.to_string() })
}
