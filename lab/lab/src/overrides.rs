//! What a user changes about an experiment from the command line.

use tresse_core::Profile;

use crate::common::{ProfileEntry, merge};
use crate::error::LabError;
use crate::experiment::{Experiment, with_changes};
use crate::single_loss::{PlotKind, SingleLoss};

/// Changes to an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Profiles to run beside those of the experiment.
    pub profiles: Vec<String>,
    /// Parameters of every profile, or of the experiment itself, each as `key=value`:
    /// `rto.min_ms=300`, `workload.bursts.message_bytes=600`.
    pub parameters: Vec<String>,
    /// Seed instead of the experiment's own.
    pub seed: Option<u64>,
}

impl Overrides {
    /// Applies them.
    ///
    /// # Errors
    /// [`LabError::Profile`] for an unknown profile or a wrong parameter, [`LabError::Option`] for
    /// text that is not `key=value`.
    pub fn apply(&self, experiment: &mut Experiment) -> Result<(), LabError> {
        for text in &self.parameters {
            set(experiment, text)?;
        }
        for name in &self.profiles {
            add_profile(experiment, name)?;
        }
        // Parameters can be right one by one and wrong together, or with a profile.
        for entry in experiment.profiles() {
            entry.resolve(experiment.parameters())?;
        }
        if let Some(seed) = self.seed {
            experiment.replications_mut().seed = seed;
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

/// `word` as a POSIX shell reads it back.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-_./=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A profile beside those of the paper, and a plot that shows it together with them.
fn add_profile(experiment: &mut Experiment, name: &str) -> Result<(), LabError> {
    Profile::named(name)
        .map_err(|source| LabError::Profile { context: format!("--profile {name}"), source })?;
    if experiment.profiles().iter().any(|p| p.name == name) {
        return Ok(());
    }
    let mut label = name.to_owned();
    while experiment.profiles().iter().any(|p| p.label == label) {
        label.push('\'');
    }
    experiment.profiles_mut().push(ProfileEntry {
        name: name.to_owned(),
        label: label.clone(),
        baseline: None,
        extra: true,
        parameters: toml::Table::new(),
        processor: toml::Table::new(),
    });
    match experiment {
        Experiment::SingleLoss(e) => add_to_plots(e, label),
        // Every curve by axis or profile shows it beside the others.
        Experiment::Flow(e) => {
            for plot in e.plots.iter_mut().filter(|p| p.kind.compares_profiles()) {
                plot.series.push(label.clone());
            }
        }
    }
    Ok(())
}

fn add_to_plots(experiment: &mut SingleLoss, label: String) {
    const ADDED: &str = "with-added-profiles";
    if let Some(plot) = experiment.plots.iter_mut().find(|p| p.file == ADDED) {
        plot.series.push(label);
    } else if let Some(plot) = experiment.plots.iter().find(|p| p.kind == PlotKind::MttByMessage) {
        let mut plot = plot.clone();
        plot.file = ADDED.into();
        plot.title = format!("{}, with added profiles", plot.title);
        plot.series.push(label);
        experiment.plots.push(plot);
    }
}

/// Tables of an experiment that can be changed; all other keys are those of a profile.
const OWN_TABLES: [&str; 7] =
    ["topology", "association", "workload", "loss", "replications", "metric", "observe"];

fn set(experiment: &mut Experiment, text: &str) -> Result<(), LabError> {
    let table = parse_parameter(text)?;
    let context = format!("--set {text}");
    if table.keys().all(|key| OWN_TABLES.contains(&key.as_str())) {
        *experiment = with_changes(experiment, table, &context)?;
        return Ok(());
    }
    Profile::standard()
        .with_override_table(table.clone())
        .map_err(|source| LabError::Profile { context, source })?;
    merge(experiment.parameters_mut(), table);
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

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("rto.min_ms=300"), "rto.min_ms=300");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
