//! Gives the shared library the name that programs remember it by.

fn main() {
    // Changes with every change that breaks programs.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtresse.so.0");
    println!("cargo::rerun-if-changed=build.rs");
}
