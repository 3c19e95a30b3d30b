//! `calls.txt` is complete: it has every function of the installed C library that takes a descriptor,
//! and `c/files.c` calls those that move data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use tresse_peers::{Unavailable, skipped};

/// Headers with functions that take descriptors.
const HEADERS: &str = "aio.h arpa/inet.h dirent.h execinfo.h fcntl.h poll.h pty.h spawn.h stdio.h \
    stdlib.h sys/epoll.h sys/eventfd.h sys/fanotify.h sys/file.h sys/inotify.h sys/ioctl.h \
    sys/mman.h sys/mount.h sys/select.h sys/sendfile.h sys/signalfd.h sys/socket.h sys/stat.h \
    sys/statfs.h sys/statvfs.h sys/time.h sys/timerfd.h sys/uio.h sys/xattr.h termios.h unistd.h \
    utmp.h";

/// What parameters that are descriptors are called in them, and the structure with one inside.
const DESCRIPTORS: &str = "fd fildes fd1 fd2 infd outfd fdin fdout out_fd in_fd dfd dirfd epfd tfd \
    fp lowfd aiocb";

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

/// The list: names, and what is said of each.
fn list() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder().join("calls.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut list = BTreeMap::new();
    for (name, said) in lines.map(|line| line.split_once(' ').expect("a name, and what is said")) {
        assert!(list.insert(name.to_owned(), said.to_owned()).is_none(), "{name} is there twice");
    }
    list
}

/// What a command says; `None` if it is not there or fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Functions that the headers declare and that take a descriptor.
fn declared() -> Option<BTreeSet<String>> {
    let temporary = tempfile::tempdir().unwrap();
    let source = temporary.path().join("headers.c");
    // Those that this system does not have are left out.
    let include = |header| format!("#if __has_include(<{header}>)\n#include <{header}>\n#endif\n");
    let all: String = HEADERS.split_whitespace().map(include).collect();
    std::fs::write(&source, format!("#define _GNU_SOURCE\n{all}")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-E", "-P", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]).arg(&source);
    let text = output(&mut cc)?;
    let known: BTreeSet<&str> = DESCRIPTORS.split_whitespace().collect();
    let takes = |declaration: &str| {
        let (head, parameters) = declaration.split_once('(')?;
        let name = words(head).last().filter(|_| words(head).count() > 1)?;
        let takes = words(parameters).any(|word| known.contains(word.trim_matches('_')));
        takes.then(|| name.to_owned())
    };
    Some(text.split([';', '{', '}']).filter_map(takes).collect())
}

/// Functions that the C library exports to programs.
fn exported() -> Option<BTreeSet<String>> {
    let path = output(Command::new("cc").arg("-print-file-name=libc.so.6"))?;
    let symbols = output(Command::new("nm").args(["-D", "--defined-only", path.trim()]))?;
    let function = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (kind, name) = (words.next()?, words.next()?);
        let public = "TWi".contains(kind) && !name.contains("GLIBC_PRIVATE");
        public.then(|| name.split('@').next().unwrap_or(name).to_owned())
    };
    Some(symbols.lines().filter_map(function).collect())
}

#[test]
fn no_function_with_a_descriptor_is_forgotten() {
    let (Some(declared), Some(exported)) = (declared(), exported()) else {
        return skipped(&Unavailable {
            what: "cc and nm".into(),
            how: "apt-get install gcc libc6-dev binutils".into(),
        });
    };
    let list = list();
    let taking: BTreeSet<&String> = declared.intersection(&exported).collect();
    assert!(taking.len() > 100, "the headers were not understood: {taking:?}");
    let missing: Vec<_> = taking.into_iter().filter(|name| !list.contains_key(*name)).collect();
    assert!(missing.is_empty(), "not in calls.txt: {missing:?}");
    // Other names of what moves data: for large files, for other libraries.
    let moving = list.iter().filter(|(_, said)| *said != "none").map(|(name, _)| name);
    let others = moving.flat_map(|name| [format!("__{name}"), format!("{name}64")]);
    let missing: Vec<String> =
        others.filter(|name| exported.contains(name) && !list.contains_key(name)).collect();
    assert!(missing.is_empty(), "other names, not in calls.txt: {missing:?}");
}

#[test]
fn the_program_calls_what_the_list_says() {
    let program = std::fs::read_to_string(folder().join("c/files.c")).unwrap();
    let mut tested: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in program.lines().filter_map(|line| line.strip_prefix("\t{ \"")) {
        let fields: Vec<&str> = words(line).collect();
        let said = if fields[2] == "0" { "served" } else { fields[2] };
        tested.entry(fields[0].to_owned()).or_default().insert(said.to_owned());
    }
    assert!(program.contains("backtrace_symbols_fd(list, 1, here)"));
    tested.entry("backtrace_symbols_fd".into()).or_default().insert("served".into());
    let listed: BTreeMap<String, BTreeSet<String>> = list()
        .into_iter()
        .filter(|(_, said)| said != "none")
        .map(|(name, said)| (name, said.split_whitespace().map(str::to_owned).collect()))
        .collect();
    assert_eq!(tested, listed);
}
