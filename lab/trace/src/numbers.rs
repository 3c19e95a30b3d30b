//! How chunks and bytes are numbered.

/// Number of the first chunk or byte inside of the analysis, so that those before it have one too.
pub(crate) const ORIGIN: u64 = 1 << 34;

/// A number as observers are told it.
pub(crate) fn shown(number: u64) -> i64 {
    number.wrapping_sub(ORIGIN).cast_signed()
}
