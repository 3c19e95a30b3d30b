//! What `--set` may change, and what is said of a key that it may not.

use tresse_core::{Profile, ProfileError};

use crate::error::LabError;
use crate::experiment::{AnyExperiment, Kind};
use crate::flow::{Axis, Flow};
use crate::keys::nearest;
use crate::shell::shell_word;

/// Tables of an experiment that can be changed; all other keys are those of a profile.
const OWN_TABLES: [&str; 7] =
    ["topology", "association", "workload", "loss", "metric", "replications", "observe"];
/// What names an axis: `axis.loss=[1,5]`.
pub(crate) const AXIS: &str = "axis";

/// Whether all of `table` is the experiment's, not a profile's.
pub(crate) fn is_own(table: &toml::Table) -> bool {
    table.keys().all(|key| OWN_TABLES.contains(&key.as_str()))
}

/// Refuses a change that would be without effect: each run has a value of an axis there.
///
/// # Errors
/// [`LabError::Option`] with the axis, and how to choose of its values.
pub(crate) fn refuse_decided(
    experiment: &AnyExperiment,
    table: &toml::Table,
    context: &str,
) -> Result<(), LabError> {
    let Kind::Flow(flow) = &experiment.kind else { return Ok(()) };
    for key in keys_of(table, if is_own(table) { "" } else { "parameters." }) {
        if let Some(axis) = flow.axes.iter().find(|axis| axis.decides(&key)) {
            let texts: Vec<String> = (0..axis.values.len()).map(|i| value_text(axis, i)).collect();
            let choice = shell_word(&format!("{AXIS}.{}=[{}]", axis.name, texts.join(",")));
            return Err(LabError::Option(format!(
                "{context}: the axis {} decides {key}; choose its values with --set {choice}",
                axis.name
            )));
        }
    }
    Ok(())
}

/// A value as `--set` takes it.
fn value_text(axis: &Axis, index: usize) -> String {
    match axis.names.get(index) {
        Some(name) => toml::Value::from(name.as_str()).to_string(),
        None => axis.values[index].to_string(),
    }
}

/// The axes with the values in `chosen`, axis by axis, instead of those that they have.
///
/// # Errors
/// [`LabError::Option`] for an axis or a value that there is not.
pub(crate) fn axes(
    experiment: &AnyExperiment,
    chosen: &toml::Value,
    context: &str,
) -> Result<toml::Value, LabError> {
    let wrong = |what: String| LabError::Option(format!("{context}: {what}"));
    let Kind::Flow(flow) = &experiment.kind else {
        let what =
            "this experiment has no axis, it varies topology.bandwidth_kbps and topology.delay_ms";
        return Err(wrong(what.into()));
    };
    let toml::Value::Table(chosen) = chosen else {
        return Err(wrong(format!("write axis.NAME=[VALUES]; {}", axes_text(flow))));
    };
    let mut axes = flow.axes.clone();
    for (name, values) in chosen {
        let axis = axes.iter_mut().find(|axis| axis.name == *name);
        let axis =
            axis.ok_or_else(|| wrong(format!("there is no axis {name}; {}", axes_text(flow))))?;
        let values = match values {
            toml::Value::Array(values) => values.clone(),
            one => vec![one.clone()],
        };
        *axis = axis.with_values(values).map_err(|value| {
            let texts: Vec<String> = (0..axis.values.len()).map(|i| axis.text(i)).collect();
            wrong(format!("{value} is not a value of the axis {name}: {}", texts.join(", ")))
        })?;
    }
    toml::Value::try_from(axes).map_err(|error| wrong(error.to_string()))
}

fn axes_text(flow: &Flow) -> String {
    let names: Vec<&str> = flow.axes.iter().map(|axis| axis.name.as_str()).collect();
    if names.is_empty() {
        "this experiment has none".into()
    } else {
        format!("there are {}", names.join(", "))
    }
}

/// What is said if a change of the experiment's own keys went wrong.
pub(crate) fn explain(
    experiment: &AnyExperiment,
    table: &toml::Table,
    context: &str,
    error: LabError,
) -> LabError {
    let LabError::Experiment { message, .. } = &error else { return error };
    let (own, changed) = (own_keys(experiment), keys_of(table, ""));
    if let Some(workload) = own.iter().find_map(|key| key.strip_prefix("workload."))
        && let Some((kind, _)) = workload.split_once('.')
        && changed.iter().any(|key| {
            key.starts_with("workload.") && !key.starts_with(&format!("workload.{kind}"))
        })
    {
        return LabError::Option(format!(
            "{context}: the workload of this experiment is workload.{kind}"
        ));
    }
    if message.starts_with("unknown field")
        && let Some(key) = changed.iter().find(|key| !own.contains(key))
        && let Some(near) = nearest(key, &own)
    {
        return LabError::Option(format!("{context}: there is no {key}; did you mean {near}?"));
    }
    error
}

/// What is said of a key that no profile has.
pub(crate) fn unknown(
    experiment: &AnyExperiment,
    context: String,
    source: ProfileError,
) -> LabError {
    let ProfileError::UnknownParameter { key, near } = &source else {
        return LabError::Profile { context, source };
    };
    let standard = toml::Table::try_from(Profile::standard().as_ref()).unwrap_or_default();
    if key.split('.').next().is_some_and(|table| standard.contains_key(table)) {
        return LabError::Profile { context, source };
    }
    let own = own_keys(experiment);
    let near = nearest(key, &own).or(near.as_deref());
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let all = toml::Table::try_from(experiment).unwrap_or_default();
    let tables: Vec<&str> =
        OWN_TABLES.into_iter().chain([AXIS]).filter(|table| all.contains_key(*table)).collect();
    LabError::Option(format!(
        "{context}: there is no parameter {key}{near}; what can be set is below {} (docs/experiments.md) or a \
         profile's (`tresse lab profiles tresse`)",
        tables.join(", ")
    ))
}

/// The keys of the experiment that can be set, as far as they have values.
fn own_keys(experiment: &AnyExperiment) -> Vec<String> {
    let mut table = toml::Table::try_from(experiment).unwrap_or_default();
    table.retain(|key, _| OWN_TABLES.contains(&key));
    keys_of(&table, "")
}

/// The keys of all values in `table`, with dots.
fn keys_of(table: &toml::Table, above: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in table {
        let key = format!("{above}{key}");
        match value {
            toml::Value::Table(inner) if !inner.is_empty() => {
                keys.extend(keys_of(inner, &format!("{key}.")));
            }
            _ => keys.push(key),
        }
    }
    keys
}
