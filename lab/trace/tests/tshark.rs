//! Counts agree with tshark's on captures of the simulator, of usrsctp and of the Linux kernel.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tresse_trace::{Options, Trace};

/// Those in `tests/captures` with SCTP.
const CAPTURES: [&str; 3] = ["simulated.pcapng", "usrsctp.pcap.gz", "linux.pcap.gz"];

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

/// What both count.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    data: u64,
    retransmitted: u64,
    sacks: u64,
    gap_blocks: u64,
    duplicates: u64,
}

fn ours(path: &Path) -> Counts {
    let mut trace = Trace::new(Options::default());
    trace.run(&[path], &mut ()).expect("a capture");
    let totals = trace.totals();
    assert_eq!(totals.skipped.iter().collect::<Vec<_>>(), [], "{}", path.display());
    let d = totals.sctp;
    Counts {
        data: d.data,
        retransmitted: d.retransmitted,
        sacks: d.sacks,
        gap_blocks: d.gap_blocks,
        duplicates: d.duplicates,
    }
}

/// `None` where tshark is not installed.
fn theirs(path: &Path) -> Option<Counts> {
    let fields = [
        "sctp.data_tsn_raw",
        "sctp.retransmission",
        "sctp.sack_cumulative_tsn_ack_raw",
        "sctp.sack_number_of_gap_blocks",
        "sctp.sack_number_of_duplicated_tsns",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(path).args(["-T", "fields", "-E", "separator=;"]);
    tshark.args(["-o", "sctp.tsn_analysis:TRUE", "-o", "sctp.ulp_dissection:FALSE"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = Counts::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut columns = line.split(';').map(|column| column.split(',').filter(|v| !v.is_empty()));
        let mut next = || columns.next().expect("as many columns as fields");
        counts.data += next().count() as u64;
        counts.retransmitted += next().count() as u64;
        counts.sacks += next().count() as u64;
        let number = |value: &str| value.parse::<u64>().expect("a number");
        counts.gap_blocks += next().map(number).sum::<u64>();
        counts.duplicates += next().map(number).sum::<u64>();
    }
    Some(counts)
}

#[test]
fn counts_agree_with_tshark() {
    for name in CAPTURES {
        let path = capture(name);
        let own = ours(&path);
        assert!(own.data > 100 && own.retransmitted > 5 && own.gap_blocks > 20, "{name}: {own:?}");
        let Some(others) = theirs(&path) else {
            let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some();
            assert!(!required, "tshark is missing: apt-get install tshark");
            let _ =
                writeln!(std::io::stderr(), "skipped: tshark is missing: apt-get install tshark");
            return;
        };
        assert_eq!(own, others, "{name}");
    }
}
