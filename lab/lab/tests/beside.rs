//! A large message beside a thin stream, interleaved and not.

mod estimates;

use tresse_lab::{LabError, experiment};

use estimates::estimates;

/// 125 kB take 100 ms.
const BESIDE: &str = r#"
kind = "flow"
id = "test/beside"
title = "Beside"
summary = "For tests."

[topology]
forward = { bandwidth_kbps = 10000, delay_ms = 20, queue_packets = 20 }
backward = { bandwidth_kbps = 10000, delay_ms = 20 }

[association]
bundling = true

[[profile]]
name = "tresse+stream-round-robin"
label = "round robin"

[[axis]]
name = "chunks"
keys = ["association.interleaving"]
values = [false, true]
names = ["DATA", "I-DATA"]

[workload.periodic]
message_bytes = 100
every_ms = 10
duration_s = 8
beside = { message_bytes = 500000, every_ms = 4000 }

[[table]]
title = "Both"
metrics = ["transfer_ms.p50", "transfer_ms.max", "beside_ms.mean", "beside_ms.max"]
"#;

#[test]
fn a_message_does_not_wait_for_a_large_one_that_is_interleaved() {
    let rows = estimates(BESIDE);
    let metric = |chunks: &str, name: &str| {
        let row = rows.iter().find(|row| row["cell"]["chunks"] == chunks).unwrap();
        row["metrics"][name]["value"].as_f64().unwrap_or_else(|| panic!("no {name}"))
    };
    // The large ones take 400 ms and the slow start. The queue is 24 ms long.
    for chunks in ["DATA", "I-DATA"] {
        assert!(metric(chunks, "beside_ms.mean") > 400.0, "{chunks}");
        let alone = metric(chunks, "transfer_ms.p50");
        assert!((20.0..25.0).contains(&alone), "{chunks}: {alone}");
    }
    let [waited, interleaved] = ["DATA", "I-DATA"].map(|chunks| metric(chunks, "transfer_ms.max"));
    assert!(waited > 300.0 && interleaved < 150.0, "{waited} and {interleaved}");
}

#[test]
fn mistakes_name_their_key() {
    for (from, to, key) in [
        ("message_bytes = 500000", "message_bytes = 0", "workload.periodic.beside.message_bytes"),
        ("every_ms = 4000", "every_ms = 16000", "workload.periodic.beside.every_ms"),
        ("every_ms = 4000", "every_ms = 0.001", "workload.periodic.beside.every_ms"),
        ("every_ms = 4000", "every = 4000", "every"),
    ] {
        assert!(BESIDE.contains(from), "{from}");
        let error = experiment::parse("my.toml", &BESIDE.replacen(from, to, 1)).unwrap_err();
        assert!(matches!(error, LabError::Experiment { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(key) && !text.contains('\n'), "{to}: {text}");
    }
}
