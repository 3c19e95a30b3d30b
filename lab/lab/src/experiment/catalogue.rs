//! The experiments that are built into the binary: every file in `experiments/`.

use std::path::Path;

use super::{AnyExperiment, load};
use crate::error::LabError;

// `BUILT_IN`: id and TOML text of each, in the order in which they are listed. Made by `build.rs`.
include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// Ids of the built-in experiments.
pub fn ids() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(id, _)| *id)
}

/// The group of the experiments that show one mechanism each, as a paper is the group of its own.
pub const MECHANISMS: &str = "mechanisms";

/// Ids of the built-in experiments of one group: a paper, such as `pedersen`, or [`MECHANISMS`];
/// none if there is no such group.
pub fn ids_of(group: &str) -> Vec<&'static str> {
    ids().filter(|id| id.split_once('/').is_some_and(|(g, _)| g == group)).collect()
}

/// The built-in experiments.
///
/// # Errors
/// None in a tested build: a test loads every one of them.
pub fn built_in() -> Result<Vec<AnyExperiment>, LabError> {
    BUILT_IN.iter().map(|(id, text)| load::parse(id, text)).collect()
}

/// The experiment that a user means by `name`: a built-in id, or a path to a TOML file (anything
/// that ends in `.toml` or exists).
///
/// # Errors
/// [`LabError::UnknownExperiment`] lists the known ids; the file errors are those of
/// [`load_file`](super::load_file).
pub fn find(name: &str) -> Result<AnyExperiment, LabError> {
    if let Some((id, text)) = BUILT_IN.iter().find(|(id, _)| *id == name) {
        return load::parse(id, text);
    }
    let path = Path::new(name);
    if path.extension().is_some_and(|e| e == "toml") || path.is_file() {
        return load::load_file(path);
    }
    Err(LabError::UnknownExperiment {
        id: name.to_owned(),
        near: near(name),
        known: ids().map(str::to_owned).collect(),
    })
}

/// Checks that what a user means by `name` does not write over results of another experiment: a changed copy of a built-in
/// one needs an id of its own, as results have a folder for each id.
///
/// # Errors
/// Those of [`find`], and [`LabError::Experiment`] with the key `id` for such a copy.
pub fn check_id(name: &str) -> Result<(), LabError> {
    let experiment = find(name)?;
    let id = experiment.id();
    let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == id) else {
        return Ok(());
    };
    let written = |experiment: &AnyExperiment| toml::to_string(experiment).ok();
    if written(&load::parse(id, text)?) == written(&experiment) {
        return Ok(());
    }
    let last = id.rsplit('/').next().unwrap_or(id);
    Err(LabError::Experiment {
        origin: name.to_owned(),
        line: None,
        key: "id".into(),
        message: format!(
            "{id} is a built-in experiment, and this one differs from it: its results would be written over; give it an \
             id of its own, such as own/{last}"
        ),
    })
}

/// Known ids that look like `name`: those that contain it, or else those a few typing errors
/// away from it.
fn near(name: &str) -> Vec<String> {
    let contains: Vec<String> = ids()
        .filter(|id| !name.is_empty() && id.split('/').any(|part| part == name))
        .map(str::to_owned)
        .collect();
    if !contains.is_empty() && contains.len() <= 3 {
        return contains;
    }
    let mut close: Vec<(usize, &str)> =
        ids().map(|id| (strsim::damerau_levenshtein(id, name), id)).collect();
    close.sort_by_key(|(distance, _)| *distance);
    let best = close.first().map_or(usize::MAX, |(distance, _)| *distance);
    close
        .into_iter()
        .take_while(|(distance, _)| *distance == best && *distance <= 3)
        .take(3)
        .map(|(_, id)| id.to_owned())
        .collect()
}
