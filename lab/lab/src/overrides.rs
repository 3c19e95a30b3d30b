//! What a user changes about an experiment from the command line.

use tresse_core::Profile;

use crate::common::{ProfileEntry, merge};
use crate::error::LabError;
use crate::experiment::{AnyExperiment, with_changes};
use crate::extension::ExtensionSet;
use crate::sender::Tcp;
use crate::settable;
use crate::shell::shell_word;

/// Changes to an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Profiles to run beside those of the experiment.
    pub profiles: Vec<String>,
    /// Parameters of every profile, or of the experiment itself, each as `key=value`:
    /// `rto.min_ms=300`, `workload.bursts.message_bytes=600`; or values of an axis instead of those that it has:
    /// `axis.loss=[1,5]`.
    pub parameters: Vec<String>,
    /// Seed instead of the experiment's own.
    pub seed: Option<u64>,
}

impl Overrides {
    /// Applies them.
    ///
    /// # Errors
    /// [`LabError::Profile`] for an unknown profile or a wrong parameter, [`LabError::Option`] for
    /// text that is not `key=value`, for a key that there is not, and for one that an axis decides.
    pub fn apply(&self, experiment: &mut AnyExperiment) -> Result<(), LabError> {
        set(experiment, &self.parameters)?;
        for name in &self.profiles {
            add_profile(experiment, name)?;
        }
        // Parameters can be right one by one and wrong together, or with a profile.
        let common = &mut experiment.common;
        for entry in &common.profiles {
            entry.resolve(&common.parameters)?;
        }
        let tcp_alone = common.profiles.iter().all(ProfileEntry::is_tcp);
        if tcp_alone && !common.parameters.is_empty() {
            let keys = self.parameters.join(" ");
            let what = "all senders are TCP, which has no parameters of SCTP";
            return Err(LabError::Option(format!("--set {keys}: {what}")));
        }
        if let Some(seed) = self.seed {
            common.replications.seed = seed;
        }
        Ok(())
    }

    /// The command-line options that say the same.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for profile in &self.profiles {
            arguments.push(format!("--profile {}", shell_word(profile)));
        }
        for parameter in &self.parameters {
            arguments.push(format!("--set {}", shell_word(parameter)));
        }
        arguments.extend(self.seed.map(|seed| format!("--seed {seed}")));
        arguments
    }
}

/// A profile beside those of the paper, and a plot that shows it together with them.
fn add_profile(experiment: &mut AnyExperiment, name: &str) -> Result<(), LabError> {
    let wrong = |source| LabError::Profile { context: format!("--profile {name}"), source };
    if !Tcp::is_meant(name) {
        Profile::named(name).map_err(wrong)?;
    }
    let common = &mut experiment.common;
    if common.profiles.iter().any(|p| p.name == name) {
        return Ok(());
    }
    let mut label = name.to_owned();
    while common.profile(&label).is_some() {
        label.push('\'');
    }
    common.profiles.push(ProfileEntry {
        name: name.to_owned(),
        label: label.clone(),
        baseline: None,
        extra: true,
        parameters: toml::Table::new(),
        extensions: ExtensionSet::default(),
        processor: toml::Table::new(),
    });
    experiment.show(&label);
    Ok(())
}

/// What `--set` says, by what it is about: each kind is applied at once, so that the order of options does not
/// matter. The later of two that set the same key counts.
#[derive(Default)]
struct Settings {
    axes: Given,
    own: Given,
    profile: Given,
}

/// Some options and what they say together.
#[derive(Default)]
struct Given {
    texts: Vec<String>,
    table: toml::Table,
}

impl Given {
    fn add(&mut self, text: &str, table: toml::Table) {
        self.texts.push(format!("--set {text}"));
        merge(&mut self.table, table);
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// What names them in errors.
    fn context(&self) -> String {
        self.texts.join(" ")
    }
}

fn set(experiment: &mut AnyExperiment, texts: &[String]) -> Result<(), LabError> {
    let mut given = Settings::default();
    for text in texts {
        let table = parse_parameter(text)?;
        if table.contains_key(settable::AXIS) {
            given.axes.add(text, table);
            continue;
        }
        settable::refuse_decided(experiment, &table, &format!("--set {text}"))?;
        if settable::is_own(&table) {
            given.own.add(text, table);
        } else {
            given.profile.add(text, table);
        }
    }
    let Settings { axes, own, profile } = given;
    if !(axes.is_empty() && own.is_empty()) {
        // Values may fit together only: all of them are written before any is checked.
        let mut changes = own.table.clone();
        if let Some(chosen) = axes.table.get(settable::AXIS) {
            let axes = settable::axes(experiment, chosen, &axes.context())?;
            changes.insert(settable::AXIS.to_owned(), axes);
        }
        let all = [axes.texts, own.texts].concat().join(" ");
        let changed = with_changes(experiment, changes, &all);
        *experiment =
            changed.map_err(|error| settable::explain(experiment, &own.table, &all, error))?;
    }
    if !profile.is_empty() {
        Profile::standard()
            .with_override_table(profile.table.clone())
            .map_err(|source| settable::unknown(experiment, profile.context(), source))?;
        merge(&mut experiment.common.parameters, profile.table);
    }
    Ok(())
}

fn parse_parameter(text: &str) -> Result<toml::Table, LabError> {
    let wrong =
        || LabError::Option(format!("--set {text}: expected key=value, such as rto.min_ms=300"));
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if key.is_empty() || value.is_empty() || !key.chars().all(plain) {
        return Err(wrong());
    }
    // What is not a TOML value is a word: congestion.algorithm=rfc9260.
    let as_value = format!("{key} = {value}").parse::<toml::Table>();
    as_value
        .or_else(|_| format!("{key} = {}", toml::Value::from(value)).parse())
        .map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_settings_does_not_matter() {
        let set = |texts: &[&str]| {
            let mut experiment = crate::experiment::find("tresse/harm-8").unwrap();
            let parameters = texts.iter().map(|text| (*text).to_owned()).collect();
            let overrides = Overrides { parameters, ..Overrides::default() };
            overrides.apply(&mut experiment).map(|()| toml::to_string(&experiment).unwrap())
        };
        // Each of these is wrong alone: a minimum above the maximum of 60 s, a maximum below the minimum of 1 s.
        let both = ["rto.min_ms=70000", "rto.max_ms=80000", "rto.initial_ms=75000"];
        let mut other = both;
        other.reverse();
        let one = set(&both).unwrap();
        assert_eq!(one, set(&other).unwrap());
        assert!(set(&both[..1]).is_err());
        let own = ["axis.loss=[0]", "workload.periodic.duration_s=9", "replications.count=2"];
        let mut other = own;
        other.reverse();
        assert_eq!(set(&own).unwrap(), set(&other).unwrap());
        // The later of two for the same key counts.
        let count = |texts: &[&str]| set(texts).unwrap().contains("count = 3");
        assert!(count(&["replications.count=2", "replications.count=3"]));
        assert!(!count(&["replications.count=3", "replications.count=2"]));
    }

    #[test]
    fn parameters_are_toml_or_words() {
        let get = |text: &str| parse_parameter(text).unwrap().to_string();
        assert_eq!(get("rto.min_ms=300"), "[rto]\nmin_ms = 300\n");
        assert_eq!(get("heartbeat.enabled = false"), "[heartbeat]\nenabled = false\n");
        assert!(get("congestion.initial_window=rfc2960").contains("\"rfc2960\""));
        for bad in ["rto", "=3", "rto.min_ms=", "a b=1", "x\ny=1"] {
            assert!(parse_parameter(bad).is_err(), "{bad}");
        }
    }
}
