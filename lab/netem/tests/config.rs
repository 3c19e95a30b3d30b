//! Settings as a user writes them.

use tresse_netem::{
    GilbertElliottConfig, Link, LinkConfig, LossStage, RedConfig, Spike, SpikePlace, SpikesConfig,
};

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

        [red]
        min_threshold = 5
        max_threshold = 15
        max_probability = 0.02
        weight = 0.01
        gentle = false
        packet_bytes = 1500

        [spikes]
        interval_s = [10, 20]
        length_s = [3, 10]
        place = "link"

        [[changes]]
        at_ms = 1000
        every_ms = 500
        bandwidth_kbps = 100
        delay_ms = 30
        loss = 0.1
        up = true
        "#,
    );
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.bandwidth_kbps, Some(500.0));
    assert_eq!(config.spikes.as_ref().map(|spikes| spikes.place), Some(SpikePlace::Link));
    assert_eq!(config.changes[0].every_ms, Some(500.0));
    assert_eq!(config.loss_stage, LossStage::Wire);
    assert_eq!(config.drop_packets, [3, 4]);
    let text = toml::to_string(&config).expect("serialisable");
    assert_eq!(parse(&text), config);
}

#[test]
fn what_need_not_be_said_has_a_default() {
    let config = parse(
        "
        [red]
        min_threshold = 5
        max_threshold = 15

        [gilbert_elliott]
        p = 0.01
        r = 0.3

        [spikes]
        list = [{ start_ms = 20000, length_ms = 4000 }]
        ",
    );
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.red, Some(RedConfig::new(5.0, 15.0)));
    let burst =
        GilbertElliottConfig { p: 0.01, r: 0.3, loss_good: 0.0, loss_bad: 1.0, step_ms: None };
    assert_eq!(config.gilbert_elliott, Some(burst));
    let spikes = SpikesConfig {
        list: vec![Spike { start_ms: 20_000.0, length_ms: 4000.0 }],
        place: SpikePlace::Sender,
        ..SpikesConfig::default()
    };
    assert_eq!(config.spikes, Some(spikes));
    assert_eq!(parse(&toml::to_string(&config).expect("serialisable")), config);
}

#[test]
fn unknown_keys_are_refused() {
    for text in [
        "bandwith_kbps = 1",
        "[red]\nmin_threshold = 1\nmax_threshold = 2\nbandwith_kbps = 1",
        "[spikes]\nbandwith_kbps = 1",
        "[gilbert_elliott]\np = 1\nr = 1\nbandwith_kbps = 1",
        "[[changes]]\nat_ms = 1\nbandwith_kbps = 1",
    ] {
        let fault = toml::from_str::<LinkConfig>(text).unwrap_err();
        assert!(fault.to_string().contains("bandwith_kbps"), "{fault}");
    }
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
        ("loss = 0.1\n[gilbert_elliott]\np = 0.1\nr = 0.1", "gilbert_elliott"),
        ("[gilbert_elliott]\np = 1.1\nr = 0.1", "gilbert_elliott.p"),
        ("[gilbert_elliott]\np = 0.1\nr = nan", "gilbert_elliott.r"),
        ("[gilbert_elliott]\np = 0.1\nr = 0\nloss_good = -1", "gilbert_elliott.loss_good"),
        ("[gilbert_elliott]\np = 0.1\nr = 0\nloss_bad = 2", "gilbert_elliott.loss_bad"),
        ("[red]\nmin_threshold = -1\nmax_threshold = 2", "red.min_threshold"),
        ("[red]\nmin_threshold = 2\nmax_threshold = 2", "red.max_threshold"),
        ("[red]\nmin_threshold = 2\nmax_threshold = inf", "red.max_threshold"),
        ("[red]\nmin_threshold = 1\nmax_threshold = 2\nmax_probability = 0", "red.max_probability"),
        ("[red]\nmin_threshold = 1\nmax_threshold = 2\nweight = 1.5", "red.weight"),
        ("[red]\nmin_threshold = 1\nmax_threshold = 2\npacket_bytes = 0", "red.packet_bytes"),
        ("[spikes]", "spikes.interval_s"),
        ("[spikes]\nplace = \"link\"\nlength_s = [1, 2]", "spikes.interval_s"),
        ("[spikes]\ninterval_s = [1, 2]", "spikes.length_s"),
        ("[spikes]\ninterval_s = [2, 1]\nlength_s = [1, 1]", "spikes.interval_s"),
        ("[spikes]\ninterval_s = [0, 0]\nlength_s = [1, 1]", "spikes.interval_s"),
        ("[spikes]\ninterval_s = [0, 0.1]\nlength_s = [0, 0]", "spikes.interval_s"),
        ("[spikes]\ninterval_s = [1, 1]\nlength_s = [-1, 1]", "spikes.length_s"),
        ("[spikes]\ninterval_s = [1, 1]\nlength_s = [1, nan]", "spikes.length_s"),
        ("[spikes]\nlist = [{ start_ms = -1, length_ms = 1 }]", "spikes.list"),
        ("[spikes]\ninterval_s = [1, 1]\nlist = [{ start_ms = 1, length_ms = 1 }]", "spikes.list"),
        ("[[changes]]\nat_ms = -1\nup = true", "changes.at_ms"),
        ("[[changes]]\nat_ms = 1\nevery_ms = 0\nup = true", "changes.every_ms"),
        ("[[changes]]\nat_ms = 1\nevery_ms = 5", "changes"),
        ("[[changes]]\nat_ms = 1\nloss = 2", "changes"),
        ("delay_ms = 5\njitter_ms = 3\n[[changes]]\nat_ms = 1\ndelay_ms = 2", "changes"),
        ("[gilbert_elliott]\np = 0.1\nr = 0.1\n[[changes]]\nat_ms = 1\nloss = 0.2", "changes"),
    ] {
        let config = parse(text);
        let fault = config.validate().expect_err(text);
        assert_eq!(fault.key, key, "{text}");
        let line = fault.to_string();
        assert!(line.starts_with(&format!("{key}: ")) && !line.contains('\n'), "{line}");
        assert_eq!(Link::<()>::new(config, 1).err(), Some(fault));
    }
}
