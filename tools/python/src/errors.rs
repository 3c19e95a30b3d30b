//! Errors: each is one line that says what is wrong.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    tresse,
    TresseError,
    PyException,
    "What this package raises: one line that says what is wrong."
);
create_exception!(
    tresse,
    LabError,
    TresseError,
    "An experiment, a profile or a request to the laboratory is wrong."
);
create_exception!(tresse, ClosedError, TresseError, "The association or its endpoint has ended.");

/// It, as an error of the laboratory.
pub(crate) fn lab_error(error: impl std::fmt::Display) -> PyErr {
    LabError::new_err(error.to_string())
}

/// It, as an error of this package.
pub(crate) fn error(error: impl std::fmt::Display) -> PyErr {
    TresseError::new_err(error.to_string())
}

/// It, as the end of an association.
pub(crate) fn closed(error: impl std::fmt::Display) -> PyErr {
    ClosedError::new_err(error.to_string())
}
