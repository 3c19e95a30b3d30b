//! Programs that have an engine each (`tresse run`), and how these end.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tresse_peers::{free_udp_port, skipped};

use super::{With, Workshop, program};

/// `tresse run` with a program.
struct Engine {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Engine {
    fn start(workshop: &Workshop, (own, peer): (u16, u16), program: &mut Command) -> Engine {
        let mut command = Command::new(workshop.built.join("tresse"));
        command.arg("run").arg("--preload").arg(workshop.built.join("libtresse_preload.so"));
        command.args(["--local", "127.0.0.1", "--udp-port", &own.to_string()]);
        command.args(["--encap-port", &peer.to_string(), "--"]);
        command.arg(program.get_program()).args(program.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).env_remove("TRESSE_ENGINE");
        let mut process = command.spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        Engine { process, said }
    }

    /// The next line that the program says.
    fn line(&mut self) -> String {
        self.said.next().expect("it says more").unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Its exit status, and how long that took.
    fn end(&mut self) -> (Option<i32>, Duration) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.process.try_wait().unwrap() {
                return (status.code(), begin.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it does not end");
    }

    fn runs(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The workshop, if programs can be built for `tresse run`.
fn workshop() -> Option<&'static Workshop> {
    let workshop = Workshop::get()?;
    workshop.lksctp.as_ref().inspect_err(|why| skipped(why)).ok()?;
    Some(workshop)
}

/// Both have the same address and SCTP port, as the NAT of RFC 6951 §4.1 leaves them: their UDP ports differ.
#[test]
fn peers_behind_one_nat_get_their_own_answers() {
    let Some(workshop) = workshop() else { return };
    let nat = workshop.build(&program("nat.c"), With::Preload, &[]);
    let [ours, one, two] = [(); 3].map(|()| free_udp_port().unwrap());
    let mut server = Engine::start(workshop, (ours, ours), &mut Command::new(&nat));
    assert_eq!(server.line(), "ready");
    let mut clients = [(one, "one"), (two, "two")]
        .map(|(own, name)| Engine::start(workshop, (own, ours), Command::new(&nat).arg(name)));
    for client in &mut clients {
        assert_eq!(client.end().0, Some(0));
    }
    assert_eq!(server.end().0, Some(0));
}

/// A server, and a client that has an association with it and does nothing; with the client's process.
fn associated(workshop: &Workshop) -> (Engine, Engine, Pid) {
    let stays = workshop.build(&program("stays.c"), With::Preload, &[]);
    let [ours, theirs] = [(); 2].map(|()| free_udp_port().unwrap());
    let mut server = Engine::start(workshop, (ours, ours), &mut Command::new(&stays));
    assert_eq!(server.line(), "ready");
    let mut client = Engine::start(workshop, (theirs, ours), Command::new(&stays).arg("client"));
    let pid = Pid::from_raw(client.line().parse().unwrap()).unwrap();
    assert_eq!(server.line(), "accepted");
    (server, client, pid)
}

/// Whoever asks `tresse run` to end waits for peers that do not answer, but not for long.
#[test]
fn an_engine_that_is_asked_to_end_ends_soon() {
    let Some(workshop) = workshop() else { return };
    for signal in [Signal::TERM, Signal::INT] {
        let (mut server, mut client, _) = associated(workshop);
        server.signal(Signal::STOP);
        client.signal(signal);
        let (code, took) = client.end();
        assert_eq!(code, Some(128 + signal.as_raw()));
        assert!(took < Duration::from_secs(5), "{took:?}");
        server.signal(Signal::CONT);
        assert!(["shut down", "Connection reset by peer"].contains(&&*server.line()));
        assert_eq!(server.end().0, Some(0));
    }
}

/// A second signal is for the engine: it waits no longer, and tells its peers.
#[test]
fn an_engine_that_is_asked_twice_ends_at_once() {
    let Some(workshop) = workshop() else { return };
    let (mut server, mut client, pid) = associated(workshop);
    server.signal(Signal::STOP);
    // Nobody has asked the engine: its associations have half a minute.
    kill_process(pid, Signal::KILL).unwrap();
    std::thread::sleep(Duration::from_secs(6));
    assert!(client.runs());
    client.signal(Signal::TERM);
    let (code, took) = client.end();
    assert_eq!(code, Some(128 + Signal::KILL.as_raw()));
    assert!(took < Duration::from_secs(2), "{took:?}");
    server.signal(Signal::CONT);
    assert!(["shut down", "Connection reset by peer"].contains(&&*server.line()));
}

/// `kill -9` of a program: its associations end as those of a kernel would.
#[test]
fn a_program_that_is_killed_leaves_nothing() {
    let Some(workshop) = workshop() else { return };
    let (mut server, mut client, pid) = associated(workshop);
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(server.line(), "shut down");
    let (code, took) = client.end();
    assert_eq!(code, Some(128 + Signal::KILL.as_raw()));
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(server.end().0, Some(0));
}
