//! The `tresse emulate` command. Needs the permission to make network namespaces.
#![cfg(target_os = "linux")]

mod lack;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for what must come.
const LONG: Duration = Duration::from_secs(30);
const PLAIN: &str = "forward = { drop_packets = [2] }\nbackward = {}";

/// A folder with a link file.
struct Links {
    folder: tempfile::TempDir,
}

impl Links {
    /// The file, or `None` where namespaces or TAP interfaces are not to be had.
    fn new(text: &str) -> Option<Links> {
        let links = Links { folder: tempfile::tempdir().unwrap() };
        fs::write(links.file(), PLAIN).unwrap();
        let trial = links.run(&[], &["left:", "true"]);
        if lack::skipped(&said(&trial)) {
            return None;
        }
        assert!(trial.status.success(), "{}", said(&trial));
        fs::write(links.file(), text).unwrap();
        Some(links)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("link.toml")
    }

    fn command(&self, options: &[&str], commands: &[&str]) -> Command {
        let mut tresse = Command::new(env!("CARGO_BIN_EXE_tresse"));
        tresse.arg("emulate").arg(self.file()).args(["--head-start", "0.2"]).args(options);
        tresse.arg("--").args(commands).stdin(Stdio::null());
        tresse
    }

    fn run(&self, options: &[&str], commands: &[&str]) -> Output {
        self.command(options, commands).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends three datagrams to a port that nothing listens on.
const SEND: &str = "for n in 1 2 3; do echo $n >/dev/udp/10.77.0.2/4000; done; sleep 0.2";

#[test]
fn what_passes_is_counted_and_captured() {
    let Some(links) = Links::new(PLAIN) else { return };
    let stats = links.folder.path().join("stats.json");
    let captures = links.folder.path().join("captures");
    let options = ["--stats", stats.to_str().unwrap(), "--capture", captures.to_str().unwrap()];
    let output = links.run(&options, &["left:", "bash", "-c", SEND]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("link0 forward   3 packets in, 2 out, 1 lost"), "{output:?}");
    let stats: serde_json::Value = serde_json::from_slice(&fs::read(stats).unwrap()).unwrap();
    let forward = &stats["links"][0];
    for (key, value) in
        [("offered", 3), ("offered_data", 3), ("dropped_pattern", 1), ("delivered", 2)]
    {
        assert_eq!(forward[key], value, "{key}: {stats}");
    }
    // "Port unreachable", twice.
    assert_eq!(stats["links"][1]["delivered"], 2, "{stats}");
    for side in ["left", "right"] {
        let length = fs::metadata(captures.join(format!("link0-{side}.pcapng"))).unwrap().len();
        assert!(length > 300, "{side}: {length}");
    }
    let output = links.run(&["--stats", "/dev/full"], &["left:", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("/dev/full: No space left"), "{}", said(&output));
}

#[test]
fn the_exit_status_is_that_of_the_commands() {
    let Some(links) = Links::new(PLAIN) else { return };
    let wait = "trap 'echo told; exit 4' TERM; while :; do sleep 0.05; done";
    let forever = ["--", "left:", "sleep", "1000"];
    for (options, commands, code, expected) in [
        (
            &[][..],
            vec!["left:", "sh", "-c", "exit 3"],
            3,
            "left: `sh -c exit 3` ended with status 3",
        ),
        (&[], vec!["left:", "sh", "-c", "kill -SEGV $$"], 139, "was ended by SIGSEGV"),
        (&[], vec!["left:", "no-such-program"], 127, "no-such-program: No such file"),
        (&[], vec!["left:", "sleep", "0.3", "--", "right:", "sh", "-c", wait], 0, ""),
        (
            &[],
            [&["right:", "sh", "-c", "exit 5"][..], &forever].concat(),
            5,
            "right: `sh -c exit 5`",
        ),
        (&["--duration", "0.3"], vec!["left:", "sleep", "1000"], 0, ""),
        (
            &["--keep-going"],
            vec!["right:", "false", "--", "left:", "sleep", "0.3"],
            0,
            "right: `false` ended with status 1",
        ),
    ] {
        let output = links.run(options, &commands);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{commands:?}: {text}");
        assert!(text.contains(expected), "{commands:?}: {text}");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(told.contains("told"), commands.contains(&wait), "{told}");
    }
}

#[test]
fn bad_requests_end_with_status_2_and_one_line() {
    let Some(links) = Links::new("forward = { delay = 5 }\nbackward = {}") else { return };
    for (commands, expected) in [
        (&["left:", "true"][..], "link.toml: line 1: unknown field `delay`"),
        (&["true"], "commands begin with left: or right:"),
        (&["right:", "true"], "a left: command is needed"),
    ] {
        let output = links.run(&[], commands);
        assert_eq!(output.status.code(), Some(2));
        let text = said(&output);
        assert!(text.contains(expected) && text.lines().count() == 1, "{text}");
    }
}

/// A running `tresse emulate` with a command that leaves a child behind, and its network namespace.
fn with_orphans(links: &Links) -> (Child, BufReader<std::process::ChildStdout>, PathBuf) {
    let line = "readlink /proc/self/ns/net; (trap '' TERM; sleep 1000) & sleep 1000";
    let right = ["--", "right:", "sh", "-c", "sleep 1000 & wait"];
    let commands = [&["left:", "sh", "-c", line][..], &right].concat();
    let mut tresse = links.command(&[], &commands).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(tresse.stdout.take().unwrap());
    let mut namespace = String::new();
    stdout.read_line(&mut namespace).unwrap();
    assert!(namespace.starts_with("net:["), "{namespace}");
    (tresse, stdout, PathBuf::from(namespace.trim()))
}

/// Waits until nothing has `namespace` any more.
fn is_gone(namespace: &Path) {
    let deadline = Instant::now() + LONG;
    let used = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path().join("ns/net"));
        link.is_ok_and(|link| link == namespace)
    };
    while fs::read_dir("/proc").unwrap().flatten().any(used) {
        assert!(Instant::now() < deadline, "{} is still in use", namespace.display());
    }
}

#[test]
fn nothing_remains_after_a_kill() {
    let Some(links) = Links::new(PLAIN) else { return };
    for (signal, code) in [("KILL", None), ("TERM", Some(143)), ("INT", Some(130))] {
        let (mut tresse, mut stdout, namespace) = with_orphans(&links);
        let kill = ["-s", signal, &tresse.id().to_string()].map(str::to_owned);
        assert!(Command::new("kill").args(kill).status().unwrap().success());
        assert_eq!(tresse.wait().unwrap().code(), code, "{signal}");
        // It ends when no process is left that could write.
        stdout.read_to_end(&mut Vec::new()).unwrap();
        is_gone(&namespace);
    }
}

#[test]
fn an_ordinary_user_gets_it_or_hears_why_not() {
    let Some(links) = Links::new(PLAIN) else { return };
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) != 0) {
        return; // The other tests are by an ordinary user then.
    }
    // Where everybody can read them.
    let program = links.folder.path().join("tresse");
    fs::copy(env!("CARGO_BIN_EXE_tresse"), &program).unwrap();
    fs::set_permissions(links.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut tresse = Command::new(program);
    tresse.arg("emulate").arg(links.file()).args(["--", "left:", "bash", "-c", SEND]);
    let output = tresse.uid(65_534).gid(65_534).current_dir("/").output().unwrap();
    let text = said(&output);
    match output.status.code() {
        Some(0) => assert!(text.contains("3 packets in, 2 out, 1 lost"), "{text}"),
        Some(2) => assert!(text.contains("run as root") && text.lines().count() == 1, "{text}"),
        other => panic!("{other:?}: {text}"),
    }
}
