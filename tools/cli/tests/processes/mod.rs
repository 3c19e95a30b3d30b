//! The `tresse` command as processes that do not outlive their test.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// Retransmission timers for hosts that are microseconds apart, and few tries.
pub(crate) const IMPATIENT: [&str; 10] = [
    "--set",
    "rto.initial_ms=50",
    "--set",
    "rto.min_ms=50",
    "--set",
    "rto.max_ms=100",
    "--set",
    "limits.association_max_retrans=3",
    "--set",
    "limits.path_max_retrans=2",
];

pub(crate) fn tresse(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    command.arg("perf").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A process that does not outlive its test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub(crate) fn start(arguments: &[&str]) -> Process {
        Process(tresse(arguments).spawn().unwrap())
    }

    /// Waits for its end. Its output is small enough for the pipes.
    pub(crate) fn end(mut self) -> Output {
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => panic!("the process does not end"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut output = Output { status, stdout: Vec::new(), stderr: Vec::new() };
        if let Some(mut stdout) = self.0.stdout.take() {
            stdout.read_to_end(&mut output.stdout).unwrap();
        }
        self.0.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
        output
    }

    #[cfg(unix)]
    pub(crate) fn interrupt(&self) {
        let kill = format!("kill -INT {}", self.0.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

/// A server, and the address to give to clients.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: String,
}

impl Server {
    /// Starts one on a free port and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Server {
        let mut all = vec!["server", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        let mut process = Process::start(&all);
        // Not through a buffered reader: the rest is read at the end.
        let mut line = Vec::new();
        let stdout = process.0.stdout.as_mut().unwrap();
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            assert_eq!(stdout.read(&mut byte).unwrap(), 1, "the server ended");
            line.push(byte[0]);
        }
        let line = String::from_utf8(line).unwrap();
        let address = line.split("UDP ").nth(1).and_then(|rest| rest.split(',').next());
        Server { process, address: address.unwrap().to_owned() }
    }

    pub(crate) fn client(&self, arguments: &[&str]) -> Process {
        let mut all = vec!["client", &self.address];
        all.extend(arguments);
        Process::start(&all)
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The one line of a process that failed with this code.
pub(crate) fn failure(output: &Output, code: i32) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("tresse: "), "{error}");
    error
}
