//! Verdicts, by relation, tolerance and spread.

use tresse_report::Unit;

use super::claim::default_tolerance;
use super::*;

fn claim(relation: Relation) -> Claim {
    Claim {
        what: String::new(),
        place: String::new(),
        value: 100.0,
        unit: Unit::Milliseconds,
        tolerance: 10.0,
        tolerance_why: None,
        counted: false,
        one_run: false,
        of_runs: None,
        interval: None,
        resolution: None,
        resolution_why: None,
        in_words: false,
        of_ns2: false,
        relation,
        why: None,
        tested: None,
        not_reproducible: None,
        repeats: None,
    }
}

fn verdict(claim: &Claim, value: f64, ci95: f64) -> Verdict {
    let range = [value - 1.0, value + 1.0];
    Comparison::new(claim.clone(), Some(Estimate { ci95: Some(ci95), range, ..exact(value) }))
        .verdict
}

#[test]
fn verdicts_follow_relation_and_tolerance() {
    let of = |relation, ours: f64| verdict(&claim(relation), ours, 0.5);
    assert_eq!(of(Relation::Equal, 110.0), Verdict::Agrees);
    assert_eq!(of(Relation::Equal, 89.0), Verdict::Differs);
    assert_eq!(of(Relation::AtMost, 1.0), Verdict::Agrees);
    assert_eq!(of(Relation::AtMost, 111.0), Verdict::Differs);
    assert_eq!(of(Relation::AtLeast, 1000.0), Verdict::Agrees);
    assert_eq!(of(Relation::AtLeast, 89.0), Verdict::Differs);
    assert_eq!(Comparison::new(claim(Relation::Equal), None).verdict, Verdict::Missing);
}

#[test]
fn an_effect_needs_its_interval_on_the_right_side() {
    let none = Claim { value: 0.0, unit: Unit::Percent, ..claim(Relation::Above) };
    assert_eq!(verdict(&none, 2.0, 1.9), Verdict::Agrees);
    assert_eq!(verdict(&none, 2.0, 2.0), Verdict::Differs);
    assert_eq!(verdict(&none, 0.0, 0.0), Verdict::Differs);
    let below = Claim { relation: Relation::Below, ..none.clone() };
    assert_eq!(verdict(&below, -2.0, 1.9), Verdict::Agrees);
    assert_eq!(verdict(&below, -2.0, 2.1), Verdict::Differs);
    // Of a median, the extremes are the interval; a single run has none and stands for itself.
    let median = |range| Estimate { ci95: None, range, ..exact(6.6) };
    let of = |range| Comparison::new(none.clone(), Some(median(range))).verdict;
    assert_eq!(of([0.0, 15.0]), Verdict::Differs);
    assert_eq!(of([6.6, 6.6]), Verdict::Agrees);
}

fn exact(value: f64) -> Estimate {
    Estimate { value, ci95: Some(1.0), range: [value; 2], runs: 9, deviation: None, limits: None }
}

/// A setting whose runs that choose have one value and those that judge another, or none.
fn setting(choosing: f64, judging: Option<f64>) -> Setting {
    let all = judging.map_or(choosing, |judging| 0.5 * (choosing + judging));
    Setting { choosing: exact(choosing), judging: judging.map(exact), all: exact(all) }
}

#[test]
fn of_several_settings_the_nearest_counts() {
    let of = |relation, ours: &[f64]| {
        let ours: Vec<_> = ours.iter().map(|value| setting(*value, Some(*value))).collect();
        let c = Comparison::nearest(claim(relation), &ours);
        (c.ours.map(|o| o.value), c.verdict, c.scan.unwrap().settings)
    };
    let differs = |value, n| (Some(value), Verdict::Differs, n);
    assert_eq!(of(Relation::Equal, &[50.0, 115.0, 300.0]), differs(115.0, 3));
    // Of two that agree the one in the middle has more room for what other seeds bring.
    assert_eq!(of(Relation::Equal, &[50.0, 91.0, 98.0]), (Some(98.0), Verdict::Agrees, 3));
    assert_eq!(of(Relation::Above, &[50.0, 100.5, 99.0]), differs(100.5, 3));
    assert_eq!(of(Relation::Below, &[150.0, 98.0, 70.0]), (Some(70.0), Verdict::Agrees, 3));
    assert_eq!(of(Relation::AtMost, &[150.0, 120.0]), differs(120.0, 2));
    assert_eq!(of(Relation::AtLeast, &[50.0, 20.0]), differs(50.0, 2));
    assert_eq!(of(Relation::Equal, &[]), (None, Verdict::Missing, 0));
}

#[test]
fn the_nearest_setting_is_judged_by_other_runs_than_those_that_chose_it() {
    let of = |settings: &[(f64, f64)]| {
        let settings: Vec<_> = settings.iter().map(|(a, b)| setting(*a, Some(*b))).collect();
        Comparison::nearest(claim(Relation::Equal), &settings)
    };
    let found = |c: &Comparison| (c.verdict, c.scan.unwrap().holding, c.scan.unwrap().possible);
    // By chance: one set of seeds agrees, the other does not. By all runs together it has 125, which is excluded,
    // as are 200; the interval is 1 to both sides.
    let lucky = of(&[(101.0, 149.0), (300.0, 100.0)]);
    assert_eq!(found(&lucky), (Verdict::Differs, 0, 0));
    // A setting that was not the nearest is no reason, but in both sets it agrees, so nothing is ruled out.
    let other = of(&[(101.0, 150.0), (105.0, 105.0)]);
    assert_eq!(found(&other), (Verdict::Differs, 1, 1));
    // As a stored result is.
    assert_eq!(found(&lucky.clone().judged_again()), (Verdict::Differs, 0, 0));
    assert_eq!(lucky.ours.map(|o| o.value), Some(149.0));
    assert_eq!(lucky.scan.unwrap().chosen.map(|o| o.value), Some(101.0));
    let holds = of(&[(120.0, 100.0), (101.0, 105.0)]);
    assert_eq!(found(&holds), (Verdict::Agrees, 1, 2));
    // 110.5 is not within 10 of 100, but its interval is: more runs might say so.
    let near = of(&[(110.5, 110.5), (200.0, 205.0)]);
    assert_eq!(found(&near), (Verdict::Differs, 0, 1));
    // What other runs do not have at all is not there.
    let seldom = [setting(101.0, None), setting(150.0, Some(160.0))];
    let seldom = Comparison::nearest(claim(Relation::Equal), &seldom);
    assert_eq!(found(&seldom), (Verdict::Missing, 0, 1));
}

#[test]
fn what_excludes_an_effect_is_an_interval_on_the_other_side() {
    let excluded = |relation, value: f64| claim(relation).judge(exact(value)).excluded;
    for (relation, value, expected) in [
        (Relation::Above, 98.9, true),
        (Relation::Above, 99.5, false),
        (Relation::Below, 101.1, true),
        (Relation::Below, 100.5, false),
        (Relation::AtMost, 111.1, true),
        (Relation::AtMost, 110.5, false),
        (Relation::AtLeast, 88.9, true),
        (Relation::AtLeast, 89.5, false),
    ] {
        assert_eq!(excluded(relation, value), expected, "{relation:?} {value}");
    }
    // A single run excludes nothing.
    let one = Estimate { runs: 1, ..exact(500.0) };
    assert!(!claim(Relation::Equal).judge(one).excluded);
}

#[test]
fn nothing_at_all_is_not_about_one() {
    let one = Claim { value: 1.0, tolerance: 1.0, unit: Unit::Number, ..claim(Relation::Equal) };
    assert_eq!(verdict(&one, 0.0, 0.0), Verdict::Differs);
    assert_eq!(verdict(&one, 0.2, 0.1), Verdict::Agrees);
    let zero = Claim { value: 0.0, ..one };
    assert_eq!(verdict(&zero, 0.0, 0.0), Verdict::Agrees);
}

fn of(claim: &Claim, runs: &[f64]) -> Comparison {
    Comparison::new(claim.clone(), Estimate::of(runs))
}

#[test]
fn counts_are_compared_by_the_spread_of_both() {
    // One run that counts 100 on average counts between 80 and 120, and 40 of ours have a mean known to 1.6.
    let runs: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 2) * 20.0 - 10.0).collect();
    let counted = |value| Claim { value, counted: true, tolerance: 0.0, ..claim(Relation::Equal) };
    for (published, expected) in [
        (81.0, Verdict::Agrees),
        (120.0, Verdict::Agrees),
        (122.0, Verdict::Differs),
        (79.0, Verdict::Differs),
    ] {
        let c = of(&counted(published), &runs);
        assert_eq!((c.verdict, c.rule), (expected, Some(Rule::Count)), "{published} {:?}", c.z);
    }
    // What comes in clumps is spread more widely than independent events.
    assert_eq!(of(&counted(150.0), &[100.0, 101.0, 99.0, 100.0]).verdict, Verdict::Differs);
    assert_eq!(of(&counted(150.0), &[60.0, 160.0, 80.0, 120.0]).verdict, Verdict::Agrees);
    // One event in a run, where ours have 0.1 on average, is one run in ten.
    let mut seldom = vec![0.0; 10];
    seldom[0] = 1.0;
    assert_eq!(of(&counted(1.0), &seldom).verdict, Verdict::Agrees);
    assert_eq!(of(&counted(3.0), &seldom).verdict, Verdict::Differs);
    assert_eq!(of(&counted(1.0), &[0.0; 40]).verdict, Verdict::Differs);
}

#[test]
fn the_outcome_of_one_run_is_compared_with_single_runs_of_ours() {
    let largest = Claim { one_run: true, ..claim(Relation::Equal) };
    // A mean of 120 is outside 10 % of 100, but single runs reach from 80 to 160.
    let runs = [80.0, 100.0, 120.0, 140.0, 160.0];
    let c = of(&largest, &runs);
    assert_eq!((c.verdict, c.rule), (Verdict::Agrees, Some(Rule::OneRun)));
    // 20 less 0.05, over 31.6 times the root of 1.2.
    assert!((c.z.unwrap() - 19.95 / (1000.0_f64 * 1.2).sqrt()).abs() < 1e-9);
    assert_eq!(of(&claim(Relation::Equal), &runs).verdict, Verdict::Differs);
    // 10 % is no matter where the spread is known: 105 is near, and none of the runs is.
    let narrow = [104.9, 105.0, 105.1];
    assert_eq!(of(&largest, &narrow).verdict, Verdict::Differs);
    assert_eq!(
        of(&Claim { resolution: Some(5.0), ..largest.clone() }, &narrow).verdict,
        Verdict::Agrees
    );
    // Two runs say nothing of a spread: the tolerance decides.
    assert_eq!(of(&largest, &[80.0, 160.0]).rule, Some(Rule::Tolerance));
    // Few runs do not make it wide: 2.8 is not among runs that have 1000 and 2000.
    let far = Claim { value: 2.8, tolerance: 0.28, ..largest.clone() };
    assert_eq!(of(&far, &[1000.4, 1997.4, 2000.0]).verdict, Verdict::Differs);
    // Nor do many: of 100 runs one was 900.
    let mut many = vec![95.0; 50];
    many.extend([105.0; 49]);
    many.push(900.0);
    assert_eq!(of(&Claim { value: 800.0, ..largest }, &many).verdict, Verdict::Differs);
}

#[test]
fn means_of_several_runs_differ_by_the_spread_of_both() {
    // A deviation of 10.1 in 40 runs of ours and 60 of theirs: 10.1 times the root of 1/40 + 1/60 is 2.07.
    let runs: Vec<f64> = (0..40).map(|i| 105.0 + f64::from(i % 2) * 20.0 - 10.0).collect();
    let means = Claim { of_runs: Some(60), ..claim(Relation::Equal) };
    let c = of(&means, &runs);
    assert_eq!((c.verdict, c.rule), (Verdict::Differs, Some(Rule::Means)));
    assert!((2.38..2.41).contains(&c.z.unwrap()), "{:?}", c.z);
    let rounded = Claim { resolution: Some(2.0), ..means.clone() };
    assert_eq!(of(&rounded, &runs).verdict, Verdict::Agrees);
    // Their own interval, where they print it.
    let printed = Claim { interval: Some(6.0), ..means.clone() };
    assert_eq!(of(&printed, &runs).verdict, Verdict::Agrees);
    assert_eq!(of(&means, &[105.0]).rule, Some(Rule::Tolerance));
}

#[test]
fn what_is_said_in_words_needs_all_of_the_interval() {
    let alike = Claim { in_words: true, ..claim(Relation::Equal) };
    assert_eq!(verdict(&alike, 105.0, 4.9), Verdict::Agrees);
    assert_eq!(verdict(&alike, 105.0, 5.1), Verdict::Differs);
    assert_eq!((alike.text(), alike.kind("a/b")), ("≈ 100.0 ms".into(), Kind::Effect));
}

#[test]
fn percentages_have_a_tolerance_that_fits() {
    let of = |value, unit| default_tolerance(value, unit);
    assert!((of(2.0, Unit::Percent) - 0.2).abs() < 1e-9);
    assert!((of(-60.0, Unit::Percent) - 5.0).abs() < 1e-9);
    assert!((of(60.0, Unit::Milliseconds) - 6.0).abs() < 1e-9);
}

#[test]
fn claims_are_of_four_kinds_and_say_what_decides() {
    let kind = |id, relation| claim(relation).kind(id);
    assert_eq!(kind("pedersen/table3.1", Relation::Equal), Kind::Printed);
    assert_eq!(kind("hurtig/fig8", Relation::Below), Kind::Effect);
    assert_eq!(kind("sarnow/fig5.9", Relation::AtLeast), Kind::Effect);
    assert_eq!(kind("ladha/ns2-transfer", Relation::Equal), Kind::Validation);
    assert_eq!(kind("tresse/rule1", Relation::AtLeast), Kind::Aim);
    let ns2 = Claim { of_ns2: true, ..claim(Relation::Equal) };
    assert_eq!(ns2.kind("ladha/fig3"), Kind::Validation);
    let runs = [99.0, 100.0, 101.0];
    let by = |claim: &Claim| of(claim, &runs).decided_by();
    assert_eq!(by(&claim(Relation::Equal)), "10.0 ms: 10 %, the default");
    let why = Some("half a division of the axis".to_owned());
    let read = Claim { tolerance: 5.0, tolerance_why: why, ..claim(Relation::Equal) };
    assert_eq!(by(&read), "5.0 ms: half a division of the axis");
    assert_eq!(by(&claim(Relation::Above)), "all of the interval");
    let one = Claim {
        one_run: true,
        resolution: Some(4.0),
        resolution_why: Some("a tick".into()),
        ..claim(Relation::Equal)
    };
    assert_eq!(by(&one), "one run; 95 % of ours: 99.0 to 101.0 ms, 4.0 ms more: a tick");
    assert_eq!(
        by(&Claim { counted: true, ..claim(Relation::Equal) }),
        "z: a count of one run against 3 of ours"
    );
    assert_eq!(
        by(&Claim { of_runs: Some(60), ..claim(Relation::Equal) }),
        "z: means of 60 and 3 runs"
    );
}

#[test]
fn a_verdict_says_its_reason() {
    let reason = |claim: Claim, ours: f64| Comparison::new(claim, Some(exact(ours))).reason();
    let equal = claim(Relation::Equal);
    assert_eq!(reason(equal.clone(), 104.0), "4.0 ms away, no more than 10.0 ms");
    let why = Some("a longer queue".to_owned());
    assert_eq!(
        reason(Claim { why, ..equal.clone() }, 120.0),
        "20.0 ms away, more than 10.0 ms; thought: a longer queue"
    );
    assert_eq!(reason(claim(Relation::Below), 90.0), "89.0 to 91.0 ms is all below 100.0 ms");
    assert_eq!(reason(claim(Relation::Above), 100.5), "99.5 to 101.5 ms is not all above 100.0 ms");
    assert_eq!(reason(claim(Relation::AtMost), 120.0), "120.0 ms is more than 100.0 ms + 10.0 ms");
    let words = Claim { in_words: true, ..equal.clone() };
    assert_eq!(reason(words, 100.0), "99.0 to 101.0 ms is all within 10.0 ms of 100.0 ms");
    assert_eq!(Comparison::new(equal, None).reason(), "no run of ours has it");
}

#[test]
fn aims_are_no_published_numbers() {
    assert!(has_aims("tresse/rule1") && !has_aims("pedersen/table3.1"));
    assert_eq!(claim(Relation::Equal).kind("tresse/rule1"), Kind::Aim);
}
