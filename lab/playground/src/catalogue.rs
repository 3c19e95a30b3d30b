//! What the page offers: profiles, and scenarios to begin with.

use serde::Serialize;
use tresse_core::Profile;

use crate::scenario::{Event, Link, Scenario, Side, Traffic, Way};

/// A scenario to begin with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preset {
    /// Short name.
    pub name: &'static str,
    /// What there is to see, in a sentence or two.
    pub about: &'static str,
    /// The scenario.
    pub scenario: Scenario,
}

/// Everything that can be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Catalogue {
    /// Names of profiles that are whole senders and receivers.
    pub profiles: Vec<&'static str>,
    /// Names of those that can be joined to any of them.
    pub overlays: Vec<&'static str>,
    /// Scenarios.
    pub presets: Vec<Preset>,
    /// The scenario that is meant where nothing is said.
    pub default: Scenario,
}

/// What there is.
pub fn catalogue() -> Catalogue {
    let overlays: Vec<&str> = Profile::stream_schedulers()
        .chain(Profile::multipath_mechanisms())
        .chain(Profile::congestion_controls())
        .chain(Profile::mechanisms())
        .collect();
    let profiles = Profile::names().filter(|name| !overlays.contains(name)).collect();
    Catalogue { profiles, overlays, presets: presets(), default: Scenario::default() }
}

/// Scenarios to begin with.
pub fn presets() -> Vec<Preset> {
    vec![last_message(), readme(), spike(), reordering(), burst_of_losses(), short_burst()]
}

fn against(ours: &str, other: &str) -> Vec<Side> {
    let side = |profile: &str| Side { profile: profile.to_owned(), overrides: String::new() };
    vec![side(ours), side(other)]
}

const fn thin(messages: u32) -> Traffic {
    Traffic::Thin { size: 100, interval_ms: 250.0, messages: Some(messages) }
}

fn last_message() -> Preset {
    Preset {
        name: "A thin stream loses its last message",
        about: "The fourth message is lost, and then the tenth, behind which nothing is sent: no SACK can tell that it \
                is missing. RFC 9260 waits for T3-rtx, a second at least. tresse has repaired a loss before, so it may \
                ask with a probe.",
        scenario: Scenario {
            seconds: 4.0,
            sides: against("tresse", "rfc9260"),
            traffic: thin(10),
            events: vec![Event::LoseData { number: 4 }, Event::LoseData { number: 11 }],
            ..Scenario::default()
        },
    }
}

fn readme() -> Preset {
    Preset {
        name: "The stream of the README",
        about: "100 bytes every 250 ms, 200 ms of round trip, 5 % loss each way: 60 messages of one association. \
                Another seed is another association.",
        scenario: Scenario {
            seconds: 20.0,
            sides: against("tresse", "rfc9260"),
            link: Link {
                rate_kbps: 1000.0,
                there_ms: 100.0,
                back_ms: 100.0,
                loss_there_percent: 5.0,
                loss_back_percent: 5.0,
                ..Link::default()
            },
            traffic: thin(60),
            ..Scenario::default()
        },
    }
}

fn spike() -> Preset {
    Preset {
        name: "A delay spike",
        about: "The link stands still for a while and loses nothing. Whoever takes that for a loss sends again what \
                arrives anyway, and halves its window for nothing; who notices takes both back.",
        scenario: Scenario {
            seconds: 5.0,
            sides: against("tresse", "rfc9260"),
            traffic: Traffic::Bursts { size: 1000, burst: 4, interval_ms: 250.0, bursts: Some(10) },
            events: vec![Event::Spike {
                way: Way::There,
                from_ms: 1000.0,
                to_ms: 2500.0,
                height_ms: None,
            }],
            ..Scenario::default()
        },
    }
}

fn reordering() -> Preset {
    Preset {
        name: "Reordering",
        about: "One packet comes 30 ms late, behind those that were sent after it. Three SACKs that report later ones \
                look like a loss to RFC 9260.",
        scenario: Scenario {
            seconds: 1.5,
            sides: against("tresse", "rfc9260"),
            link: Link { rate_kbps: 2000.0, ..Link::default() },
            traffic: Traffic::Bulk { size: 1000, messages: Some(60) },
            events: vec![Event::DelayData { number: 25, by_ms: 30.0 }],
            ..Scenario::default()
        },
    }
}

fn burst_of_losses() -> Preset {
    Preset {
        name: "A burst of losses in a bulk transfer",
        about: "Everything is lost for 40 ms. How soon is all of it sent again, and what is left of the window?",
        scenario: Scenario {
            seconds: 4.0,
            sides: against("tresse", "rfc9260"),
            link: Link { rate_kbps: 2000.0, ..Link::default() },
            traffic: Traffic::Bulk { size: 1400, messages: Some(300) },
            events: vec![Event::LoseBetween { way: Way::There, from_ms: 800.0, to_ms: 840.0 }],
            ..Scenario::default()
        },
    }
}

fn short_burst() -> Preset {
    Preset {
        name: "A short burst loses its last but one",
        about: "Four messages at a time, as signalling sends them, and the last two of a burst are lost: with Early \
                Retransmit fewer SACKs are enough, but behind the last one there is none.",
        scenario: Scenario {
            seconds: 4.0,
            sides: against("hurtig-early-retransmit", "hurtig-standard"),
            traffic: Traffic::Bursts { size: 1000, burst: 4, interval_ms: 1000.0, bursts: Some(3) },
            events: vec![Event::LoseData { number: 7 }],
            ..Scenario::default()
        },
    }
}
