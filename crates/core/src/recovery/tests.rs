//! Scenarios of one algorithm each.
