//! Tests of error causes.
