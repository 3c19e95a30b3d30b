//! Settings as a user writes them.

use tresse_netem::{Link, LinkConfig, LossStage};

fn parse(text: &str) -> LinkConfig {
    toml::from_str(text).expect(text)
}

#[test]
fn nothing_given_is_a_perfect_link() {
    let config = parse("");
    assert_eq!(config, LinkConfig::default());
    assert_eq!(config.validate(), Ok(()));
}

#[test]
fn all_keys_are_read_and_written() {
    let config = parse(
        r#"
        bandwidth_kbps = 500
        overhead_bytes = 18
        delay_ms = 15
        jitter_ms = 0.5
        jitter_reorders = true
        queue_packets = 100
        queue_bytes = 64000
        loss = 0.05
        loss_stage = "wire"
        drop_packets = [3, 4]
        drop_data = [1]
        drop_acks = [2]
        duplicate = 0.01
        duplicate_packets = [9]
        corrupt = 0.02
        corrupt_packets = [10]
        corrupt_bits = 3
        reorder = 0.03
        reorder_packets = [11]
        reorder_data = [12]
        reorder_after = 4
        reorder_hold_ms = 250
        up = false
        "#,
    );
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.bandwidth_kbps, Some(500.0));
    assert_eq!(config.loss_stage, LossStage::Wire);
    assert_eq!(config.drop_packets, [3, 4]);
    let text = toml::to_string(&config).expect("serialisable");
    assert_eq!(parse(&text), config);
}

#[test]
fn unknown_keys_are_refused() {
    let fault = toml::from_str::<LinkConfig>("bandwith_kbps = 1").unwrap_err();
    assert!(fault.to_string().contains("bandwith_kbps"), "{fault}");
}

#[test]
fn each_fault_is_one_line_that_begins_with_its_key() {
    for (text, key) in [
        ("loss = 1.5", "loss"),
        ("loss = nan", "loss"),
        ("duplicate = -0.1", "duplicate"),
        ("corrupt = 2", "corrupt"),
        ("reorder = -1", "reorder"),
        ("delay_ms = -1", "delay_ms"),
        ("delay_ms = inf", "delay_ms"),
        ("delay_ms = 5\njitter_ms = 6", "jitter_ms"),
        ("bandwidth_kbps = 0", "bandwidth_kbps"),
        ("bandwidth_kbps = nan", "bandwidth_kbps"),
        ("corrupt_bits = 0", "corrupt_bits"),
        ("drop_packets = [1, 0]", "drop_packets"),
        ("drop_data = [0]", "drop_data"),
        ("drop_acks = [0]", "drop_acks"),
        ("duplicate_packets = [0]", "duplicate_packets"),
        ("corrupt_packets = [0]", "corrupt_packets"),
        ("reorder_packets = [0]\nreorder_after = 1", "reorder_packets"),
        ("reorder_data = [0]\nreorder_after = 1", "reorder_data"),
        ("reorder = 0.1", "reorder"),
        ("reorder_packets = [1]", "reorder"),
        ("reorder_delay_ms = 5\nreorder_after = 1", "reorder_after"),
        ("reorder_after = 0", "reorder_after"),
        ("reorder_delay_ms = 5\nreorder_hold_ms = 1", "reorder_hold_ms"),
    ] {
        let config = parse(text);
        let fault = config.validate().expect_err(text);
        assert_eq!(fault.key, key, "{text}");
        let line = fault.to_string();
        assert!(line.starts_with(&format!("{key}: ")) && !line.contains('\n'), "{line}");
        assert_eq!(Link::<()>::new(config, 1).err(), Some(fault));
    }
}
