//! Whether the system loads a preloaded library into a program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf::{FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};

/// As much of a file as is looked at: the headers of an executable are at its beginning.
const HEAD: u64 = 64 * 1024;

/// What is known of an executable.
struct Executable {
    machine: u16,
    wide: bool,
    /// It names a program that loads its libraries (PT_INTERP).
    loaded: bool,
}

/// Says why the library cannot get into a program. A file that is not an executable is left to the system.
///
/// # Errors
/// One line that names the program.
pub(crate) fn check(program: &OsStr) -> Result<(), String> {
    find(program).map_or(Ok(()), |path| check_file(&path, true))
}

/// The file that is run: as named, or in the folders of PATH.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn check_file(path: &Path, script: bool) -> Result<(), String> {
    let Some(bytes) = head(path) else { return Ok(()) };
    if let Some(interpreter) = interpreter(&bytes).filter(|_| script) {
        return find(&interpreter).map_or(Ok(()), |path| check_file(&path, false));
    }
    let Some(found) = executable(&bytes) else { return Ok(()) };
    let refused = |why: &str| Err(format!("{}: {why}", path.display()));
    if !found.loaded {
        return refused(
            "it is linked statically, so no library can be preloaded and its SCTP sockets cannot be served",
        );
    }
    let own = head(Path::new("/proc/self/exe")).and_then(|bytes| executable(&bytes));
    if own.is_some_and(|own| (own.machine, own.wide) != (found.machine, found.wide)) {
        return refused("it is for another kind of machine than the library that is preloaded");
    }
    if gains_privileges(path) {
        return refused(
            "it runs with the privileges of its file (set-user-ID, set-group-ID or capabilities), so the system preloads nothing into it",
        );
    }
    Ok(())
}

/// The program that a script names in its first line; of `env`, the one that that runs.
fn interpreter(bytes: &[u8]) -> Option<OsString> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    let named = match first.ends_with(b"/env") {
        true => words.find(|word| !word.starts_with(b"-")).unwrap_or(first),
        false => first,
    };
    Some(OsStr::from_bytes(named).to_owned())
}

fn executable(bytes: &[u8]) -> Option<Executable> {
    match FileKind::parse(bytes).ok()? {
        FileKind::Elf32 => read_headers::<FileHeader32<Endianness>>(bytes, false),
        FileKind::Elf64 => read_headers::<FileHeader64<Endianness>>(bytes, true),
        _ => None,
    }
}

fn read_headers<Elf: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    wide: bool,
) -> Option<Executable> {
    let header = Elf::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let programs = header.program_headers(endian, bytes).ok()?;
    let loaded = programs.iter().any(|program| program.p_type(endian) == PT_INTERP);
    Some(Executable { machine: header.e_machine(endian), wide, loaded })
}

/// Whether the system runs it in secure mode (`ld.so(8)`), in which it preloads nothing.
fn gains_privileges(path: &Path) -> bool {
    const SET_USER_ID: u32 = 0o4000;
    const SET_GROUP_ID: u32 = 0o2000;
    let Ok(file) = std::fs::metadata(path) else { return false };
    let user = rustix::process::geteuid();
    if file.mode() & SET_USER_ID != 0 && file.uid() != user.as_raw() {
        return true;
    }
    if file.mode() & SET_GROUP_ID != 0 && file.gid() != rustix::process::getegid().as_raw() {
        return true;
    }
    let mut value = [0; 64];
    let len = rustix::fs::getxattr(path, "security.capability", &mut value);
    !user.is_root() && len.is_ok_and(|len| len > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_their_interpreter() {
        let of = |line: &str| interpreter(line.as_bytes()).map(|i| i.into_string().unwrap());
        assert_eq!(of("#!/bin/sh\nexit").as_deref(), Some("/bin/sh"));
        assert_eq!(of("#! /usr/bin/perl -w\n").as_deref(), Some("/usr/bin/perl"));
        assert_eq!(of("#!/usr/bin/env -S python3 -u\n").as_deref(), Some("python3"));
        assert_eq!(of("#!\n"), None);
        assert_eq!(of("\x7fELF"), None);
    }

    #[test]
    fn what_is_loaded_and_what_is_not_an_executable_passes() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(check(own.as_os_str()), Ok(()));
        assert_eq!(check(OsStr::new("/etc/passwd")), Ok(()));
        assert_eq!(check(OsStr::new("there is no such program")), Ok(()));
        for len in [0, 4, 16, 63, 64, 100] {
            assert!(executable(&head(&own).unwrap()[..len]).is_none_or(|e| !e.loaded), "{len}");
        }
    }
}
