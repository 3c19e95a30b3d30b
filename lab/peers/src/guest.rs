//! A guest with a kernel of its own that has SCTP: user-mode Linux, in a network namespace.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tresse_emulator::{self as emulator, Emulation, Side};

use crate::namespace::{Namespace, command};
use crate::peer::conformance;
use crate::{Peer, PeerProgram, Unavailable};

/// Boots in two or three seconds on an idle machine.
const BOOT_LIMIT: Duration = Duration::from_secs(60);

/// How long a command in the guest may take that is not a peer.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(20);

/// The MTU of an interface, if nothing else is said.
pub(crate) const ETHERNET: u16 = 1_500;

/// The MTU of one for large packets.
pub const WIDE: u16 = 9_000;

/// TCP port of the agent in the guest.
const AGENT_PORT: u16 = 7000;

/// A running guest, and the network namespace from which it is reached. On interface N, from 0 on, the
/// host has the addresses 10.99.N.1 and fd99:N::1, the guest 10.99.N.2 and fd99:N::2; or the guest
/// stands in the place of one side of an emulation ([`boot_in`](Guest::boot_in)).
///
/// The guest powers off when this value is dropped, or the process has gone.
#[derive(Debug)]
pub struct Guest {
    namespace: Namespace,
    program: PeerProgram,
    /// Where it takes commands.
    agent: SocketAddr,
    /// While it is open the guest runs.
    _keeper: TcpStream,
    /// Nothing more comes from it, but it must not run into a closed pipe.
    _console: BufReader<std::process::ChildStdout>,
    _process: Child,
}

impl Guest {
    /// Boots a guest with this many network interfaces, that powers off after `lifetime` whatever
    /// happens here; puts what it needs into `folder`. The calling thread is in the guest's namespace
    /// afterwards.
    ///
    /// # Errors
    /// [`Unavailable`] without user-mode Linux, its tools, or the permission to make a namespace.
    ///
    /// # Panics
    /// When all of that is there and the guest does not come up.
    pub fn boot(
        folder: &Path,
        interfaces: usize,
        lifetime: Duration,
    ) -> Result<Guest, Unavailable> {
        Guest::boot_with(folder, &vec![ETHERNET; interfaces], lifetime)
    }

    /// The same, with an interface for each MTU.
    ///
    /// # Errors
    /// As [`boot`](Guest::boot).
    ///
    /// # Panics
    /// As [`boot`](Guest::boot).
    pub fn boot_with(
        folder: &Path,
        mtus: &[u16],
        lifetime: Duration,
    ) -> Result<Guest, Unavailable> {
        let program = Guest::program(folder)?;
        let namespace = Namespace::new()?;
        tap_interfaces()?;
        mtus.iter().enumerate().for_each(|(n, mtu)| own_network(n, &format!("peer{n}"), *mtu));
        Ok(Guest::start_kernel(folder, (program, namespace), mtus, &[], lifetime))
    }

    /// Boots a guest in the place of one side of an emulation: it has that side's addresses, on the
    /// interface `vecP` of each path P. The calling thread is in that side's namespace afterwards, which
    /// reaches the guest through an interface beside the links.
    ///
    /// # Errors
    /// [`Unavailable`] without user-mode Linux or its tools.
    ///
    /// # Panics
    /// When all of that is there and the guest does not come up.
    pub fn boot_in(
        emulation: &Emulation,
        side: Side,
        folder: &Path,
        lifetime: Duration,
    ) -> Result<Guest, Unavailable> {
        let program = Guest::program(folder)?;
        let namespace = Namespace::of(emulation, side);
        namespace.enter();
        let paths = emulation.path_count();
        let mut addresses = Vec::new();
        for path in 0..paths {
            emulation.attach_tap(side, path, &format!("peer{path}")).expect("ip can do it");
            let (v4, v6) = (emulation.address(side, path), emulation.address_v6(side, path));
            addresses.push(format!("net{path}={v4}/24,{v6}/64"));
        }
        own_network(paths, &format!("peer{paths}"), ETHERNET);
        let mtus = vec![ETHERNET; paths + 1];
        Ok(Guest::start_kernel(folder, (program, namespace), &mtus, &addresses, lifetime))
    }

    /// What runs in a guest, built into `folder`, once it is sure that there can be one.
    ///
    /// # Errors
    /// [`Unavailable`] without user-mode Linux or its tools.
    ///
    /// # Panics
    /// As [`PeerProgram::linux`].
    pub fn program(folder: &Path) -> Result<PeerProgram, Unavailable> {
        for (tool, package) in [
            ("linux", "user-mode-linux"),
            ("kmod", "kmod"),
            ("ethtool", "ethtool"),
            ("nft", "nftables"),
        ] {
            let found = Command::new(tool).arg("--version").output();
            let how = "apt-get install user-mode-linux kmod ethtool nftables";
            found.map_err(|_| Unavailable::new(package, how))?;
        }
        PeerProgram::linux(folder)
    }

    /// Boots it with the interfaces `peerN`, of which the last is the one that commands come through;
    /// `addresses` are words for its init.
    fn start_kernel(
        folder: &Path,
        (program, namespace): (PeerProgram, Namespace),
        mtus: &[u16],
        addresses: &[String],
        lifetime: Duration,
    ) -> Guest {
        let own = folder.join(format!("uml-{}", std::process::id()));
        let mut linux = Command::new("linux");
        linux
            .env("LD_PRELOAD", whole_state(folder))
            .args(["mem=256M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
            .arg(format!("uml_dir={}/", own.display()))
            .arg(format!("init={}", conformance("interop/linux-uml/guest-init.sh").display()))
            .arg(format!("agent={}", program.path().display()))
            .arg(format!("lifetime={}", lifetime.as_secs()))
            .args(addresses)
            .args(["con=null", "con0=null,fd:1"])
            .args(mtus.iter().enumerate().map(|(n, mtu)| {
                format!("vec{n}:transport=tap,ifname=peer{n},depth=128,gro=1,mtu={mtu}")
            }))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = linux.spawn().expect("it was found a moment ago");
        let mut console = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let mut said = String::new();
        while !said.ends_with("READY agent\n") && !said.ends_with("READY agent\r\n") {
            let read = console.read_line(&mut said);
            assert!(matches!(read, Ok(1..)), "the guest did not come up; it said:\n{said}");
        }
        // Frames with segmentation offload would arrive as packets larger than the MTU.
        for n in 0..mtus.len() {
            command(&format!("ethtool -K peer{n} tso off gso off gro off"));
        }
        let deadline = Instant::now() + BOOT_LIMIT;
        let last = u8::try_from(mtus.len() - 1).expect("there are few");
        let agent = (Ipv4Addr::new(10, 99, last, 2), AGENT_PORT).into();
        let keeper = loop {
            match TcpStream::connect(agent) {
                Ok(keeper) => break keeper,
                Err(e) => assert!(Instant::now() < deadline, "the guest is not reached: {e}"),
            }
        };
        Guest { namespace, program, agent, _keeper: keeper, _console: console, _process: process }
    }

    /// Moves the calling thread into the namespace from which the guest is reached.
    pub fn enter(&self) {
        self.namespace.enter();
    }

    /// The namespace from which it is reached.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Makes the calling thread enter the namespace and the guest as new: no peers, no rules that drop
    /// packets, no UDP encapsulation, the kernel's own timers.
    pub fn reset(&self) {
        self.enter();
        command("nft flush ruleset");
        self.run(
            "pkill -9 -f 'linux-uml-[p]eer (server|client)'; \
             cd /proc/sys/net/sctp && echo 0 >encap_port && echo 0 >udp_port && \
             echo 60000 >rto_max && echo 3000 >rto_initial && echo 1000 >rto_min && \
             echo 5 >path_max_retrans && echo 30000 >hb_interval && echo 0 >plpmtud_probe_interval",
        );
    }

    /// Starts the peer program in the guest with `arguments`; the calling thread must be in the
    /// namespace.
    pub fn start(&self, arguments: &str) -> Peer {
        Peer::remote(self.ask(&format!("exec {} {arguments}", self.program.path().display())))
    }

    /// Runs a shell command in the guest and gives the lines that it printed.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self, line: &str) -> Vec<String> {
        let (status, said) = self.run_for(line, COMMAND_LIMIT);
        assert_eq!(status, "0", "{line} in the guest said: {said:?}");
        said
    }

    /// Runs a shell command in the guest, for `limit` at most, and gives its status and the lines that
    /// it printed; the calling thread must be in the namespace.
    ///
    /// # Panics
    /// When the limit passes.
    pub fn run_for(&self, line: &str, limit: Duration) -> (String, Vec<String>) {
        self.begin(line).exit(limit)
    }

    /// Begins a shell command in the guest, whose end is [`Peer::exit`]; the calling thread must be in the namespace.
    #[must_use]
    pub fn begin(&self, line: &str) -> Peer {
        Peer::remote(self.ask(line))
    }

    /// Sends one line to the agent.
    fn ask(&self, line: &str) -> TcpStream {
        let mut connection = TcpStream::connect(self.agent).expect("the agent listens");
        connection.write_all(format!("{line}\n").as_bytes()).expect("the agent reads");
        connection
    }
}

/// Builds what user-mode Linux needs on processors with more state than it knows of (`xstate.c`). With others it does
/// nothing.
fn whole_state(folder: &Path) -> PathBuf {
    static BUILDS: AtomicU32 = AtomicU32::new(0);
    let build = BUILDS.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("xstate-{}-{build}.so", std::process::id()));
    let built = Command::new("cc")
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"])
        .arg(&path)
        .arg(conformance("interop/linux-uml/xstate.c"))
        .output()
        .expect("cc has built the peer");
    let messages = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "xstate.c does not compile:\n{messages}");
    path
}

/// Whether there can be TAP interfaces.
fn tap_interfaces() -> Result<(), Unavailable> {
    let device = File::options().read(true).write(true).open("/dev/net/tun");
    device.map(drop).map_err(|error| emulator::Error::Tap(error).into())
}

/// Makes interface `tap` in the namespace of the calling thread, with the host's addresses on network
/// `n`.
fn own_network(n: usize, tap: &str, mtu: u16) {
    command(&format!("ip tuntap add dev {tap} mode tap"));
    command(&format!("ip link set {tap} mtu {mtu}"));
    command(&format!("ip addr add 10.99.{n}.1/24 dev {tap}"));
    command(&format!("ip addr add fd99:{n}::1/64 dev {tap} nodad"));
    command(&format!("ip link set {tap} up"));
}
