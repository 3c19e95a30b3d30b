//! What a user changes about an experiment from the command line.

use tresse_core::Profile;

use crate::common::{ProfileEntry, merge};
use crate::error::LabError;
use crate::experiment::{AnyExperiment, with_changes};
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
        for text in &self.parameters {
            set(experiment, text)?;
        }
        for name in &self.profiles {
            add_profile(experiment, name)?;
        }
        // Parameters can be right one by one and wrong together, or with a profile.
        let common = &mut experiment.common;
        for entry in &common.profiles {
            entry.resolve(&common.parameters)?;
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
    Profile::named(name)
        .map_err(|source| LabError::Profile { context: format!("--profile {name}"), source })?;
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
        processor: toml::Table::new(),
    });
    experiment.show(&label);
    Ok(())
}

fn set(experiment: &mut AnyExperiment, text: &str) -> Result<(), LabError> {
    let table = parse_parameter(text)?;
    let context = format!("--set {text}");
    if let Some(chosen) = table.get(settable::AXIS) {
        *experiment = settable::with_axes(experiment, chosen, &context)?;
        return Ok(());
    }
    settable::refuse_decided(experiment, &table, &context)?;
    if settable::is_own(&table) {
        let changed = with_changes(experiment, table.clone(), &context);
        *experiment =
            changed.map_err(|error| settable::explain(experiment, &table, &context, error))?;
        return Ok(());
    }
    Profile::standard()
        .with_override_table(table.clone())
        .map_err(|source| settable::unknown(experiment, context, source))?;
    merge(&mut experiment.common.parameters, table);
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
