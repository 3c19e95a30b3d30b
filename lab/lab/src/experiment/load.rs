//! Reading an experiment from TOML, with errors that name the line and the key.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Experiment;
use crate::common::merge;
use crate::error::LabError;
use crate::flow::Flow;
use crate::mistake::Mistake;
use crate::single_loss::SingleLoss;

/// The experiment in `text`. `origin` names it in errors.
///
/// # Errors
/// [`LabError::Experiment`], with the line and the key of the first mistake.
pub fn parse(origin: &str, text: &str) -> Result<Experiment, LabError> {
    // What is not even TOML is explained by the strict reading below.
    let table: toml::Table = text.parse().unwrap_or_default();
    let experiment = if table.contains_key("kind") {
        Experiment::Flow(Box::new(read(origin, text, Flow::prepare)?))
    } else {
        Experiment::SingleLoss(Box::new(read(origin, text, |e: &mut SingleLoss| e.validate())?))
    };
    Ok(experiment)
}

fn read<E: DeserializeOwned>(
    origin: &str,
    text: &str,
    prepare: fn(&mut E) -> Result<(), Mistake>,
) -> Result<E, LabError> {
    let wrong = |error: &toml::de::Error, key: String| LabError::Experiment {
        origin: origin.to_owned(),
        line: error.span().map(|span| line_of(text, span.start)),
        key,
        message: error.message().replace('\n', " "),
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|e| wrong(&e, String::new()))?;
    let mut experiment: E = serde_path_to_error::deserialize(deserializer).map_err(|e| {
        let path = e.path().to_string();
        let key = if path == "." { String::new() } else { path };
        wrong(e.inner(), key)
    })?;
    prepare(&mut experiment).map_err(|mistake| at(origin, mistake))?;
    Ok(experiment)
}

fn at(origin: &str, mistake: Mistake) -> LabError {
    LabError::Experiment {
        origin: origin.to_owned(),
        line: None,
        key: mistake.key,
        message: mistake.message.replace('\n', " "),
    }
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
    Ok(match experiment {
        Experiment::SingleLoss(e) => {
            let mut changed: SingleLoss = changed(e.as_ref(), changes, origin)?;
            changed.drop_unfit_publications();
            changed.validate().map_err(|mistake| at(origin, mistake))?;
            Experiment::SingleLoss(Box::new(changed))
        }
        Experiment::Flow(e) => {
            let mut changed: Flow = changed(e.as_ref(), changes, origin)?;
            changed.drop_unfit_publications();
            changed.validate().map_err(|mistake| at(origin, mistake))?;
            Experiment::Flow(Box::new(changed))
        }
    })
}

fn changed<E: Serialize + DeserializeOwned>(
    experiment: &E,
    changes: toml::Table,
    origin: &str,
) -> Result<E, LabError> {
    let wrong = |key: String, message: &str| at(origin, Mistake { key, message: message.into() });
    let mut table =
        toml::Table::try_from(experiment).map_err(|e| wrong(String::new(), &e.to_string()))?;
    merge(&mut table, changes);
    serde_path_to_error::deserialize(table)
        .map_err(|e| wrong(e.path().to_string(), e.inner().message()))
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
