//! What is played: a network, what is sent through it, and what counts. TOML, one file each.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tresse_emulator::LinkFile;

use crate::error::ArenaError;
use crate::metric::Metric;

/// The scenarios that are built in, in the order in which they are shown.
const BUILT_IN: [&str; 14] = [
    include_str!("../scenarios/thin-stream.toml"),
    include_str!("../scenarios/thin-stream-near.toml"),
    include_str!("../scenarios/signalling.toml"),
    include_str!("../scenarios/signalling-small.toml"),
    include_str!("../scenarios/delay-spikes.toml"),
    include_str!("../scenarios/reordering.toml"),
    include_str!("../scenarios/bulk-loss.toml"),
    include_str!("../scenarios/two-paths.toml"),
    include_str!("../scenarios/failover.toml"),
    include_str!("../scenarios/partial.toml"),
    include_str!("../scenarios/partial-once.toml"),
    include_str!("../scenarios/partial-late.toml"),
    include_str!("../scenarios/interleaving.toml"),
    include_str!("../scenarios/marks.toml"),
];

/// A message is one packet, so that a message and its chunk are the same in a capture.
const MAX_MESSAGE: usize = 1_200;
/// No large one is larger.
const MAX_LARGE: usize = 8 << 20;
/// The first of the payload protocol identifiers that say which message it is.
const PPIDS: u32 = 0x5452_0000;
/// How many messages payload protocol identifiers number.
const MOST_NUMBERED: u64 = 1 << 16;
/// No cell lasts longer, in seconds.
const MAX_SECONDS: f64 = 600.0;
/// Associations side by side, each with two processes.
const MAX_ASSOCIATIONS: u16 = 200;
/// So much of everything is left with `--quick`.
const QUICK: f64 = 0.25;
/// With `--quick` a cell lasts no less, in seconds, unless it would have in any case.
const QUICK_SECONDS: f64 = 6.0;

/// A scenario. Field names are the TOML keys; unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the command line calls it: lower-case letters, digits and dashes.
    pub id: String,
    /// One line.
    pub title: String,
    /// What happens in it and why it matters.
    pub summary: String,
    /// What the verdict is about.
    pub judged_by: Metric,
    /// How often it is played, each time with other random numbers; the same for every stack. At
    /// least 1.
    pub repetitions: u32,
    /// The network, as a file of `tresse emulate` describes it; left is the sender. The seed follows from
    /// the repetition.
    pub links: LinkFile,
    /// Of this many packets with user data on the first forward link exactly one is lost; where
    /// it begins depends on the repetition. Absent (default): none beside those of the link.
    #[serde(default)]
    pub drop_one_in: Option<u64>,
    /// What is sent.
    pub traffic: Traffic,
}

/// What each association sends: messages on one stream, in order and reliably, unless `service` or `large` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Bytes of a message, 8 to 1200: one packet at most.
    pub message_bytes: usize,
    /// Milliseconds from the start of one burst to that of the next; when a burst is due does not
    /// depend on how the ones before fared. Absent (default): as much as the stack takes.
    #[serde(default)]
    pub interval_ms: Option<u64>,
    /// Messages of a burst. Default 1.
    #[serde(default = "one")]
    pub burst: u64,
    /// Messages of an association; needed with `interval_ms`, and only then.
    #[serde(default)]
    pub messages: Option<u64>,
    /// How long is looked at it, from the first message on. What has not arrived by then counts as
    /// not delivered.
    pub seconds: f64,
    /// Associations side by side through the same links. Default 1.
    #[serde(default = "one_association")]
    pub associations: u16,
    /// When messages are given up, but for the last one. Absent (default): never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// The first message is a large one. Absent (default): it is like all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<Large>,
    /// Both ends use ECN (RFC 3168): links with `red` or `codel` that have `ecn = true` then mark packets instead of dropping them.
    /// Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

/// When messages are given up: one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// When they are older than this, in milliseconds (RFC 3758).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_ms: Option<u32>,
    /// When they would be sent again more often than that (RFC 7496).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u32>,
}

/// A large message beside small ones. Chunks are interleaved (I-DATA, RFC 8260).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Large {
    /// Bytes of it, up to 8 388 608.
    pub bytes: usize,
    /// Streams, at least 2: message n is on stream n mod this many. Those on that of the large one are not judged: they come
    /// after it.
    pub streams: u16,
}

impl Large {
    /// The stream that it is on.
    pub(crate) const STREAM: u16 = 0;
}

const fn one() -> u64 {
    1
}

const fn one_association() -> u16 {
    1
}

impl Traffic {
    /// Which message travels with this payload protocol identifier, where there is a schedule (`payload.rs` of the peers).
    #[must_use]
    pub fn index_of(&self, ppid: u32) -> Option<u64> {
        let fits = self.interval_ms.is_some() && self.messages.is_some_and(|n| n <= MOST_NUMBERED);
        (fits && ppid & !0xffff == PPIDS).then_some(u64::from(ppid & 0xffff))
    }

    /// When message `index` is handed over, in milliseconds after the first one; `None` if it is sent
    /// as soon as there is room.
    #[must_use]
    pub fn due_ms(&self, index: u64) -> Option<f64> {
        Some((index / self.burst * self.interval_ms?) as f64)
    }
}

impl Scenario {
    /// The built-in ones.
    ///
    /// # Panics
    /// Never: tests read them all.
    #[must_use]
    pub fn built_in() -> Vec<Scenario> {
        let read = |text: &&str| Scenario::parse(text).expect("built-in scenarios are valid");
        BUILT_IN.iter().map(read).collect()
    }

    /// Reads a scenario from TOML.
    ///
    /// # Errors
    /// One line about the first fault.
    pub fn parse(text: &str) -> Result<Scenario, String> {
        let scenario: Scenario = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|span| text[..span.start].lines().count().max(1));
            let place = line.map_or_else(String::new, |line| format!("line {line}: "));
            format!("{place}{}", e.message().lines().collect::<Vec<_>>().join(" "))
        })?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The built-in scenario called `name`, or else that in the file `name`.
    ///
    /// # Errors
    /// [`ArenaError::Request`] if there is neither, or the file is not valid.
    pub fn named(name: &str) -> Result<Scenario, ArenaError> {
        let all = Scenario::built_in();
        if let Some(scenario) = all.iter().find(|scenario| scenario.id == name) {
            return Ok(scenario.clone());
        }
        if !name.contains(['/', '.']) {
            let ids: Vec<&str> = all.iter().map(|scenario| scenario.id.as_str()).collect();
            return Err(ArenaError::Request(format!(
                "no scenario \"{name}\"; there are {}, or give a file such as ./my.toml",
                ids.join(", ")
            )));
        }
        Scenario::read(Path::new(name))
    }

    /// The scenario in a file.
    ///
    /// # Errors
    /// [`ArenaError::Request`] if it cannot be read or is not valid.
    pub fn read(path: &Path) -> Result<Scenario, ArenaError> {
        let wrong = |e: String| ArenaError::Request(format!("{}: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        Scenario::parse(&text).map_err(wrong)
    }

    fn check(&self) -> Result<(), String> {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.id.is_empty() || !self.id.chars().all(fine) {
            return Err("id: lower-case letters, digits and dashes only".into());
        }
        self.links.validate().map_err(|e| format!("links: {e}"))?;
        let Traffic { message_bytes, interval_ms, burst, messages, seconds, .. } = &self.traffic;
        let Traffic { associations, service, large, .. } = &self.traffic;
        let range = |good: bool, what: &str| if good { Ok(()) } else { Err(what.to_owned()) };
        range(self.repetitions >= 1, "repetitions: at least 1")?;
        range(self.drop_one_in != Some(0), "drop_one_in: at least 1")?;
        range((8..=MAX_MESSAGE).contains(message_bytes), "traffic.message_bytes: 8 to 1200")?;
        range(*burst >= 1, "traffic.burst: at least 1")?;
        range((1.0..=MAX_SECONDS).contains(seconds), "traffic.seconds: 1 to 600")?;
        range(
            (1..=MAX_ASSOCIATIONS).contains(associations),
            "traffic.associations: 1 to 200, which are processes",
        )?;
        range(interval_ms.is_none_or(|ms| ms >= 1), "traffic.interval_ms: at least 1")?;
        range(
            interval_ms.is_some() == messages.is_some_and(|n| n >= 1),
            "traffic: interval_ms and messages belong together",
        )?;
        range(
            interval_ms.is_some() || *burst == 1,
            "traffic.burst: without interval_ms there are no bursts",
        )?;
        let policies = |s: &Service| [s.lifetime_ms.is_some(), s.retransmissions.is_some()];
        range(
            service.is_none_or(|s| policies(&s) == [true, false] || policies(&s) == [false, true]),
            "traffic.service: lifetime_ms or retransmissions",
        )?;
        let scheduled = messages.is_some_and(|n| n <= MOST_NUMBERED);
        range(
            (service.is_none() && large.is_none()) || scheduled,
            "traffic.messages: service and large need a schedule, of 65536 messages at most",
        )?;
        range(
            large.is_none_or(|l| (*message_bytes..=MAX_LARGE).contains(&l.bytes) && l.streams > 1),
            "traffic.large: up to 8388608 bytes, and 2 streams at least",
        )?;
        range(
            self.judged_by != Metric::Age || service.is_some(),
            "judged_by: age needs traffic.service",
        )?;
        let last = messages.and_then(|n| self.traffic.due_ms(n - 1));
        range(
            last.is_none_or(|ms| ms < seconds * 1e3),
            "traffic.seconds: the last message is due later",
        )
    }

    /// The same with little of everything, for a first impression.
    #[must_use]
    pub fn quick(&self) -> Scenario {
        let mut quick = self.clone();
        quick.repetitions = 1;
        let traffic = &mut quick.traffic;
        traffic.seconds = (traffic.seconds * QUICK).max(QUICK_SECONDS.min(traffic.seconds));
        // What is due by the middle has half of the time to arrive.
        let fits = traffic.interval_ms.map(|ms| {
            let bursts = (traffic.seconds * 500.0 / ms as f64).ceil() as u64;
            bursts.max(1) * traffic.burst
        });
        traffic.messages = traffic.messages.map(|n| n.min(fits.unwrap_or(n)));
        quick
    }

    /// The links as they are in repetition `number`, from 0 on.
    #[must_use]
    pub fn links_of(&self, number: u32) -> LinkFile {
        let mut links = LinkFile { seed: self.seed(number), ..self.links.clone() };
        if let Some(every) = self.drop_one_in {
            // Far more than anybody sends in this time.
            let most = (self.traffic.seconds * 10_000.0) as u64;
            let first = 1 + u64::from(number) % every;
            let last = first + every * (most / every);
            links.forward.drop_data.extend((first + every..=last).step_by(every as usize));
        }
        links
    }

    /// How many paths there are: 1 or 2.
    #[must_use]
    pub fn path_count(&self) -> usize {
        self.links.path_count()
    }

    /// The seed of the links in repetition `number`: other numbers in each, the same for every stack.
    #[must_use]
    pub fn seed(&self, number: u32) -> u64 {
        u64::from(crc32c::crc32c(self.id.as_bytes())) << 32 | u64::from(number)
    }

    /// A number that is another one when anything about the scenario is.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        let mut same = self.clone();
        // More repetitions leave those that were played as they are.
        same.repetitions = 1;
        crc32c::crc32c(serde_json::to_string(&same).unwrap_or_default().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_scenarios_are_valid_and_have_names_of_their_own() {
        let all = Scenario::built_in();
        assert_eq!(all.len(), BUILT_IN.len());
        for (n, scenario) in all.iter().enumerate() {
            assert!(all[..n].iter().all(|other| other.id != scenario.id));
            assert_eq!(scenario.quick().check(), Ok(()), "{}", scenario.id);
            assert!(scenario.quick().traffic.seconds <= scenario.traffic.seconds);
            let again = toml::to_string(scenario).map(|text| Scenario::parse(&text));
            assert_eq!(again, Ok(Ok(scenario.clone())));
        }
    }

    #[test]
    fn mistakes_are_told_in_one_line_with_their_place() {
        let good = BUILT_IN[0];
        for (from, to, fault) in [
            ("loss = 0.05", "loss = 5", "links: forward.loss: a probability"),
            ("message_bytes = 100", "message_bytes = 7", "traffic.message_bytes"),
            ("messages = ", "mesages = ", "line "),
            ("repetitions = ", "repetitions = 0 # ", "repetitions: at least 1"),
            ("interval_ms = 250", "", "belong together"),
            ("judged_by = \"repair\"", "judged_by = \"age\"", "age needs traffic.service"),
            ("associations = 25", "service = {}", "lifetime_ms or retransmissions"),
            ("associations = 25", "large = { bytes = 9, streams = 2 }", "traffic.large"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = Scenario::parse(&good.replace(from, to)).unwrap_err();
            assert!(error.contains(fault) && !error.contains('\n'), "{error}");
        }
        assert!(Scenario::named("thin-strean").unwrap_err().to_string().contains("thin-stream"));
        assert!(Scenario::named("./nowhere.toml").unwrap_err().to_string().contains("nowhere"));
    }

    #[test]
    fn losses_are_as_many_in_every_repetition_but_elsewhere() {
        let signalling = Scenario::named("signalling").unwrap();
        let drops = |n| signalling.links_of(n).forward.drop_data;
        assert!(drops(0).len() > 1000);
        assert_ne!(drops(0), drops(1));
        let every = signalling.drop_one_in.unwrap();
        assert!(drops(1).windows(2).all(|pair| pair[1] - pair[0] == every));
        assert_ne!(signalling.seed(0), signalling.seed(1));
    }

    #[test]
    fn messages_are_due_on_a_schedule() {
        let traffic = &Scenario::named("signalling").unwrap().traffic;
        assert_eq!(traffic.due_ms(3), Some(0.0));
        assert_eq!(traffic.due_ms(4), traffic.interval_ms.map(|ms| ms as f64));
        assert_eq!(Scenario::named("bulk-loss").unwrap().traffic.due_ms(4), None);
    }
}
