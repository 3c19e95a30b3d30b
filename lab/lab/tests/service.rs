//! Messages that may be given up, and the age of the newest one.

mod estimates;

use tresse_lab::{LabError, experiment};

use estimates::estimates;

/// The third and the fourth packet with data are lost, and the eighth, which has them again if that is so.
const STATES: &str = r#"
kind = "flow"
id = "test/service"
title = "States"
summary = "For tests."

[topology]
forward = { bandwidth_kbps = 10000, delay_ms = 20, drop_data = [3, 4, 8] }
backward = { bandwidth_kbps = 10000, delay_ms = 20 }

[[profile]]
name = "rfc9260"
label = "RFC 9260"

[[axis]]
name = "service"
keys = ["workload.periodic.service"]
values = [{}, { retransmissions = 0 }, { lifetime_ms = 30.0 }, { unordered = true }]
names = ["ordered", "once", "timed", "unordered"]

[workload.periodic]
message_bytes = 100
every_ms = 50
duration_s = 4

[observe]
age = true

[[table]]
title = "Age"
metrics = ["age_ms.mean", "age_ms.max", "given_up_percent"]
"#;

#[test]
fn what_is_given_up_holds_up_nothing() {
    let rows = estimates(STATES);
    let metric = |service: &str, name: &str| {
        let row = rows.iter().find(|row| row["cell"]["service"] == service).unwrap();
        row["metrics"][name]["value"].as_f64().unwrap_or_else(|| panic!("no {name}"))
    };
    // Three of 80 messages are lost, and given up when that is found.
    for service in ["once", "timed"] {
        assert_eq!(metric(service, "given_up_percent"), 3.75, "{service}");
        assert!(metric(service, "age_ms.mean") < metric("ordered", "age_ms.mean"), "{service}");
        assert!(metric(service, "age_ms.max") < metric("ordered", "age_ms.max"), "{service}");
    }
    // A message takes 20 ms, and two are missing: the next one makes up for them.
    assert_eq!(metric("unordered", "given_up_percent"), 0.0);
    let oldest = metric("unordered", "age_ms.max");
    assert!((168.0..171.0).contains(&oldest), "{oldest}");
    assert!(metric("unordered", "age_ms.max") < metric("once", "age_ms.max"));
}

#[test]
fn mistakes_name_their_key() {
    for (from, to, key) in [
        ("[observe]\nage = true\n", "", "table[0].metrics[0]"),
        ("lifetime_ms = 30.0", "lifetime_ms = 0.0", "workload.periodic.service.lifetime_ms"),
        ("{ retransmissions = 0 }", "{ retransmissions = 0, lifetime_ms = 1.0 }", "service"),
    ] {
        assert!(STATES.contains(from), "{from}");
        let error = experiment::parse("my.toml", &STATES.replacen(from, to, 1)).unwrap_err();
        assert!(matches!(error, LabError::Experiment { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(key) && !text.contains('\n'), "{to}: {text}");
    }
}
