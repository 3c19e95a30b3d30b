//! A mobile whose address really changes: `tresse/handover-asconf`, shorter.

use std::fs;

use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{Overrides, Session};

#[test]
fn a_stream_goes_on_from_another_address() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    let text = include_str!("../experiments/tresse/handover-asconf.toml")
        .replace("count = 5", "count = 1");
    fs::write(&file, text).unwrap();
    let session = Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap();
    let quiet = Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() };
    let finished = session.run(folder.path(), quiet).unwrap();
    // None has ended: that would be a failure.
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    let text = fs::read_to_string(finished.page.with_file_name("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = summary["analysis"]["estimates"].as_array().unwrap();
    let mut seen = 0;
    for row in rows {
        let without: f64 = row["cell"]["without"].as_str().unwrap().parse().unwrap();
        let stall = row["metrics"]["stall_ms"]["value"].as_f64().unwrap();
        println!("{} {without} ms without: {stall} ms", row["series"]);
        assert!(stall >= without, "{stall} ms with {without} ms without an address");
        assert!(stall < without.max(0.0) + 3000.0, "{stall} ms with {without} ms without one");
        seen += 1;
    }
    assert_eq!(seen, 14);
}

/// What cannot be is named.
#[test]
fn mistakes_name_their_key() {
    let text = include_str!("../experiments/tresse/handover-asconf.toml");
    for (from, to, key) in [
        ("asconf = true", "asconf = false", "topology.moves"),
        (
            "at_ms = 5050.0, without_ms = -500.0",
            "at_ms = 50.0, without_ms = -500.0",
            "topology.moves[0].at_ms",
        ),
        ("at_ms = 5050.0, without_ms = -500.0", "at_ms = 50.0, path = 2", "topology.moves[0].path"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.toml");
        fs::write(&file, text.replace(from, to)).unwrap();
        let error = Session::new(file.to_str().unwrap(), &Overrides::default()).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}
