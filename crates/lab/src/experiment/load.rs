//! Reading an experiment from TOML, with errors that name the line and the key.

use std::path::Path;

use super::{Experiment, Published, validate};
use crate::error::LabError;

/// The experiment in `text`. `origin` names it in errors.
///
/// # Errors
/// [`LabError::Experiment`], with the line and the key of the first mistake.
pub fn parse(origin: &str, text: &str) -> Result<Experiment, LabError> {
    let wrong = |error: &toml::de::Error, key: String| LabError::Experiment {
        origin: origin.to_owned(),
        line: error.span().map(|span| line_of(text, span.start)),
        key,
        message: error.message().replace('\n', " "),
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|e| wrong(&e, String::new()))?;
    let experiment: Experiment = serde_path_to_error::deserialize(deserializer).map_err(|e| {
        let path = e.path().to_string();
        let key = if path == "." { String::new() } else { path };
        wrong(e.inner(), key)
    })?;
    validate::validate(&experiment).map_err(|mistake| LabError::Experiment {
        origin: origin.to_owned(),
        line: None,
        key: mistake.key,
        message: mistake.message,
    })?;
    Ok(experiment)
}

/// `experiment` with the values in `changes` instead of its own. Published numbers that do not fit
/// the changed sweep are left out. `origin` names the change in errors.
///
/// # Errors
/// [`LabError::Experiment`], with the key of the first mistake.
pub(crate) fn with_changes(
    experiment: &Experiment,
    changes: toml::Table,
    origin: &str,
) -> Result<Experiment, LabError> {
    let wrong = |key: String, message: &str| LabError::Experiment {
        origin: origin.to_owned(),
        line: None,
        key,
        message: message.replace('\n', " "),
    };
    let mut table =
        toml::Table::try_from(experiment).map_err(|e| wrong(String::new(), &e.to_string()))?;
    merge(&mut table, changes);
    let mut changed: Experiment = serde_path_to_error::deserialize(table)
        .map_err(|e| wrong(e.path().to_string(), e.inner().message()))?;
    let published = std::mem::take(&mut changed.published);
    let fits = |p: &Published| validate::published(&changed, 0, p).is_ok();
    changed.published = published.into_iter().filter(fits).collect();
    validate::validate(&changed).map_err(|mistake| wrong(mistake.key, &mistake.message))?;
    Ok(changed)
}

/// Puts the values of `from` into `into`, table by table.
pub(crate) fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// The experiment in the file at `path`.
///
/// # Errors
/// [`LabError::Read`] or [`LabError::Experiment`].
pub fn load_file(path: &Path) -> Result<Experiment, LabError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| LabError::Read { path: path.to_owned(), source })?;
    parse(&path.display().to_string(), &text)
}

fn line_of(text: &str, byte: usize) -> usize {
    let before = &text.as_bytes()[..byte.min(text.len())];
    1 + before.iter().filter(|b| **b == b'\n').count()
}
