//! `tresse top` beside a process that serves its metrics.

use std::io::Read as _;
use std::process::Command;
use std::time::Instant;

use crate::processes::{Process, Server, TIMEOUT, failure, text};

/// Where a process serves its metrics, as it says on its standard error.
fn metrics_address(process: &mut Process) -> String {
    let mut line = String::new();
    let mut byte = [0];
    let stderr = process.0.stderr.as_mut().unwrap();
    while !line.ends_with('\n') {
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "the process ended: {line}");
        line.push(char::from(byte[0]));
    }
    let rest = line.strip_prefix("metrics on http://").unwrap_or_else(|| panic!("{line}"));
    rest.split('/').next().unwrap().to_owned()
}

#[test]
fn top_shows_the_associations_of_a_running_server() {
    let mut server = Server::start(&["--metrics", "0"]);
    let address = metrics_address(&mut server.process);
    let client = server.client(&["--duration", "60", "--rate", "1M"]);
    let top = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
        let output = command.args(["top", &address, "--once", "-i", "100ms"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let deadline = Instant::now() + TIMEOUT;
    let table = loop {
        let table = top();
        if table.contains("active") {
            break table;
        }
        assert!(Instant::now() < deadline, "{table}");
    };
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("1 association,"), "{table}");
    assert!(lines[1].starts_with("ASSOC") && lines[1].contains("QUEUE"), "{table}");
    assert!(lines[2].contains("127.0.0.1"), "{table}");
    drop((client, server));

    let mut nobody = Command::new(env!("CARGO_BIN_EXE_tresse"));
    let output = nobody.args(["top", "127.0.0.1:1", "--once"]).output().unwrap();
    assert!(failure(&output, 1).contains("127.0.0.1:1"));
}

/// In a terminal of its own, as somebody would look at it.
#[cfg(target_os = "linux")]
#[test]
fn top_gives_the_terminal_back_when_it_is_killed() {
    use std::fs::File;
    use std::os::unix::process::ExitStatusExt as _;

    use nix::pty::{Winsize, openpty};

    let mut server = Server::start(&["--metrics", "0"]);
    let address = metrics_address(&mut server.process);
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
        command.args(["top", &address, "-i", "100ms"]).env("TERM", "xterm");
        command.stdin(terminal.slave.try_clone().unwrap());
        command.stdout(terminal.slave.try_clone().unwrap()).stderr(terminal.slave);
        let mut top = Process(command.spawn().unwrap());
        // It holds the terminal as well.
        drop(command);
        let mut screen = File::from(terminal.master);
        let mut shown = String::new();
        let mut some = [0; 4096];
        while !shown.contains("q: quit") {
            let length = screen.read(&mut some).unwrap();
            shown.push_str(&String::from_utf8_lossy(&some[..length]));
        }
        assert!(shown.contains("\x1b[?1049h"), "it has a screen of its own");
        let kill = format!("kill -{name} {}", top.0.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert_eq!(top.0.wait().unwrap().signal(), Some(number), "it ends of the signal");
        // What it wrote is there until the terminal has no other end.
        let mut last = String::new();
        while let Ok(length @ 1..) = screen.read(&mut some) {
            last.push_str(&String::from_utf8_lossy(&some[..length]));
        }
        assert!(last.contains("\x1b[?1049l") && !last.ends_with("\x1b[?1049h"), "{last:?}");
    }
}
