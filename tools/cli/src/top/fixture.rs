//! A process as tests see it.

use std::collections::BTreeMap;

use tresse_observe::{AssociationSnapshot, PathSnapshot, Snapshot};

/// After this many seconds, in which it sent `bytes` on the first of two paths.
pub(super) fn snapshot(uptime_s: f64, bytes: u64) -> Snapshot {
    let counts = |list: &[(&str, u64)]| {
        list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<BTreeMap<_, _>>()
    };
    let path = PathSnapshot {
        path: 0,
        remote: "192.0.2.1".parse().unwrap(),
        local: None,
        state: "active".into(),
        primary: true,
        rtt_ms: Some(30.0),
        min_rtt_ms: Some(20.0),
        srtt_ms: Some(32.5),
        rttvar_ms: Some(3.0),
        queueing_delay_ms: Some(12.5),
        rto_ms: 1000.0,
        cwnd_bytes: 45_000,
        ssthresh_bytes: 100_000,
        flight_bytes: 1452,
        mtu_bytes: 1500,
        errors: 0,
        counters: counts(&[
            ("bytes_sent", bytes),
            ("lost_chunks", 7),
            ("spurious_timeouts", 1),
            ("timeouts", 2),
        ]),
    };
    let silent = PathSnapshot {
        path: 1,
        state: "inactive\u{1b}[2J".into(),
        primary: false,
        srtt_ms: None,
        ..path.clone()
    };
    let association = AssociationSnapshot {
        id: "1v1".into(),
        state: "established".into(),
        paths: vec![path, silent],
        ..AssociationSnapshot::default()
    };
    Snapshot {
        process: 9,
        uptime_s,
        totals: counts(&[("bytes_sent", bytes)]),
        associations: vec![association],
        ..Snapshot::default()
    }
}
