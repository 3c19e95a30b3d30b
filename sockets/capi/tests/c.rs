//! C programs (`tests/c/`), each of them built three times: with the shared library, with the static
//! one, and with the header of lksctp-tools to run under `tresse run`.

#[cfg(target_os = "linux")]
mod conformance;
mod engines;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tresse_peers::{Unavailable, free_udp_port, skipped};

/// How a program gets its SCTP sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum With {
    Shared,
    Static,
    Preload,
}

/// What all tests need, once it is built and installed.
struct Workshop {
    folder: TempDir,
    /// Where cargo puts what it builds.
    built: PathBuf,
    lksctp: Result<(), Unavailable>,
}

fn unavailable(what: &str, how: &str) -> Unavailable {
    Unavailable { what: what.into(), how: how.into() }
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs it and gives what it said; fails with that if it fails.
fn check(command: &mut Command) -> String {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}

fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether the cargo that runs this tests all members, and so has built what they depend on with the features of all.
/// With fewer members dependencies would have fewer features, and be built again, which takes minutes.
fn whole_workspace_is_tested() -> bool {
    let Some(cargo) = rustix::process::getppid() else { return false };
    let cargo = PathBuf::from(format!("/proc/{cargo}"));
    let Ok(folder) = cargo.join("cwd").read_link() else { return false };
    let Ok(line) = std::fs::read_to_string(cargo.join("cmdline")) else { return false };
    let options: Vec<&str> = line.split('\0').skip(1).take_while(|word| *word != "--").collect();
    // `--exclude`, `--example`.
    let fewer = ["-p", "--package", "--ex", "--manifest-path", "--lib", "--bin", "--test"];
    options.first() == Some(&"test")
        && !options.iter().any(|option| fewer.iter().any(|fewer| option.starts_with(fewer)))
        && sources().join("../..").canonicalize().is_ok_and(|workspace| workspace == folder)
}

/// Installs what was built with a prefix.
fn install(built: &Path, prefix: &Path, destination: &Path) {
    let mut script = Command::new("sh");
    script.arg(sources().join("install.sh"));
    script.env("BUILD", built).env("PREFIX", prefix).env("DESTDIR", destination);
    check(script.env_remove("LIBDIR"));
}

impl Workshop {
    fn new() -> Result<Workshop, Unavailable> {
        for (tool, package) in [("cc", "gcc libc6-dev"), ("pkg-config", "pkg-config")] {
            if !succeeds(Command::new(tool).arg("--version")) {
                return Err(unavailable(tool, &format!("apt-get install {package}")));
            }
        }
        // Tests are in `debug/deps`, or `release/deps`.
        let test = std::env::current_exe().unwrap();
        let built = test.ancestors().nth(2).unwrap().to_owned();
        let mut cargo = Command::new(env!("CARGO"));
        if whole_workspace_is_tested() {
            cargo.args(["build", "--lib", "--bins", "--tests", "--examples"]);
            cargo.current_dir(sources().join("../.."));
        } else {
            cargo.args(["build", "-p", "tresse-capi", "-p", "tresse-preload", "-p", "tresse-cli"]);
            cargo.current_dir(sources());
        }
        cargo.arg("--target-dir").arg(built.parent().unwrap());
        if built.ends_with("release") {
            cargo.arg("--release");
        }
        check(&mut cargo);
        let folder = tempfile::tempdir().unwrap();
        install(&built, &folder.path().join("usr"), Path::new(""));
        let header = "#include <netinet/sctp.h>\nint main(void) { return HAVE_SCTP_SENDV - 1; }\n";
        let probe = folder.path().join("probe.c");
        std::fs::write(&probe, header).unwrap();
        let mut cc = Command::new("cc");
        cc.arg(&probe).arg("-lsctp").arg("-o").arg(folder.path().join("probe"));
        let lksctp = succeeds(&mut cc)
            .then_some(())
            .ok_or_else(|| unavailable("libsctp", "apt-get install libsctp-dev"));
        Ok(Workshop { folder, built, lksctp })
    }

    /// The one of this process; says why if there is none.
    fn get() -> Option<&'static Workshop> {
        static WORKSHOP: OnceLock<Result<Workshop, Unavailable>> = OnceLock::new();
        WORKSHOP.get_or_init(Workshop::new).as_ref().inspect_err(|why| skipped(why)).ok()
    }

    fn usr(&self) -> PathBuf {
        self.folder.path().join("usr")
    }

    /// What pkg-config says of a module.
    fn flags(&self, module: &str) -> Vec<String> {
        let mut pkg_config = Command::new("pkg-config");
        pkg_config.args(["--cflags", "--libs", module]);
        pkg_config.env("PKG_CONFIG_PATH", self.usr().join("lib/pkgconfig"));
        check(&mut pkg_config).split_whitespace().map(str::to_owned).collect()
    }

    /// Builds a program of the repository.
    fn build(&self, source: &Path, with: With, more: &[&str]) -> PathBuf {
        let name = source.file_stem().unwrap().to_str().unwrap();
        let number = {
            use std::sync::atomic::{AtomicUsize, Ordering};
            static BUILT: AtomicUsize = AtomicUsize::new(0);
            BUILT.fetch_add(1, Ordering::Relaxed)
        };
        let program = self.folder.path().join(format!("{name}-{with:?}-{number}"));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror"])
            .args(more)
            .arg(source);
        cc.arg("-o").arg(&program);
        match with {
            With::Shared => {
                cc.args(self.flags("tresse"));
                cc.arg(format!("-Wl,-rpath,{}", self.usr().join("lib").display()))
            }
            With::Static => cc.args(self.flags("tresse-static")),
            With::Preload => cc.args(["-DTEST_LKSCTP", "-lsctp"]),
        };
        check(cc.arg("-lpthread"));
        program
    }

    /// `tresse run` on these addresses, before the program is named.
    fn tresse_run(&self, local: &[&str], port: u16) -> Command {
        let mut tresse = Command::new(self.built.join("tresse"));
        tresse.arg("run").arg("--preload").arg(self.built.join("libtresse_preload.so"));
        let port = port.to_string();
        tresse.args(["--udp-port", &port, "--encap-port", &port]);
        tresse.args(local.iter().flat_map(|ip| ["--local", ip])).arg("--");
        tresse
    }
}

fn program(name: &str) -> PathBuf {
    sources().join("tests/c").join(name)
}

/// Runs a program in all ways that there are.
fn everywhere(name: &str, family: &str) {
    let Some(workshop) = Workshop::get() else { return };
    let local: &[&str] = if family == "6" { &["::1"] } else { &["127.0.0.1", "127.0.0.2"] };
    let once = |with| {
        if with == With::Preload
            && let Err(why) = &workshop.lksctp
        {
            return skipped(why);
        }
        let built = workshop.build(&program(name), with, &[]);
        let port = free_udp_port().unwrap();
        let mut command = match with {
            With::Preload => {
                let mut command = workshop.tresse_run(local, port);
                command.arg(built);
                command
            }
            _ => Command::new(built),
        };
        command.env("TEST_UDP_PORT", port.to_string()).env("TEST_LOCAL", local.join(","));
        println!("{name}, IPv{family}, {with:?}");
        check(command.arg(family).env_remove("TRESSE_ENGINE"));
    };
    // They wait more than they work.
    std::thread::scope(|scope| {
        for with in [With::Shared, With::Static, With::Preload] {
            scope.spawn(move || once(with));
        }
    });
}

#[test]
fn messages_there_and_back() {
    everywhere("echo.c", "4");
}

#[test]
fn what_linux_does_not_have() {
    everywhere("records.c", "4");
    everywhere("records.c", "6");
}

#[test]
fn messages_there_and_back_over_ipv6() {
    everywhere("echo.c", "6");
}

#[test]
fn notifications() {
    everywhere("events.c", "4");
}

#[test]
fn several_addresses_and_peeling_off() {
    everywhere("addresses.c", "4");
}

#[test]
fn addresses_come_and_go() {
    everywhere("asconf.c", "4");
}

#[test]
fn readiness_and_connecting_again() {
    everywhere("readiness.c", "4");
}

#[test]
fn readiness_and_connecting_again_over_ipv6() {
    everywhere("readiness.c", "6");
}

/// The `sctp_opt_info` of lksctp-tools is another one.
#[test]
fn opt_info_is_of_one_association() {
    let Some(workshop) = Workshop::get() else { return };
    for with in [With::Shared, With::Static] {
        let mut command = Command::new(workshop.build(&program("numbers.c"), with, &[]));
        command.env("TEST_UDP_PORT", free_udp_port().unwrap().to_string());
        check(command.env("TEST_LOCAL", "127.0.0.1").env_remove("TRESSE_ENGINE"));
    }
}

#[test]
fn options_come_back() {
    everywhere("options.c", "4");
}

#[test]
fn options_come_back_over_ipv6() {
    everywhere("options.c", "6");
}

#[test]
fn error_numbers() {
    everywhere("errors.c", "4");
}

#[test]
fn error_numbers_over_ipv6() {
    everywhere("errors.c", "6");
}

#[test]
fn nothing_is_lost() {
    everywhere("data.c", "4");
}

#[test]
fn nothing_is_lost_over_ipv6() {
    everywhere("data.c", "6");
}

#[test]
fn a_peer_that_does_not_read() {
    everywhere("silent.c", "4");
}

#[test]
fn calls_on_descriptors() {
    everywhere("files.c", "4");
}

#[test]
fn processes_that_end() {
    everywhere("peers.c", "4");
}

/// Programs that were compiled for one header meet the engine of the other.
#[test]
fn layouts_are_those_of_linux() {
    let Some(workshop) = Workshop::get() else { return };
    if let Err(why) = &workshop.lksctp {
        return skipped(why);
    }
    let layout = |with| check(&mut Command::new(workshop.build(&program("layout.c"), with, &[])));
    let (ours, theirs) = (layout(With::Shared), layout(With::Preload));
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

/// What pkg-config and the header say holds for other compilers' settings and for C++, too.
#[test]
fn the_header_suits_every_dialect() {
    let Some(workshop) = Workshop::get() else { return };
    let calls = "#include <unistd.h>\n#include <tresse/sctp.h>\n\
        #include <netinet/in.h>\n\
        struct table { ssize_t (*read)(int, void *, size_t); };\n\
        int f(int fd, struct sctp_sndinfo *i);\n\
        int f(int fd, struct sctp_sndinfo *i) {\n\
        char b[10]; struct table t = { 0 }; i->snd_sid = 1;\n\
        #if !defined _FORTIFY_SOURCE\n\
        t.read = read; fd += t.read(fd, b, 3);\n\
        #endif\n\
        return (int)(read(fd, b, fd) + read(fd, b, 3) + socket(2, 1, 132) + close(fd)\n\
        + recvfrom(fd, b, 9, 0, 0, 0) + sendfile(fd, fd, 0, 9)\n\
        + sctp_recvmsg(fd, b, 9, 0, 0, 0, 0)) + (t.read != 0); }\n";
    let source = workshop.folder.path().join("dialect.c");
    std::fs::write(&source, calls).unwrap();
    let object = workshop.folder.path().join("dialect.o");
    let compile = |flags: &[&str]| {
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Wextra", "-Werror", "-c"]).args(flags).arg(&source).arg("-o");
        run(cc.arg(&object).args(workshop.flags("tresse")))
    };
    let mut dialects: Vec<&[&str]> = vec![
        &["-std=c99"],
        &["-std=gnu17", "-O2"],
        &["-std=c89"],
        &["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"],
        &["-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64"],
    ];
    if compile(&["-x", "c++", "-DTRESSE_NO_SOCKET_NAMES"]).status.success() {
        dialects.extend([&["-x", "c++", "-std=c++98"][..], &["-x", "c++", "-std=c++20", "-O2"]]);
    } else {
        skipped(&unavailable("a C++ compiler", "apt-get install g++"));
    }
    for flags in dialects {
        let output = compile(flags);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{flags:?}: {errors}");
        let symbols = check(Command::new("nm").arg("-u").arg(&object));
        let wanted = [
            "tresse_read",
            "tresse_recvfrom",
            "tresse_socket",
            "tresse_close",
            "tresse_sendfile",
            "tresse_sctp_recvmsg",
        ];
        let found: Vec<&str> = symbols.split_whitespace().filter(|s| *s != "U").collect();
        assert!(wanted.iter().all(|name| found.contains(name)), "{flags:?}: {symbols}");
        assert!(!found.contains(&"read") && !found.contains(&"close"), "{flags:?}: {symbols}");
    }
}

/// A package is staged: nothing of it names the place where it was staged.
#[test]
fn a_package_is_staged() {
    let Some(workshop) = Workshop::get() else { return };
    let stage = tempfile::tempdir().unwrap();
    install(&workshop.built, Path::new("/usr"), stage.path());
    let text = std::fs::read_to_string(stage.path().join("usr/lib/pkgconfig/tresse.pc")).unwrap();
    assert!(text.starts_with("prefix=/usr\nlibdir=/usr/lib\n"), "{text}");
    assert!(text.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"))), "{text}");
    for name in ["lib/libtresse.so.0", "lib/libtresse.a", "include/tresse/sctp.h"] {
        assert!(stage.path().join("usr").join(name).exists(), "{name}");
    }
}

#[test]
fn threads_can_be_cancelled() {
    let Some(workshop) = Workshop::get() else { return };
    if let Err(why) = &workshop.lksctp {
        return skipped(why);
    }
    let built = workshop.build(&program("cancel.c"), With::Preload, &["-pthread"]);
    let mut command = workshop.tresse_run(&["127.0.0.1"], free_udp_port().unwrap());
    check(command.arg(built));
}

/// `kill -9` of the engine; the next one removes what it left behind.
#[test]
fn an_engine_that_is_killed() {
    let Some(workshop) = Workshop::get() else { return };
    if let Err(why) = &workshop.lksctp {
        return skipped(why);
    }
    let temporary = tempfile::tempdir().unwrap();
    let folders = || std::fs::read_dir(temporary.path()).unwrap().count();
    let port = free_udp_port().unwrap();
    let orphan = workshop.build(&program("orphan.c"), With::Preload, &[]);
    let mut command = workshop.tresse_run(&["127.0.0.1"], port);
    // The program's output ends when it ends; what ends before is the engine.
    let output = run(command.arg(orphan).env("TMPDIR", temporary.path()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "every call has ended\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success());
    assert_eq!(folders(), 1);
    let mut command = workshop.tresse_run(&["127.0.0.1"], port);
    check(command.arg("true").env("TMPDIR", temporary.path()));
    assert_eq!(folders(), 0);
}

/// The same with libtresse, when a process ends that a child shares sockets with.
#[test]
fn a_child_that_outlives_the_engine() {
    let Some(workshop) = Workshop::get() else { return };
    let heir = workshop.build(&program("heir.c"), With::Shared, &[]);
    let port = free_udp_port().unwrap().to_string();
    let mut command = Command::new(heir);
    command.env("TEST_UDP_PORT", port).env("TEST_LOCAL", "127.0.0.1");
    command.env_remove("TRESSE_ENGINE");
    // The child's output ends when it ends.
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "every call has ended\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
}

/// Who begins as root need not stay root.
#[test]
fn privileges_can_be_given_up() {
    if !rustix::process::geteuid().is_root() {
        return skipped(&unavailable("root", "run as root"));
    }
    everywhere("privileges.c", "4");
}

/// What can never be served is not started.
#[test]
fn programs_that_load_no_libraries() {
    let Some(workshop) = Workshop::get() else { return };
    let source = workshop.folder.path().join("static.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let program = workshop.folder.path().join("static");
    check(Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program));
    let script = workshop.folder.path().join("script");
    std::fs::write(&script, format!("#!{}\n", program.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for path in [&program, &script] {
        let mut command = workshop.tresse_run(&["127.0.0.1"], free_udp_port().unwrap());
        let output = run(command.arg(path));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with(&format!("tresse: {}: it is linked statically", program.display()))
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// Nobody waits for an attempt to connect that its program has given up.
#[test]
fn a_pending_connect_keeps_nobody() {
    let Some(workshop) = Workshop::get() else { return };
    if let Err(why) = &workshop.lksctp {
        return skipped(why);
    }
    // A peer that says nothing.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let peer = silent.local_addr().unwrap().port().to_string();
    let program = workshop.build(&program("pending.c"), With::Preload, &[]);
    let mut command = Command::new(workshop.built.join("tresse"));
    command.arg("run").arg("--preload").arg(workshop.built.join("libtresse_preload.so"));
    command.args(["--udp-port", "0", "--local", "127.0.0.1", "--encap-port", &peer, "--"]);
    let begin = Instant::now();
    check(command.arg(program).env_remove("TRESSE_ENGINE"));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// Without a word about local addresses, both families are served.
#[test]
fn default_addresses_are_of_both_families() {
    let Some(workshop) = Workshop::get() else { return };
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        return skipped(&unavailable("IPv6", "sysctl net.ipv6.conf.lo.disable_ipv6=0"));
    }
    let echo = workshop.build(&program("echo.c"), With::Shared, &[]);
    let preloaded =
        workshop.lksctp.is_ok().then(|| workshop.build(&program("echo.c"), With::Preload, &[]));
    for family in ["4", "6"] {
        let port = free_udp_port().unwrap();
        let mut command = Command::new(&echo);
        command.env("TEST_UDP_PORT", port.to_string()).env_remove("TEST_LOCAL");
        check(command.arg(family).env_remove("TRESSE_ENGINE"));
        if let Some(preloaded) = &preloaded {
            check(workshop.tresse_run(&[], port).arg(preloaded).arg(family));
        }
    }
}

/// The examples of the repository, one talking to the other.
#[test]
fn examples_work() {
    let Some(workshop) = Workshop::get() else { return };
    let example = |name: &str| {
        let source = sources().join("../../examples/c").join(name);
        workshop.build(&source, With::Shared, &["-O2"])
    };
    let (server, client) = (example("echo_server.c"), example("client.c"));
    let port = free_udp_port().unwrap().to_string();
    let mut server = Command::new(server)
        .args(["5000", &port])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built a moment ago");
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut next = || lines.next().expect("it goes on").unwrap();
    assert_eq!(next(), format!("SCTP port 5000 in UDP port {port}"));
    let said = check(Command::new(client).args(["127.0.0.1", "5000", &port]));
    let expected: String = (0..5).map(|n| format!("stream {n}: message {n}\n")).collect();
    assert_eq!(said, expected);
    assert_eq!(next(), "up: 10 streams out, 10 in");
    assert_eq!(next(), "shut down");
    // The program ends as it likes: by a signal, which is not the engine's to take.
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(!server.wait().unwrap().success());
}

/// What the guide has a reader type, each terminal in an environment of its own.
#[test]
fn the_guide_is_right() {
    let Some(workshop) = Workshop::get() else { return };
    let guide = std::fs::read_to_string(sources().join("../../docs/commands.md")).unwrap();
    let section = guide.split("## Use it in a C program").nth(1).expect("it has such a section");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let (terminals, mut build): (Vec<&str>, Vec<&str>) =
        block.expect("it has a block").lines().partition(|line| line.starts_with("./"));
    assert!(build.iter().any(|line| line.starts_with("cargo build")), "{build:?}");
    // What this would build is there already.
    build.retain(|line| !line.starts_with("cargo build"));
    let [server, client] = terminals[..] else { panic!("{terminals:?}") };
    assert!(server.contains("# in one terminal") && client.contains("# in another"));

    // A clone, but for what has been built already.
    let clone = tempfile::tempdir().unwrap();
    for name in ["stack", "sockets", "lab", "tools", "examples", "Cargo.toml"] {
        let place = sources().join("../..").join(name).canonicalize().unwrap();
        std::os::unix::fs::symlink(place, clone.path().join(name)).unwrap();
    }
    std::fs::create_dir(clone.path().join("target")).unwrap();
    std::os::unix::fs::symlink(&workshop.built, clone.path().join("target/release")).unwrap();
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", script]).current_dir(clone.path());
        for variable in ["PREFIX", "LIBDIR", "DESTDIR", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH"] {
            shell.env_remove(variable);
        }
        shell
    };
    check(&mut shell(&build.join("\n")));
    // The ports of the example may be in use, but not in a network of its own.
    let _network = tresse_peers::Namespace::new();
    let mut server = shell(&format!("exec {server}")).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let first = lines.next().map(Result::unwrap);
    let said = run(&mut shell(client));
    let _ = server.kill();
    server.wait().unwrap();
    assert_eq!(first.as_deref(), Some("SCTP port 5000 in UDP port 9899"));
    let expected: String = (0..5).map(|n| format!("stream {n}: message {n}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&said.stdout), expected, "{said:?}");
}

/// The header is what cbindgen makes of the sources.
#[test]
fn the_header_is_current() {
    if !succeeds(Command::new("cbindgen").arg("--version")) {
        return skipped(&unavailable("cbindgen", "cargo install cbindgen --version 0.29.4"));
    }
    let mut cbindgen = Command::new("cbindgen");
    cbindgen.args(["--quiet", "--config", "cbindgen.toml", "--output", "include/tresse/sctp.h"]);
    check(cbindgen.args(["--verify", "."]).current_dir(sources()));
}
