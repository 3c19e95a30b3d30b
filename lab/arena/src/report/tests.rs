use super::*;
use crate::measure::Measures;

fn record(stack: &str, repetition: u32, outcome: Outcome) -> Record {
    let scenario = Scenario::named("bulk-loss").unwrap();
    Record {
        scenario: scenario.id.clone(),
        fingerprint: scenario.fingerprint(),
        stack: stack.into(),
        version: Some("7".into()),
        repetition,
        seed: 1,
        took_s: 1.0,
        late_ms: Some(0.2),
        outcome,
    }
}

fn goodput(kbps: f64) -> Outcome {
    let goodput_kbps = Some(kbps);
    let measures = Measures {
        goodput_kbps,
        associations: 1,
        offered: 10,
        delivered: 9,
        ..Measures::default()
    };
    Outcome::Measured(Box::new(measures))
}

fn report() -> Report {
    let records = [
        record("tresse", 0, goodput(1000.0)),
        record("tresse", 1, goodput(1010.0)),
        record("pion", 0, Outcome::Failed("it fell".into())),
        record("pion", 0, goodput(1500.0)),
        record("pion", 1, goodput(1510.0)),
        record("dcsctp", 0, goodput(500.0)),
        record("dcsctp", 1, Outcome::Failed("it | hung".into())),
        record("linux", 0, Outcome::Missing("not installed".into())),
        record("usrsctp", 0, Outcome::Unsupported("not this".into())),
        Record { fingerprint: 1, ..record("sctp-proto", 0, goodput(9000.0)) },
    ];
    Report::new(&records, vec![Scenario::named("bulk-loss").unwrap()])
}

#[test]
fn the_last_record_of_each_cell_counts_and_who_is_better_is_named() {
    let report = report();
    let rows = report.overview().rows;
    let row = |stack: &str| rows.iter().find(|row| row[0] == stack).unwrap()[1].clone();
    assert_eq!([row("tresse"), row("pion"), row("dcsctp")], ["1005", "1505", "500"]);
    assert_eq!([row("linux"), row("usrsctp"), row("sctp-proto")], ["–", "–", "–"]);
    let beaten = report.beaten().rows;
    assert_eq!(beaten.len(), 1);
    assert_eq!(beaten[0][1], "pion");
    assert!(beaten[0][4].starts_with("better (+49.8 %"), "{beaten:?}");
}

#[test]
fn what_is_missing_or_failed_is_named_with_its_reason() {
    let rows = report().troubles().rows;
    let has = |cells: [&str; 4]| rows.contains(&cells.map(str::to_owned).to_vec());
    assert!(has(["linux", "all", "skipped", "not installed"]), "{rows:?}");
    assert!(has(["usrsctp", "bulk-loss", "impossible", "not this"]));
    assert!(has(["dcsctp", "bulk-loss", "failed", "it | hung"]));
    assert_eq!(rows.len(), 3);
}

#[test]
fn a_page_and_tables_are_written_and_a_file_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let report = report();
    let page = std::fs::read_to_string(report.write(folder.path()).unwrap()).unwrap();
    assert!(page.contains("<svg") && page.contains("pion") && page.contains("it | hung"));
    let markdown = std::fs::read_to_string(folder.path().join(MARKDOWN)).unwrap();
    assert!(markdown.contains("it \\| hung"), "{markdown}");
    let file = folder.path().join("doc.md");
    std::fs::write(&file, format!("above\n{}\nold\n{}\nbelow\n", MARKS[0], MARKS[1])).unwrap();
    report.insert_into(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("above\n") && text.ends_with("\nbelow\n") && !text.contains("old"));
    assert!(text.contains(&markdown));
    std::fs::write(&file, "nothing").unwrap();
    assert!(report.insert_into(&file).is_err());
}
