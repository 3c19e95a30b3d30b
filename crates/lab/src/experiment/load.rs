//! Reading an experiment from TOML, with errors that name the line and the key.

use std::path::Path;

use super::{Experiment, validate};
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
