//! What a host may lack for a network of a test's own.

use std::io::Write as _;

/// Whether a command says that this host lacks a permission, a device or a program; the test is then skipped, and
/// says so in the words of the command, which name what to do.
pub(crate) fn skipped(said: &str) -> bool {
    let lacks = |line: &&str| {
        let lacks = ["are not permitted", "no TAP interfaces", "CAP_NET_RAW", "cannot be run"];
        lacks.iter().any(|lack| line.contains(lack))
    };
    let Some(why) = said.lines().find(lacks) else { return false };
    assert!(std::env::var_os("TRESSE_REQUIRE_PEERS").is_none_or(|value| value != "1"), "{why}");
    let how = ["run as root", "modprobe tun", "CAP_NET_RAW", "apt-get install"];
    assert!(how.iter().any(|how| why.contains(how)), "{why}");
    // Past the capture of the test harness.
    let _ = std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()); // At once: other tests write, too.
    true
}
