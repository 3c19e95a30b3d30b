//! Runs Tresse against other stacks: `conformance/interop/run` and `conformance/interop/goodput`.
//! An example and not a binary, so that `cargo run` in this workspace means the command `tresse`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    tresse_interop::cli::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the peers are started on Linux only");
    std::process::exit(2);
}
