//! Tests of packet building.
