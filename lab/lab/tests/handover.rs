//! A mobile whose address really changes: `tresse/handover-asconf` and `tresse/handover-paths`, shorter.

mod estimates;

use tresse_lab::{LabError, experiment};

use estimates::estimates;

#[test]
fn a_stream_goes_on_from_another_address() {
    let text = include_str!("../experiments/tresse/handover-asconf.toml")
        .replace("count = 5", "count = 1");
    // None has ended: that would be a failure.
    let rows = estimates(&text);
    let mut seen = 0;
    for row in &rows {
        let without: f64 = row["cell"]["without"].as_str().unwrap().parse().unwrap();
        let stall = row["metrics"]["stall_ms"]["value"].as_f64().unwrap();
        println!("{} {without} ms without: {stall} ms", row["series"]);
        assert!(stall >= without, "{stall} ms with {without} ms without an address");
        // RFC 9260 waits for its timer, and for longer after each doubling.
        let beside = if row["series"] == "tresse" && without <= 500.0 { 300.0 } else { 3000.0 };
        assert!(stall < without.max(0.0) + beside, "{stall} ms with {without} ms without one");
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
        ("at_ms = 5050.0, without_ms = -500.0", "at_ms = 50.0, end = \"both\"", "end"),
    ] {
        let error = experiment::parse("my.toml", &text.replace(from, to)).unwrap_err();
        assert!(matches!(error, LabError::Experiment { .. }), "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
}

/// `tresse/handover-paths`, with tresse alone: addresses of either end become others while both paths, or one of them, carry data.
#[test]
fn wifi_may_come_back_as_another_network() {
    let other = "[[profile]]\nname = \"rfc9260\"\nlabel = \"RFC 9260\"\n";
    let text = include_str!("../experiments/tresse/handover-paths.toml");
    assert!(text.contains(other));
    let text = text
        .replace(other, "")
        .replace("series = [\"tresse\", \"RFC 9260\"]", "series = [\"tresse\"]")
        .replace("count = 5", "count = 1");
    // None has ended: that would be a failure.
    let rows = estimates(&text);
    let stall = |together: &str, address: &str| {
        let cell = |row: &&serde_json::Value| {
            row["cell"]["together"] == together && row["cell"]["address"] == address
        };
        let row = rows.iter().find(cell).unwrap();
        row["metrics"]["stall_ms"]["value"].as_f64().unwrap()
    };
    for address in ["the same", "another", "another, and again", "the server's too"] {
        let [one, both] = ["one", "both"].map(|together| stall(together, address));
        println!("{address}: {one} ms over one path at a time, {both} ms over both");
        assert!(one < 4000.0 && both < 2000.0, "{address}: {one} and {both} ms");
    }
    assert!(stall("both", "another") < 1000.0);
}
