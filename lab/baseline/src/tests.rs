use super::*;

#[test]
fn every_plan_can_be_read_and_has_all_that_was_published() {
    for plan in Plan::all() {
        let cases = plan.cases();
        LinkConfig { loss: plan.loss, ..LinkConfig::default() }.validate().unwrap();
        assert!(cases.len() >= 12, "{}", plan.id);
        for case in &cases {
            // RACK was not known then.
            assert_eq!(case.published.is_some(), !case.variant.label.contains("RACK"), "{case:?}");
        }
    }
    let said = Plan::named("x").unwrap_err();
    assert_eq!(said, "there is no \"x\"; there are pedersen/table3.6 and pedersen/table3.7");
}

#[test]
fn averages_outside_the_tolerance_are_marked() {
    let plan = Plan::named("pedersen/table3.7").unwrap();
    let delays = DelaySummary {
        count: 4,
        min_ms: 200.0,
        max_ms: 400.0,
        avg_ms: 231.7,
        sd_ms: 80.0,
        p50_ms: 210.0,
        p95_ms: 400.0,
        p99_ms: 400.0,
    };
    let mut result = Measured {
        scenario: "RTT 0 ms".into(),
        variant: "Plain".into(),
        delays: Some(delays),
        segments: 100,
        tcptrace: None,
        published: plan.cases()[0].published.clone(),
    };
    let text = row(&plan, &result);
    assert!(text.contains("| 231.7 ± 80.0 | 80.0 | 231.7 | +0.0 % | not installed |"), "{text}");
    result.delays.as_mut().unwrap().avg_ms = 463.4;
    assert!(row(&plan, &result).contains("+100.0 %, **outside**"));
}
