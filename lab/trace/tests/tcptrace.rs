//! Retransmission statistics of TCP agree with tcptrace's.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use tresse_trace::{DirectionSummary, Observer, Options, Summary, Trace};

/// Keeps the summaries.
#[derive(Default)]
struct Ended(Vec<Summary>);

impl Observer for Ended {
    fn ends(&mut self, summary: &Summary) {
        self.0.push(summary.clone());
    }
}

/// Rows of `tcptrace -l -r` with the values of both directions, of the only connection.
fn tcptrace(path: &Path) -> Option<BTreeMap<String, [f64; 2]>> {
    let output = Command::new("tcptrace").args(["-l", "-r", "-n"]).arg(path).output().ok()?;
    let mut rows = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // "     rexmt data pkts:          3        rexmt data pkts:          0     "
        let words: Vec<&str> = line.split_whitespace().collect();
        let half = words.len() / 2;
        let value = |at: usize| words.get(at)?.parse::<f64>().ok();
        let ends = [half.checked_sub(1), words.len().checked_sub(1)];
        let number = |at: Option<usize>| at.and_then(value).or(at?.checked_sub(1).and_then(value));
        if let [Some(there), Some(back)] = ends.map(number)
            && let Some((name, _)) = line.trim_start().split_once(':')
        {
            rows.insert(name.to_owned(), [there, back]);
        }
    }
    Some(rows)
}

#[test]
fn retransmissions_agree_with_tcptrace() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/tcp.pcap.gz");
    let mut ended = Ended::default();
    let mut trace = Trace::new(Options::default());
    trace.run(&[&path], &mut ended).expect("a capture");
    assert_eq!(ended.0.len(), 1);
    let Some(theirs) = tcptrace(&path) else {
        let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some();
        assert!(!required, "tcptrace is missing: apt-get install tcptrace");
        let _ =
            writeln!(std::io::stderr(), "skipped: tcptrace is missing: apt-get install tcptrace");
        return;
    };
    let check = |name: &str, own: &dyn Fn(&DirectionSummary) -> f64, tolerance: f64| {
        let own = ended.0[0].directions.each_ref().map(own);
        let theirs = theirs.get(name).unwrap_or_else(|| panic!("tcptrace says nothing of {name}"));
        for (own, theirs) in own.iter().zip(theirs) {
            assert!((own - theirs).abs() <= tolerance, "{name}: {own}, not {theirs}");
        }
        own[0]
    };
    assert!(check("rexmt data pkts", &|d| d.retransmitted as f64, 0.0) > 8.0);
    check("rexmt data bytes", &|d| d.retransmitted_bytes as f64, 0.0);
    check("actual data pkts", &|d| d.data as f64, 0.0);
    check("actual data bytes", &|d| d.data_bytes as f64, 0.0);
    check("max # retrans", &|d| d.most_retransmissions.into(), 0.0);
    // It writes tenths of a millisecond.
    let times = |d: &DirectionSummary| {
        d.since_last.map_or([0.0; 4], |s| [s.min_ms, s.max_ms, s.avg_ms, s.sd_ms])
    };
    check("min retr time", &|d| times(d)[0], 0.051);
    check("max retr time", &|d| times(d)[1], 0.051);
    check("avg retr time", &|d| times(d)[2], 0.051);
    check("sdv retr time", &|d| times(d)[3], 0.051);
}
