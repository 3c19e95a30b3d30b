//! See crate description.
