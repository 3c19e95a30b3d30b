//! What is measured, as TOML files beside this one say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) source: String,
    pub(super) notes: Vec<String>,
    /// Probability of loss in each direction.
    pub(super) loss: f64,
    pub(super) bandwidth_kbps: f64,
    /// Connections of a case at the same time.
    pub(super) flows: u32,
    /// How long each case takes.
    pub(super) seconds: u64,
    /// How far an average may be from the published one.
    pub(super) tolerance_percent: f64,
    /// What each connection sends now and then; as much as possible without.
    pub(super) periodic: Option<Periodic>,
    /// Settings of all cases, below `/proc/sys/net/`.
    pub(super) sysctl: BTreeMap<String, String>,
    variant: Vec<Variant>,
    scenario: Vec<Scenario>,
}

/// Messages at regular times.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Periodic {
    pub(super) message_bytes: usize,
    pub(super) every_ms: u64,
}

/// Mechanisms that are switched on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    pub(super) label: String,
    /// Settings, below `/proc/sys/net/`.
    pub(super) sysctl: BTreeMap<String, String>,
}

/// A network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) label: String,
    /// Delay in each direction.
    pub(super) delay_ms: f64,
    /// Connections, instead of the plan's.
    pub(super) flows: Option<u32>,
    /// It needs the machine for itself.
    #[serde(default)]
    pub(super) alone: bool,
    /// What was published, by the label of the variant.
    published: BTreeMap<String, Published>,
}

/// Time between two transmissions of the same data, in milliseconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) avg: f64,
    pub(super) sd: f64,
}

/// One scenario with one variant.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) index: usize,
    pub(super) scenario: Scenario,
    pub(super) variant: Variant,
    pub(super) published: Option<Published>,
}

/// All there are.
pub(super) const PLANS: [&str; 2] = [include_str!("table3.6.toml"), include_str!("table3.7.toml")];

impl Plan {
    pub(super) fn all() -> impl Iterator<Item = Plan> {
        PLANS.iter().map(|text| toml::from_str(text).expect("a test reads them all"))
    }

    /// The plan of this name.
    pub(super) fn named(id: &str) -> Result<Plan, String> {
        Plan::all().find(|plan| plan.id == id).ok_or_else(|| {
            let known: Vec<String> = Plan::all().map(|plan| plan.id).collect();
            format!("there is no {id:?}; there are {}", known.join(" and "))
        })
    }

    /// How files of it are called.
    pub(super) fn file_name(&self) -> String {
        self.id.replace('/', "-")
    }

    /// Every scenario with every variant.
    pub(super) fn cases(&self) -> Vec<Case> {
        let pairs = self
            .scenario
            .iter()
            .flat_map(|scenario| self.variant.iter().map(move |variant| (scenario, variant)));
        let case = |(index, (scenario, variant)): (usize, (&Scenario, &Variant))| Case {
            index,
            scenario: scenario.clone(),
            variant: variant.clone(),
            published: scenario.published.get(&variant.label).cloned(),
        };
        pairs.enumerate().map(case).collect()
    }
}
