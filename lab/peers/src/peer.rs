//! Building and running a peer program, and reading what it says.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// A peer whose libraries or tools are not on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} is not installed ({how})")]
pub struct Unavailable {
    /// What is missing.
    pub what: String,
    /// How to have it.
    pub how: String,
}

impl Unavailable {
    /// `what` is missing, and `how` to have it.
    #[must_use]
    pub fn new(what: &str, how: &str) -> Unavailable {
        Unavailable { what: what.into(), how: how.into() }
    }

    /// Peers are built from what is in the repository.
    fn no_sources() -> Unavailable {
        Unavailable::new("the source of its peer program", "run from where Tresse was built")
    }
}

/// What a peer's stack cannot do, in its own words. A thread panics with it when it waits for a peer
/// that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl Unsupported {
    /// Ends the thread with it, silently: it is no failure that a panic hook should tell of.
    pub fn raise(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}

/// Why a peer did not say what was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Silence {
    /// Its stack cannot do what was asked for; these are its words.
    #[error("{0}")]
    Unsupported(String),
    /// It ended before, having said this.
    #[error("it ended early and said: {0:?}")]
    Ended(Vec<String>),
    /// The time is over; it has said this.
    #[error("it did not say in time what it should; it said: {0:?}")]
    Late(Vec<String>),
}

/// What peers said, for whoever wants to read it after their end.
pub type Words = Arc<Mutex<Vec<String>>>;

/// A file below `conformance/`.
#[must_use]
pub fn conformance(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(name)
}

/// Says that the test of this thread is skipped, on stderr past the capture of the test harness.
///
/// # Panics
/// When `TRESSE_REQUIRE_PEERS=1` is in the environment, as it is in continuous integration.
pub fn skipped(why: &Unavailable) {
    assert!(
        std::env::var_os("TRESSE_REQUIRE_PEERS").is_none_or(|value| value != "1"),
        "{why}, and TRESSE_REQUIRE_PEERS=1 forbids to skip"
    );
    // The harness names each thread after its test.
    let test = thread::current().name().unwrap_or_default().to_owned();
    // One write, so that lines of several threads do not mix. If it fails, the test need not.
    let _ = io::stderr().write_all(format!("skipped: {why}: {test}\n").as_bytes());
}

/// A peer program, ready to run.
#[derive(Clone, Debug)]
pub struct PeerProgram {
    path: PathBuf,
}

impl PeerProgram {
    /// Builds `conformance/interop/usrsctp/peer.c` into `folder` with `cc`.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no C compiler or no libusrsctp.
    ///
    /// # Panics
    /// When the library is there and the program does not compile.
    pub fn usrsctp(folder: &Path) -> Result<PeerProgram, Unavailable> {
        PeerProgram::build(folder, "usrsctp", "usrsctp", "usrsctp.h")
    }

    /// Builds `conformance/interop/linux-uml/peer.c` into `folder` with `cc`.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no C compiler or no libsctp.
    ///
    /// # Panics
    /// When the library is there and the program does not compile.
    pub fn linux(folder: &Path) -> Result<PeerProgram, Unavailable> {
        PeerProgram::build(folder, "linux-uml", "sctp", "netinet/sctp.h")
    }

    /// Builds `conformance/interop/pion` into `folder` with Go.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no Go, or it cannot fetch what the program needs.
    ///
    /// # Panics
    /// When the program does not compile.
    pub fn pion(folder: &Path) -> Result<PeerProgram, Unavailable> {
        if !conformance("interop/pion").exists() {
            return Err(Unavailable::no_sources());
        }
        // The second one is where Go's own archive installs it.
        let go = ["go", "/usr/local/go/bin/go"]
            .into_iter()
            .find(|go| Command::new(go).arg("version").output().is_ok())
            .ok_or_else(|| Unavailable::new("Go", "https://go.dev/dl"))?;
        let run = |arguments: &[&str]| {
            Command::new(go)
                .args(arguments)
                .env("GOFLAGS", "-mod=readonly")
                .current_dir(conformance("interop/pion"))
                .output()
                .expect("go ran a moment ago")
        };
        if !run(&["mod", "download"]).status.success() {
            return Err(Unavailable::new("pion/sctp", "it comes from the Go module proxy"));
        }
        let path = folder.join("pion-peer");
        let output = run(&["build", "-o", &path.display().to_string(), "."]);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the peer on pion does not compile:\n{messages}");
        Ok(PeerProgram { path })
    }

    /// Builds `conformance/interop/peers-rust` with cargo, into its own `target` folder or below
    /// `CARGO_TARGET_DIR`; gives the peers on dcsctp and on sctp-proto.
    ///
    /// # Errors
    /// [`Unavailable`] when cargo cannot fetch the crates.
    ///
    /// # Panics
    /// When the programs do not compile.
    pub fn crates() -> Result<[PeerProgram; 2], Unavailable> {
        let home = conformance("interop/peers-rust");
        if !home.exists() {
            return Err(Unavailable::no_sources());
        }
        let run = |words: &[&str]| {
            Command::new("cargo")
                .args(words)
                .arg("--locked")
                .current_dir(&home)
                .output()
                .map_err(|_| Unavailable::new("cargo", "https://rustup.rs"))
        };
        if !run(&["fetch"])?.status.success() {
            return Err(Unavailable::new("dcsctp and sctp-proto", "they come from crates.io"));
        }
        let shared = std::env::var_os("CARGO_TARGET_DIR");
        let shared = shared.and_then(|folder| std::path::absolute(folder).ok());
        let target = shared.map_or_else(|| home.join("target"), |shared| shared.join("peers-rust"));
        let output = run(&["build", "--release", "--target-dir", &target.display().to_string()])?;
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the peers that are crates do not compile:\n{messages}");
        Ok(["dcsctp-peer", "sctp-proto-peer"]
            .map(|name| PeerProgram { path: target.join("release").join(name) }))
    }

    /// A program that takes the same words as the peers and is there already.
    #[must_use]
    pub fn at(path: PathBuf) -> PeerProgram {
        PeerProgram { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn build(
        folder: &Path,
        name: &str,
        library: &str,
        header: &str,
    ) -> Result<PeerProgram, Unavailable> {
        let source = conformance(&format!("interop/{name}/peer.c"));
        if !source.exists() {
            return Err(Unavailable::no_sources());
        }
        // Another thread or process may build at the same moment: only a whole program gets the name.
        static BUILDS: AtomicU32 = AtomicU32::new(0);
        let build = format!("{}-{}", std::process::id(), BUILDS.fetch_add(1, Ordering::Relaxed));
        let probe = folder.join(format!("{name}-probe-{build}"));
        let library_flag = format!("-l{library}");
        let linked = Command::new("cc")
            .args(["-x", "c", "-", &library_flag, "-o"])
            .arg(&probe)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .and_then(|mut cc| {
                // `cc` may exit before it has read all: its exit status tells.
                let _ =
                    cc.stdin.take().expect("stdin is piped").write_all(
                        format!("#include <{header}>\nint main(void) {{}}\n").as_bytes(),
                    );
                cc.wait()
            })
            .map_err(|_| Unavailable::new("cc", "apt-get install gcc"))?;
        let _ = std::fs::remove_file(&probe);
        if !linked.success() {
            let how = format!("apt-get install lib{library}-dev");
            return Err(Unavailable::new(&format!("lib{library}"), &how));
        }

        let path = folder.join(format!("{name}-peer"));
        let partial = folder.join(format!("{name}-peer-{build}"));
        let output = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra"])
            .arg(&source)
            .args([&library_flag, "-lpthread", "-o"])
            .arg(&partial)
            .output()
            .expect("cc ran a moment ago");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} does not compile:\n{messages}", source.display());
        std::fs::rename(&partial, &path).expect("the folder is writable");
        Ok(PeerProgram { path })
    }

    /// Starts it with `arguments`.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(&self, arguments: &[String]) -> Peer {
        let mut command = Command::new(&self.path);
        command.args(arguments);
        Peer::spawn(command).expect("the program was built a moment ago")
    }
}

/// The lines of `source`, read by a thread of their own.
fn read_lines(source: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// A running peer. If it is a process of this host, it is killed when this value is dropped.
#[derive(Debug)]
pub struct Peer {
    /// `None` for one that runs elsewhere and says `EXIT status` at its end.
    child: Option<Child>,
    lines: Receiver<String>,
    said: Vec<String>,
    kept: Option<Words>,
}

/// The last line of a peer that ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// User bytes that it received and verified.
    pub received: u64,
    /// Messages that it received and verified.
    pub messages: u64,
    /// Sum of their digests.
    pub sum: u64,
    /// User bytes that it sent.
    pub sent: u64,
    /// How the association ended: `shutdown` or `aborted`.
    pub end: String,
}

impl PeerReport {
    fn parse(line: &str) -> Option<PeerReport> {
        let fields: HashMap<&str, &str> = line
            .strip_prefix("OK ")?
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .collect();
        let number = |name: &str| fields.get(name)?.parse().ok();
        Some(PeerReport {
            received: number("received")?,
            messages: number("messages")?,
            sum: u64::from_str_radix(fields.get("sum")?, 16).ok()?,
            sent: number("sent")?,
            end: (*fields.get("end")?).to_owned(),
        })
    }
}

impl Peer {
    /// Starts a peer by a command that somebody else has put together.
    ///
    /// # Errors
    /// Those of starting a process.
    pub fn spawn(mut command: Command) -> io::Result<Peer> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let lines = read_lines(child.stdout.take().expect("stdout is piped"));
        Ok(Peer { child: Some(child), lines, said: Vec::new(), kept: None })
    }

    /// A peer that runs elsewhere, whose output comes over a connection.
    #[cfg(target_os = "linux")]
    pub(crate) fn remote(connection: impl io::Read + Send + 'static) -> Peer {
        Peer { child: None, lines: read_lines(connection), said: Vec::new(), kept: None }
    }

    /// Adds what it says to `words`, at its end.
    pub fn keep(&mut self, words: &Words) {
        self.kept = Some(Arc::clone(words));
    }

    /// Waits until it has ended, and gives its status and what it said before.
    ///
    /// # Panics
    /// When it is no remote one, or `limit` passes.
    pub fn exit(mut self, limit: Duration) -> (String, Vec<String>) {
        let line = self.wait_for("EXIT", limit);
        self.said.pop();
        (line["EXIT".len()..].trim().to_owned(), std::mem::take(&mut self.said))
    }

    /// Waits for a line that begins with `word` and returns it; blocks the thread.
    ///
    /// # Panics
    /// When the peer ends or `limit` passes before it says so; with [`Unsupported`] when it says that.
    pub fn wait_for(&mut self, word: &str, limit: Duration) -> String {
        match self.hear(&[word], Instant::now() + limit) {
            Ok(line) => line,
            Err(Silence::Unsupported(what)) => Unsupported(what).raise(),
            Err(Silence::Late(said)) => {
                panic!("the peer did not say {word} within {limit:?}, but: {said:?}")
            }
            Err(Silence::Ended(said)) => {
                panic!("the peer ended without {word}; it said: {said:?}")
            }
        }
    }

    /// Waits for a line that begins with one of `words` and returns it; blocks the thread.
    ///
    /// # Errors
    /// [`Silence`] when the peer says that it cannot, ends, or has not said so `until` then.
    pub fn hear(&mut self, words: &[&str], until: Instant) -> Result<String, Silence> {
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if let Some(what) = line.strip_prefix("UNSUPPORTED ") {
                        return Err(Silence::Unsupported(what.to_owned()));
                    }
                    if line.split(' ').next().is_some_and(|first| words.contains(&first)) {
                        return Ok(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(Silence::Late(self.said.clone())),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Silence::Ended(self.said.clone()));
                }
            }
        }
    }

    /// Waits until the peer has ended well.
    ///
    /// # Panics
    /// When it fails or `limit` passes.
    pub fn finish(mut self, limit: Duration) -> PeerReport {
        let line = self.wait_for("OK", limit);
        let ended_well = match &mut self.child {
            Some(child) => child.wait().expect("a child can be waited for once").success(),
            None => self.wait_for("EXIT", limit) == "EXIT 0",
        };
        assert!(ended_well, "the peer failed and said: {:?}", self.said);
        PeerReport::parse(&line).unwrap_or_else(|| panic!("the peer said: {line}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if thread::panicking() {
            // It may be about to say why.
            while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(500)) {
                self.said.push(line);
            }
        }
        match &self.kept {
            Some(kept) => kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(std::mem::take(&mut self.said)),
            None if thread::panicking() => println!("the peer said: {:?}", self.said),
            None => {}
        }
        if let Some(child) = &mut self.child {
            // It may have ended by itself: nothing to do then.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_whole_or_not_at_all() {
        let line = "OK received=80 messages=10 sum=00000000000000ff sent=8 end=aborted";
        let report = PeerReport::parse(line).unwrap();
        assert_eq!((report.received, report.messages, report.sent), (80, 10, 8));
        assert_eq!((report.sum, report.end.as_str()), (255, "aborted"));
        assert_eq!(PeerReport::parse("FAIL timeout"), None);
        assert_eq!(PeerReport::parse("OK received=80 messages=10 sent=8 end=aborted"), None);
        assert_eq!(PeerReport::parse(&line.replace("80", "eighty")), None);
    }
}
