//! Verdicts, by relation, tolerance and spread.

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
        relation,
        why: None,
        tested: None,
        not_reproducible: None,
        repeats: None,
    }
}

fn verdict(claim: &Claim, value: f64, ci95: f64) -> Verdict {
    let range = [value - 1.0, value + 1.0];
    Comparison::new(claim.clone(), Some(Estimate { value, ci95: Some(ci95), range, runs: 0 }))
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
    let median = |range| Estimate { value: 6.6, ci95: None, range, runs: 0 };
    let of = |range| Comparison::new(none.clone(), Some(median(range))).verdict;
    assert_eq!(of([0.0, 15.0]), Verdict::Differs);
    assert_eq!(of([6.6, 6.6]), Verdict::Agrees);
}

fn exact(value: f64) -> Estimate {
    Estimate { value, ci95: Some(1.0), range: [value; 2], runs: 9 }
}

#[test]
fn of_several_settings_the_nearest_counts() {
    let of = |relation, ours: &[f64]| {
        let ours: Vec<_> = ours.iter().map(|value| (exact(*value), Some(exact(*value)))).collect();
        let c = Comparison::nearest(claim(relation), &ours);
        (c.ours.map(|o| o.value), c.verdict, c.settings)
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
        let settings: Vec<_> = settings.iter().map(|(a, b)| (exact(*a), Some(exact(*b)))).collect();
        Comparison::nearest(claim(Relation::Equal), &settings)
    };
    // By chance: one set of seeds agrees, the other does not, so no setting has it.
    let lucky = of(&[(101.0, 150.0), (300.0, 100.0)]);
    assert_eq!((lucky.verdict, lucky.agrees_nowhere()), (Verdict::Differs, true));
    // A setting that was not the nearest is no reason, but in both sets it agrees, so nothing is ruled out.
    let other = of(&[(101.0, 150.0), (105.0, 105.0)]);
    assert_eq!((other.verdict, other.agrees_nowhere()), (Verdict::Differs, false));
    assert_eq!((lucky.holding, other.holding), (Some(0), Some(1)));
    // As a stored result is.
    let again = lucky.clone().judged_again();
    assert_eq!((again.verdict, again.agrees_nowhere()), (Verdict::Differs, true));
    assert_eq!(lucky.ours.map(|o| o.value), Some(150.0));
    assert_eq!(lucky.chosen.map(|o| o.value), Some(101.0));
    let holds = of(&[(120.0, 100.0), (101.0, 105.0)]);
    assert_eq!((holds.verdict, holds.agrees_nowhere()), (Verdict::Agrees, false));
    let nowhere = of(&[(120.0, 121.0), (200.0, 205.0)]);
    assert_eq!((nowhere.verdict, nowhere.agrees_nowhere()), (Verdict::Differs, true));
    // One setting is no choice, and what other runs do not have at all is not there.
    assert!(!of(&[(120.0, 121.0)]).agrees_nowhere());
    let seldom = [(exact(101.0), None), (exact(150.0), Some(exact(100.0)))];
    let seldom = Comparison::nearest(claim(Relation::Equal), &seldom);
    assert_eq!((seldom.verdict, seldom.agrees_nowhere()), (Verdict::Missing, true));
}

#[test]
fn nothing_at_all_is_not_about_one() {
    let one = Claim { value: 1.0, tolerance: 1.0, unit: Unit::Number, ..claim(Relation::Equal) };
    assert_eq!(verdict(&one, 0.0, 0.0), Verdict::Differs);
    assert_eq!(verdict(&one, 0.2, 0.1), Verdict::Agrees);
    let zero = Claim { value: 0.0, ..one };
    assert_eq!(verdict(&zero, 0.0, 0.0), Verdict::Agrees);
}

#[test]
fn counts_are_compared_by_their_own_spread() {
    // One run that counts 100 on average counts between 80 and 120.
    let counted = |value| Claim { value, counted: true, tolerance: 0.0, ..claim(Relation::Equal) };
    for (published, expected) in
        [(81.0, Verdict::Agrees), (119.0, Verdict::Agrees), (121.0, Verdict::Differs)]
    {
        assert_eq!(verdict(&counted(published), 100.0, 0.5), expected, "{published}");
    }
    assert_eq!(counted(1.0).tolerance_text(), "95 % of counts");
}

#[test]
fn the_outcome_of_one_run_is_compared_with_single_runs_of_ours() {
    let of =
        |claim: &Claim, runs: &[f64]| Comparison::new(claim.clone(), Estimate::of(runs)).verdict;
    let largest = Claim { one_run: true, ..claim(Relation::Equal) };
    // A mean of 120 is outside 10 % of 100, but single runs reach from 80 to 160.
    let runs = [80.0, 100.0, 120.0, 140.0, 160.0];
    assert_eq!(of(&largest, &runs), Verdict::Agrees);
    assert_eq!(of(&claim(Relation::Equal), &runs), Verdict::Differs);
    assert_eq!(of(&largest, &[119.0, 120.0, 121.0]), Verdict::Differs);
    assert_eq!(of(&largest, &[80.0, 160.0]), Verdict::Differs, "two say nothing of a spread");
    // Few runs do not make it wide: 2.8 is not among runs that have 1000 and 2000.
    let far = Claim { value: 2.8, tolerance: 0.28, ..largest.clone() };
    assert_eq!(of(&far, &[1000.4, 1997.4, 2000.0]), Verdict::Differs);
    // What comes in clumps is spread more widely than a Poisson distribution.
    let clumps = Claim { counted: true, value: 150.0, ..claim(Relation::Equal) };
    assert_eq!(of(&clumps, &[100.0, 101.0, 99.0, 100.0]), Verdict::Differs);
    assert_eq!(of(&clumps, &[60.0, 160.0, 80.0, 120.0]), Verdict::Agrees);
    // One event in a run, where ours have 0.1 on average, is one run in ten.
    let mut seldom = vec![0.0; 10];
    seldom[0] = 1.0;
    assert_eq!(of(&Claim { value: 1.0, ..clumps.clone() }, &seldom), Verdict::Agrees);
    assert_eq!(of(&Claim { value: 3.0, ..clumps }, &seldom), Verdict::Differs);
}

#[test]
fn claims_are_of_four_kinds_and_say_where_their_tolerance_comes_from() {
    let kind = |id, relation| claim(relation).kind(id);
    assert_eq!(kind("pedersen/table3.1", Relation::Equal), Kind::Printed);
    assert_eq!(kind("hurtig/fig8", Relation::Below), Kind::Effect);
    assert_eq!(kind("sarnow/fig5.9", Relation::AtLeast), Kind::Effect);
    assert_eq!(kind("ladha/ns2-transfer", Relation::Equal), Kind::Validation);
    assert_eq!(kind("tresse/rule1", Relation::AtLeast), Kind::Aim);
    assert_eq!(claim(Relation::Equal).tolerance_text(), "10 %: default");
    let why = Some("half a division of the axis".to_owned());
    let read = Claim { tolerance: 5.0, tolerance_why: why, ..claim(Relation::Equal) };
    assert_eq!(read.tolerance_text(), "5.0 ms: half a division of the axis");
}
