//! Experiment files: those that are built in, and mistakes in those of users.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use tresse_lab::comparison::{self, Claim};
use tresse_lab::experiment::{self, Kind};
use tresse_lab::single_loss::plan::plan;
use tresse_lab::single_loss::{Measure, SingleLoss};
use tresse_lab::{AnyExperiment, Experiment, LabError, Overrides, Session};

/// The experiment as one of a single loss.
fn single_loss(experiment: AnyExperiment) -> Experiment<SingleLoss> {
    match experiment.kind {
        Kind::SingleLoss(kind) => Experiment { common: experiment.common, kind: *kind },
        Kind::Flow(_) => panic!("{} is a flow", experiment.common.id),
    }
}

const FIG2: &str = include_str!("../experiments/hurtig/fig2.toml");

#[test]
fn every_file_is_built_in_and_stands_under_its_id() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut files = BTreeSet::new();
    for paper in std::fs::read_dir(&root).unwrap() {
        for file in std::fs::read_dir(paper.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let id = path.strip_prefix(&root).unwrap().with_extension("");
            assert_eq!(experiment::load_file(&path).unwrap().id(), id.to_str().unwrap());
            files.insert(id.to_str().unwrap().to_owned());
        }
    }
    let built_in: BTreeSet<String> = experiment::ids().map(str::to_owned).collect();
    assert_eq!(files, built_in);
    for e in experiment::built_in().unwrap() {
        assert!(!e.common.summary.is_empty() && !e.common.notes.is_empty(), "{}", e.id());
        assert_eq!(experiment::find(e.id()).unwrap().id(), e.id());
        assert!(Session::new(e.id(), &Overrides::default()).unwrap().runs() > 0);
    }
}

#[test]
fn figure_2_is_what_the_paper_describes() {
    let e = single_loss(experiment::find("hurtig/fig2").unwrap());
    let runs = plan(&e).unwrap();
    // 40 measured positions and a run without loss for each of six senders.
    assert_eq!(runs.len(), 6 * 41);
    for run in &runs {
        let p = &run.setup.profile;
        assert_eq!((p.rto.initial_ms, p.rto.min_ms, p.rto.max_ms), (200.0, 100.0, 400.0));
        assert_eq!(p.sack.delay_ms, 40.0);
        assert_eq!(run.schedule.len(), 48);
        assert!(run.dropped().is_none_or(|m| m.measured && m.burst > 2));
    }
    assert_eq!(runs[0].setup.profile.fast_retransmit.threshold, 4);
    let published: Vec<f64> = e
        .kind
        .published
        .iter()
        .filter(|p| matches!(p.measure, Measure::Reduction(_)))
        .map(|p| p.value)
        .collect();
    assert_eq!(published, [41.0, 64.0, 64.0]);
}

#[test]
fn keys_are_unique_and_change_with_what_decides_a_run() {
    let keys = |overrides: &Overrides| -> HashSet<String> {
        let mut e = experiment::find("hurtig/fig2").unwrap();
        overrides.apply(&mut e).unwrap();
        plan(&single_loss(e)).unwrap().into_iter().map(|run| run.key).collect()
    };
    let own = keys(&Overrides::default());
    assert_eq!(own.len(), 6 * 41);
    assert_eq!(own, keys(&Overrides::default()));
    let seed = Overrides { seed: Some(2), ..Overrides::default() };
    assert!(own.is_disjoint(&keys(&seed)));
    let parameter = Overrides { parameters: vec!["rto.min_ms=150".into()], ..Overrides::default() };
    assert!(own.is_disjoint(&keys(&parameter)));
    // A further profile leaves the runs of the others valid.
    let profile = Overrides { profiles: vec!["rfc2960".into()], ..Overrides::default() };
    let more = keys(&profile);
    assert!(own.is_subset(&more) && more.len() == 7 * 41);
}

fn mistake(from: &str, to: &str) -> String {
    assert!(FIG2.contains(from), "{from}");
    let error = experiment::parse("my.toml", &FIG2.replacen(from, to, 1)).unwrap_err();
    assert!(matches!(error, LabError::Experiment { .. }));
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn mistakes_name_the_file_the_line_and_the_key() {
    let line = |needle: &str| 1 + FIG2.lines().position(|l| l.starts_with(needle)).unwrap();

    let unknown = mistake("gap_ms = 200", "gap = 200");
    assert!(unknown.starts_with(&format!("my.toml:{}: ", line("gap_ms"))), "{unknown}");
    assert!(unknown.contains("there is no key gap here; allowed: count"), "{unknown}");
    assert!(unknown.contains("workload.bursts.gap"), "{unknown}");

    let wrong_type = mistake("count = 12", "count = 'twelve'");
    assert!(wrong_type.starts_with(&format!("my.toml:{}: ", line("count"))), "{wrong_type}");
    assert!(wrong_type.contains("(key workload.bursts.count)"), "{wrong_type}");

    let not_toml = mistake("[topology]", "[topology");
    assert!(not_toml.starts_with("my.toml:"), "{not_toml}");

    let missing = mistake("title = ", "# title = ");
    assert!(missing.contains("the key title is missing"), "{missing}");

    // What every experiment has and what its kind has are read apart, and reported alike.
    let unknown = mistake("title = ", "titel = ");
    assert!(unknown.starts_with(&format!("my.toml:{}: ", line("title"))), "{unknown}");
    assert!(
        unknown.contains("there is no key titel here; did you mean title?; allowed: kind, id"),
        "{unknown}"
    );
    assert!(unknown.contains(" workload,") && unknown.ends_with("(key titel)"), "{unknown}");
    let deep = mistake("authors = ", "author = ");
    assert!(deep.starts_with(&format!("my.toml:{}: ", line("authors"))), "{deep}");
    assert!(deep.contains("there is no key author here; did you mean authors?"), "{deep}");
    let of_a_flow = mistake("title = ", "observe = {}\ntitle = ");
    assert!(of_a_flow.starts_with(&format!("my.toml:{}: ", line("title"))), "{of_a_flow}");
    assert!(of_a_flow.ends_with("(key observe)"), "{of_a_flow}");
    let kind = mistake("title = ", "kind = 'flwo'\ntitle = ");
    assert!(kind.starts_with(&format!("my.toml:{}: ", line("title"))), "{kind}");
    assert!(kind.contains("\"flwo\" is not allowed; allowed: single-loss, flow"), "{kind}");
    assert!(kind.ends_with("(key kind)"), "{kind}");
}

#[test]
fn values_that_cannot_work_are_refused() {
    for (from, to, key) in [
        ("id = \"hurtig/fig2\"", "id = \"../up\"", "id"),
        ("bandwidth_kbps = [2000]", "bandwidth_kbps = []", "topology.bandwidth_kbps"),
        ("delay_ms = [15]", "delay_ms = [-1]", "topology.delay_ms[0]"),
        ("delay_ms = [15]", "delay_ms = [15, 15]", "topology.delay_ms[1]"),
        ("delay_ms = [15]", "delay_ms = [5, 15]", "published[0].measure.reduction.delay_ms"),
        ("name = \"lksctp-2.6.15\"", "name = \"lksctp-9\"", "profile[0].name"),
        ("min_ms = 100", "minimum_ms = 100", "parameters"),
        ("min_ms = 100", "min_ms = 1000", "parameters"),
        ("label = \"Early Retransmit\"", "label = \"Standard\"", "profile[1].label"),
        ("ignore = 2", "ignore = 12", "workload.bursts.ignore"),
        ("size = 4", "size = 0", "workload.bursts.size"),
        ("size = 4", "size = { uniform = [7, 1] }", "workload.bursts.size"),
        ("gap_ms = 200", "gap_ms = nan", "workload.bursts.gap_ms"),
        ("message_bytes = 800", "message_bytes = 3", "workload.bursts.message_bytes"),
        ("message_bytes = 800", "message_bytes = 1453", "workload.bursts.message_bytes"),
        ("[topology]", "[association]\nbundling = true\n[topology]", "association.bundling"),
        ("file = \"fig2\"", "file = \"../fig2\"", "plot[0].file"),
        ("series = [\"Standard\", ", "series = [\"standard\", ", "plot[0].series"),
        ("forward.queue_packets = 50", "forward.loss = 2.0", "topology.forward.loss"),
        (
            "reduction = { series = \"Early Retransmit\"",
            "reduction = { series = \"Standard\"",
            "published[0].measure.reduction.series",
        ),
    ] {
        let text = mistake(from, to);
        assert!(text.ends_with(&format!("(key {key})")), "{to}: {text}");
    }
}

#[test]
fn random_workloads_are_understood_and_wrong_ones_explained() {
    let text = FIG2.replacen("size = 4", "size = { uniform = [1, 7] }", 1).replacen(
        "gap_ms = 200",
        "gap_ms = { exponential = 200 }",
        1,
    );
    experiment::parse("my.toml", &text).unwrap();
    let wrong = mistake("size = 4", "size = { normal = [1, 7] }");
    assert!(wrong.contains("{ uniform = [low, high] }"), "{wrong}");
}

#[test]
fn unknown_ids_are_answered_with_those_that_are_near() {
    for (name, near) in [
        ("hurtig/fig22", "did you mean hurtig/fig2"),
        ("fig9", "did you mean"),
        ("hurtig/fgi5", "did you mean hurtig/fig5?"),
        ("nothing-like-it", "`tresse lab list` shows all"),
    ] {
        let error = experiment::find(name).unwrap_err().to_string();
        assert!(error.contains(near) && !error.contains('\n'), "{error}");
    }
    let error = experiment::find("./no-such.toml").unwrap_err().to_string();
    assert!(error.starts_with("cannot read ./no-such.toml: "), "{error}");
}

#[test]
fn overrides_are_checked() {
    let apply = |overrides: Overrides| {
        let mut e = experiment::find("hurtig/fig2").unwrap();
        overrides.apply(&mut e).map(|()| single_loss(e))
    };
    let set = |text: &str| Overrides { parameters: vec![text.into()], ..Overrides::default() };
    for (text, word) in [
        ("rto.minimum_ms=3", "minimum_ms"),
        ("rto.min_ms=x", "rto.min_ms=x"),
        ("rto.min_ms", "key=value"),
        ("rto.max_ms=50", "rto.min_ms"),
        ("sack.delay_ms=501", "sack.delay_ms"),
    ] {
        let error = apply(set(text)).unwrap_err().to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{text}: {error}");
    }
    for (text, word) in [
        ("workload.bursts.message_bytes=x", "workload.bursts.message_bytes"),
        ("workload.bursts.message_bytes=3", "(key workload.bursts.message_bytes)"),
        ("workload.bursts.bytes=300", "there is no workload.bursts.bytes"),
        ("topology.delay_ms=15", "topology.delay_ms"),
    ] {
        let error = apply(set(text)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--set {text}: ")), "{text}: {error}");
        assert!(error.contains(word) && !error.contains('\n'), "{text}: {error}");
    }
    let e = apply(set("workload.bursts.message_bytes=600")).unwrap();
    assert_eq!(e.kind.bursts().message_bytes, 600);
    assert_eq!(e.kind.published.len(), experiment::find("hurtig/fig2").unwrap().claims().len());
    // Published numbers that hold for another network are not compared.
    let e = apply(set("topology.delay_ms=[5, 10]")).unwrap();
    assert_eq!((e.kind.cells().len(), e.kind.published.len()), (2, 0));
    let e = apply(set("rto.min_ms=150")).unwrap();
    assert_eq!(plan(&e).unwrap()[0].setup.profile.rto.min_ms, 150.0);

    let profiles = |name: &str| Overrides { profiles: vec![name.into()], ..Overrides::default() };
    let error = apply(profiles("warp")).unwrap_err().to_string();
    assert!(
        error.contains("unknown profile \"warp\"") && error.contains("lab profiles"),
        "{error}"
    );
    let e = apply(profiles("rfc9260+limited-transmit")).unwrap();
    assert!(e.common.profiles.last().unwrap().extra);
    assert!(e.kind.plots.last().unwrap().series.contains(&"rfc9260+limited-transmit".to_owned()));
    // One that is there already changes nothing.
    assert_eq!(apply(profiles("rfc9260")).unwrap().common.profiles.len(), 6);
}

#[test]
fn tolerances_have_a_reason_and_no_number_counts_twice() {
    let all: BTreeMap<String, Vec<Claim>> =
        experiment::built_in().unwrap().iter().map(|e| (e.id().to_owned(), e.claims())).collect();
    let mut repeats = 0;
    for (id, claims) in &all {
        for claim in claims {
            let Some(other) = &claim.repeats else { continue };
            repeats += 1;
            let same = |c: &&Claim| {
                c.repeats.as_deref().is_none_or(|other| other == comparison::ABOVE)
                    && (c.value, c.unit) == (claim.value, claim.unit)
            };
            if other == comparison::ABOVE {
                // The same number, or the same difference in another unit or as an ordering.
                let again = |c: &&Claim| {
                    c.what != claim.what
                        && ((c.value, c.unit) == (claim.value, claim.unit)
                            || c.place == claim.place)
                };
                assert!(claims.iter().any(|c| again(&c)), "{id}: {}", claim.what);
            } else {
                assert!(all[other].iter().any(|c| same(&c)), "{id}: {} in {other}", claim.what);
            }
        }
    }
    assert!(repeats > 15, "{repeats}");
    // An average with a fraction belongs to one table only; extremes may well be the same tick.
    let mut owners: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (id, claims) in all.iter().filter(|(id, _)| id.starts_with("pedersen/")) {
        let counted = claims
            .iter()
            .filter(|c| c.repeats.is_none() && c.kind(id) == comparison::Kind::Printed);
        let averages = counted.filter(|c| c.what.ends_with("average"));
        for claim in averages.filter(|c| c.value.fract() != 0.0) {
            let key = (claim.unit.name(), claim.value.to_string());
            let owner = *owners.entry(key).or_insert(id);
            assert_eq!(owner, id, "{} is counted in both", claim.what);
        }
    }
}

#[test]
fn a_tested_reason_names_an_experiment_with_the_same_row() {
    let all: BTreeMap<String, Vec<Claim>> =
        experiment::built_in().unwrap().iter().map(|e| (e.id().to_owned(), e.claims())).collect();
    for (id, claims) in &all {
        for claim in claims {
            let evidence = claim.tested.as_ref().or(claim.not_reproducible.as_ref());
            let Some(tested) = evidence else { continue };
            assert!(claim.why.is_some(), "{id}: {}: what is the reason?", claim.what);
            let rows = all.get(tested).unwrap_or_else(|| panic!("{id}: no experiment {tested}"));
            assert!(
                rows.iter().any(|row| row.what == claim.what && row.value == claim.value),
                "{tested}: no \"{}\"",
                claim.what
            );
        }
    }
}

#[test]
fn what_was_inferred_names_its_key_and_what_it_was_fitted_on() {
    let mut fitted = 0;
    for e in experiment::built_in().unwrap() {
        for inferred in &e.common.inferred {
            let ids = &inferred.from;
            assert!(ids.iter().all(|id| experiment::find(id).is_ok()), "{}: {ids:?}", e.id());
            let whole = serde_json::to_value(&e).unwrap();
            let held = whole.pointer(&format!("/{}", inferred.key.replace('.', "/")));
            assert!(held.is_some_and(|v| !v.is_null()), "{}: {}", e.id(), inferred.key);
            fitted += usize::from(!ids.is_empty());
        }
    }
    assert!(fitted >= 10, "{fitted}");
}
