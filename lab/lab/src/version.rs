//! Which code made a result.

/// Version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Fingerprint of the source code that decides the outcome of a run: protocol, network and
/// laboratory. Computed by `build.rs`; a change invalidates stored runs.
pub const SOURCE: &str = env!("TRESSE_SOURCE_FINGERPRINT");

/// Both, for people.
pub fn describe() -> String {
    format!("tresse {VERSION} (source {SOURCE})")
}
