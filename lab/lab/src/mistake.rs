//! A mistake in an experiment file that the types of its schema cannot catch.

/// A mistake and the key it stands at.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// The result of a check.
pub(crate) type Checked = Result<(), Mistake>;

pub(crate) fn mistake(key: impl Into<String>, message: impl Into<String>) -> Mistake {
    Mistake { key: key.into(), message: message.into() }
}

/// An error at `key` unless `condition` holds.
pub(crate) fn require(
    condition: bool,
    key: impl Into<String>,
    message: impl Into<String>,
) -> Checked {
    if condition { Ok(()) } else { Err(mistake(key, message)) }
}
