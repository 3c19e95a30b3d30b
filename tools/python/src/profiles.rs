//! Profiles: `tresse.profiles`.

use pyo3::prelude::*;
use tresse_core::Profile;

use crate::errors::lab_error;

/// Names and descriptions.
#[pyfunction]
pub(crate) fn profiles() -> PyResult<Vec<(String, String)>> {
    let described = |name: &'static str| {
        let profile = Profile::named(name).map_err(lab_error)?;
        Ok((name.to_owned(), profile.description))
    };
    Profile::names().map(described).collect()
}

/// All parameters of a profile with `overrides` (TOML), as JSON.
#[pyfunction]
pub(crate) fn profile(name: &str, overrides: &str) -> PyResult<String> {
    let profile = named(name, overrides)?;
    let table: toml::Table = profile.to_toml().parse().map_err(lab_error)?;
    serde_json::to_string(&table).map_err(lab_error)
}

/// A profile with `overrides` (TOML).
pub(crate) fn named(name: &str, overrides: &str) -> PyResult<Profile> {
    let profile = Profile::named(name).map_err(lab_error)?;
    profile.with_overrides(overrides).map_err(lab_error)
}
