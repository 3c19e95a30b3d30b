//! Where a cell is played: an emulated network of its own, the stack at both ends of it, and captures
//! on both sides. What the programs say counts only if they fail.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tresse_emulator::{Emulation, Namespace, Report, Settings, Side};
use tresse_peers::{self as peers, Guest, Lab, Peer, PeerProgram, Silence, Unavailable};

use crate::error::ArenaError;
use crate::measure::measure;
use crate::record::Outcome;
use crate::runner::{Cell, Played, Stage};
use crate::scenario::{Scenario, Service, Traffic};
use crate::stack::{Kind, Stack};

/// How long a stack may take to listen.
const START: Duration = Duration::from_secs(20);
/// Beside the time that is looked at: until the first message is sent, should an INIT be lost.
const HANDSHAKE: Duration = Duration::from_secs(4);
/// UDP ports of the receivers and of the senders, from here on.
const UDP: [u16; 2] = [21_000, 22_000];
/// SCTP ports, likewise, where a stack lets one choose.
const SCTP: [u16; 2] = [5_001, 6_001];
/// pion/sctp uses this one at both ends.
const PION_PORT: u16 = 5_000;
/// More messages than anybody sends.
const ENDLESS: u64 = 1 << 31;
/// What usrsctp uses with all paths at once.
const USRSCTP_CONCURRENT: &str = "cmt,dac";
/// What all use for messages that come in between the fragments of a large one.
const INTERLEAVING: &str = "interleaving";
/// The one that means ECN.
const ECN: &str = "ecn";

/// The peers that were found, and where cells keep their captures.
#[derive(Debug)]
pub struct Theatre {
    /// The command `tresse` itself.
    tresse: PathBuf,
    /// Guests run this.
    guest: Option<Result<PeerProgram, Unavailable>>,
    lab: Lab,
    versions: HashMap<String, String>,
    /// Peers are built into it, and captures are in it while a cell is played.
    folder: tempfile::TempDir,
    /// Captures are kept here, if anywhere.
    captures: Option<PathBuf>,
}

/// The name that the other tests know a peer by.
const fn peer_of(kind: &Kind) -> Option<peers::Stack> {
    match kind {
        Kind::Tresse(_) => None,
        Kind::Linux => Some(peers::Stack::Linux),
        Kind::Usrsctp => Some(peers::Stack::Usrsctp),
        Kind::Pion => Some(peers::Stack::Pion),
        Kind::Dcsctp => Some(peers::Stack::Dcsctp),
        Kind::SctpProto => Some(peers::Stack::SctpProto),
    }
}

impl Theatre {
    /// Builds the peers that `stacks` need. `tresse` is the command itself; captures are kept below
    /// `captures` if that is given.
    ///
    /// # Errors
    /// [`ArenaError::Unavailable`] if the system does not permit network namespaces;
    /// [`ArenaError::Write`] without a folder for temporary files.
    ///
    /// # Panics
    /// When a peer does not compile although all it needs is there.
    pub fn new(
        stacks: &[Stack],
        tresse: PathBuf,
        captures: Option<PathBuf>,
    ) -> Result<Theatre, ArenaError> {
        Namespace::new().map_err(|e| ArenaError::Unavailable(e.to_string()))?;
        let folder = tempfile::tempdir().map_err(ArenaError::write(&std::env::temp_dir()))?;
        let linux = stacks.iter().any(|stack| stack.kind == Kind::Linux);
        let guest = linux.then(|| Guest::program(folder.path()));
        let mut peers: Vec<peers::Stack> = Vec::new();
        for peer in stacks.iter().filter_map(|stack| peer_of(&stack.kind)) {
            if peer != peers::Stack::Linux && !peers.contains(&peer) {
                peers.push(peer);
            }
        }
        let lab = Lab::new(&peers, folder.path(), Duration::ZERO);
        let mut versions = HashMap::new();
        for stack in stacks {
            let version = match peer_of(&stack.kind) {
                None => Some(env!("CARGO_PKG_VERSION").to_owned()),
                // Its guests come later; the kernel says it itself.
                Some(peers::Stack::Linux) => linux_version(),
                Some(peer) => lab.version(peer),
            };
            versions.extend(version.map(|version| (stack.to_string(), version)));
        }
        Ok(Theatre { tresse, guest, lab, versions, folder, captures })
    }

    /// Where the peers and the captures are that are not kept; it goes with this value.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The stacks that are not installed, and how to have them.
    #[must_use]
    pub fn missing(&self, stacks: &[Stack]) -> Vec<(String, String)> {
        let missing =
            |stack: &Stack| Some((stack.to_string(), self.program(stack).err()?.to_string()));
        stacks.iter().filter_map(missing).collect()
    }

    /// What runs at either end.
    fn program(&self, stack: &Stack) -> Result<PeerProgram, Unavailable> {
        match (&stack.kind, peer_of(&stack.kind)) {
            (Kind::Tresse(_), _) | (_, None) => Ok(PeerProgram::at(self.tresse.clone())),
            (Kind::Linux, _) => self.guest.clone().expect("it was asked for at the beginning"),
            (_, Some(peer)) => self.lab.program(peer).cloned(),
        }
    }
}

/// That of user-mode Linux.
fn linux_version() -> Option<String> {
    let said = Command::new("linux").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&said.stdout).lines().next()?.trim().to_owned())
}

impl Stage for Theatre {
    fn play(&self, cell: Cell<'_>) -> Played {
        let program = match self.program(cell.stack) {
            Ok(program) => program,
            Err(missing) => return Outcome::Missing(missing.to_string()).into(),
        };
        let name = format!("{}-{}-{}", cell.scenario.id, cell.stack, cell.repetition);
        let captures = self.captures.as_deref().unwrap_or(self.folder.path()).join(name);
        let played = Play::new(cell, program, &captures).and_then(|play| play.run());
        let played = match played {
            Ok(report) => Played {
                outcome: judged(cell.scenario, &captures),
                late_ms: report.links.iter().map(|link| link.late.p99_us / 1e3).reduce(f64::max),
            },
            Err(outcome) => outcome.into(),
        };
        if self.captures.is_none() {
            // What cannot be removed goes with the folder above.
            let _ = std::fs::remove_dir_all(&captures);
        }
        played
    }

    fn version(&self, stack: &Stack) -> Option<String> {
        self.versions.get(&stack.to_string()).cloned()
    }
}

/// What the captures of a cell say.
fn judged(scenario: &Scenario, folder: &Path) -> Outcome {
    let files = |side: Side| -> Vec<PathBuf> {
        (0..scenario.path_count())
            .map(|path| folder.join(format!("link{path}-{}.pcapng", side.name())))
            .collect()
    };
    let [left, right] = Side::BOTH.map(files);
    match measure(&left, &right, &udp_ports(&scenario.traffic), &scenario.traffic) {
        Ok(measures) if measures.associations == 0 => {
            Outcome::Failed("no association carried any data".into())
        }
        Ok(measures) => Outcome::Measured(Box::new(measures)),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// All UDP ports of a cell.
fn udp_ports(traffic: &Traffic) -> Vec<u16> {
    UDP.iter().flat_map(|first| (0..traffic.associations).map(move |n| first + n)).collect()
}

/// A cell that is played.
struct Play<'a> {
    cell: Cell<'a>,
    program: PeerProgram,
    emulation: Emulation,
    /// Left and right, if the stack is that of a guest.
    guests: Option<[Guest; 2]>,
}

fn failed(error: impl std::fmt::Display) -> Outcome {
    Outcome::Failed(error.to_string())
}

impl<'a> Play<'a> {
    /// Builds the network, and boots guests where the stack needs them.
    fn new(cell: Cell<'a>, program: PeerProgram, captures: &Path) -> Result<Play<'a>, Outcome> {
        let settings = Settings {
            capture: Some(captures.to_owned()),
            udp_ports: udp_ports(&cell.scenario.traffic),
            ..Settings::default()
        };
        let links = cell.scenario.links_of(cell.repetition);
        let emulation = Emulation::start(&links, &settings).map_err(failed)?;
        let mut play = Play { cell, program, emulation, guests: None };
        if cell.stack.kind == Kind::Linux {
            let [left, right] = std::thread::scope(|scope| {
                Side::BOTH
                    .map(|side| {
                        scope.spawn({
                            let play = &play;
                            move || play.boot(side)
                        })
                    })
                    .map(|boot| {
                        boot.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    })
            });
            play.guests = Some([left?, right?]);
        }
        Ok(play)
    }

    /// A guest in the place of a side.
    fn boot(&self, side: Side) -> Result<Guest, Outcome> {
        let folder = self.program.path().parent().expect("it is in a folder");
        Guest::boot_in(&self.emulation, side, folder, self.limit() + 3 * START).map_err(failed)
    }

    /// How long the programs may run.
    fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.cell.scenario.traffic.seconds) + HANDSHAKE + self.stagger()
    }

    /// Associations do not send their bursts at the same moment.
    fn stagger(&self) -> Duration {
        Duration::from_millis(self.cell.scenario.traffic.interval_ms.unwrap_or(0))
    }

    /// Plays it; nothing passes any more afterwards.
    fn run(self) -> Result<Report, Outcome> {
        let associations = self.cell.scenario.traffic.associations;
        let mut receivers = Vec::new();
        for n in 0..associations {
            receivers.push(self.start(Side::Right, n)?);
        }
        let ready = Instant::now() + START;
        for receiver in &mut receivers {
            receiver.hear(&["READY"], ready).map_err(|silence| outcome(&silence, "receiver"))?;
        }
        // From here on the links count time and packets.
        self.emulation.restart();
        let start = Instant::now();
        let end = start + self.limit();
        let mut senders = Vec::new();
        for n in 0..associations {
            let at = start + self.stagger() * u32::from(n) / u32::from(associations);
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            senders.push(self.start(Side::Left, n)?);
        }
        for sender in &mut senders {
            match sender.hear(&["OK", "FAIL"], end) {
                // Its time is over, and what it did is in the captures.
                Err(Silence::Late(_)) => {}
                Err(silence) => return Err(outcome(&silence, "sender")),
                Ok(line) if line.starts_with("FAIL") && line != "FAIL timeout" => {
                    return Err(Outcome::Failed(format!("the sender said: {line}")));
                }
                Ok(_) => {}
            }
        }
        drop((senders, receivers));
        let report = self.emulation.stop();
        if report.captures_complete {
            Ok(report)
        } else {
            Err(Outcome::Failed("the captures are not complete: is the disk full?".into()))
        }
    }

    /// Starts the program of association `n` on a side.
    fn start(&self, side: Side, n: u16) -> Result<Peer, Outcome> {
        let words = self.words(side, n);
        if let Some(guests) = &self.guests {
            let guest = &guests[side as usize];
            guest.enter();
            return Ok(guest.start(&words));
        }
        let mut command = self.emulation.command_in(side, self.program.path());
        command.args(words.split(' '));
        Peer::spawn(command).map_err(|e| Outcome::Failed(format!("the program: {e}")))
    }

    /// The command line of association `n` on a side.
    fn words(&self, side: Side, n: u16) -> String {
        let Cell { scenario, stack, .. } = &self.cell;
        let traffic = &scenario.traffic;
        let list = |side: Side| {
            let paths = 0..self.emulation.path_count();
            paths.map(|p| self.emulation.address(side, p).to_string()).collect::<Vec<_>>().join(",")
        };
        let server = side == Side::Right;
        // Index 0 is the receiver.
        let (own, other) = if server { (0, 1) } else { (1, 0) };
        let port = |end: usize| if stack.kind == Kind::Pion { PION_PORT } else { SCTP[end] + n };
        let messages = traffic.messages.unwrap_or(ENDLESS);
        let (role, send, receive) =
            if server { ("server", 0, messages) } else { ("client", messages, 0) };
        let mut words = match &stack.kind {
            Kind::Tresse(profile) => format!("arena peer {role} --profile {profile}"),
            _ => role.to_owned(),
        };
        words += &format!(
            " --address {} --peer {} --port {} --peer-port {} --send {send} --receive {receive} \
             --size {} --no-delay --timeout {}",
            list(side),
            list(if server { Side::Left } else { Side::Right }),
            port(own),
            port(other),
            traffic.message_bytes,
            (self.limit() + START).as_secs(),
        );
        if self.guests.is_none() {
            words += &format!(" --udp {} --peer-udp {}", UDP[own] + n, UDP[other] + n);
        }
        if let Some(interval) = traffic.interval_ms {
            words += &format!(" --interval {interval} --burst {}", traffic.burst);
        }
        if let Some(service) = &traffic.service {
            words += &given_up(*service, server);
        }
        if let Some(large) = &traffic.large {
            words += &format!(" --first {} --streams {}", large.bytes, large.streams);
        }
        let mut with: Vec<&str> = traffic.large.iter().map(|_| INTERLEAVING).collect();
        with.extend(traffic.ecn.then_some(ECN));
        match (&stack.kind, stack.concurrent) {
            (Kind::Usrsctp, true) => with.push(USRSCTP_CONCURRENT),
            (Kind::Tresse(_), true) => words += " --concurrent",
            _ => {}
        }
        if with.is_empty() { words } else { words + " --with " + &with.join(",") }
    }
}

/// How a program is told that messages may be given up.
fn given_up(service: Service, server: bool) -> String {
    if server {
        return " --partial".into();
    }
    let lifetime = service.lifetime_ms.map(|ms| format!(" --lifetime {ms}"));
    let retransmissions = service.retransmissions.map(|n| format!(" --retransmissions {n}"));
    lifetime.or(retransmissions).unwrap_or_default()
}

/// What it means that a program was silent.
fn outcome(silence: &Silence, who: &str) -> Outcome {
    match silence {
        Silence::Unsupported(what) => Outcome::Unsupported(what.clone()),
        silence => Outcome::Failed(format!("the {who}: {silence}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_of_a_cell_is_one_of_its_own() {
        let mut scenario = Scenario::named("thin-stream").expect("it is built in");
        scenario.traffic.associations = 200;
        let mut ports = udp_ports(&scenario.traffic);
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 400);
    }
}
