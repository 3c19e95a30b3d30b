//! What the Python package `tresse` has from the crates of this repository. The package (`python/tresse`) gives it the
//! shape that Python programs expect; nothing here is meant to be called by them.

#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "functions of Python have keywords, and what they are called with is theirs"
)]

mod association;
mod capture;
mod errors;
mod lab;
mod link;
mod profiles;
mod runtime;

use pyo3::prelude::*;

/// The native part of `tresse`.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::association::{Association, Endpoint, Message};
    #[pymodule_export]
    use crate::capture::read_capture;
    #[pymodule_export]
    use crate::errors::{ClosedError, LabError, TresseError};
    #[pymodule_export]
    use crate::lab::{Collection, Plan, definition, experiments, to_toml, version};
    #[pymodule_export]
    use crate::link::carry;
    #[pymodule_export]
    use crate::profiles::{profile, profiles};
    #[pymodule_export]
    use crate::runtime::{forked, shut_down};
}
