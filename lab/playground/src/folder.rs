//! The page as a folder: it needs no server and no network.

use data_encoding::BASE64;

/// Where the module is built, from the folder of the workspace, with [`BUILD`].
pub const MODULE: &str = "wasm32-unknown-unknown/release/tresse_playground.wasm";

/// Arguments of `cargo` that build the module.
pub const BUILD: [&str; 11] = [
    "rustc",
    "--package",
    "tresse-playground",
    "--lib",
    "--release",
    "--target",
    "wasm32-unknown-unknown",
    "--crate-type",
    "cdylib",
    "--",
    "-Cstrip=symbols",
];

/// The files of the folder, by their names: the page, and `module`, which is what [`BUILD`] builds, as a script. A page
/// that is opened as a file may load scripts, and nothing else.
pub fn files(module: &[u8]) -> Vec<(&'static str, String)> {
    let page = |text: &str| text.to_owned();
    vec![
        ("index.html", page(include_str!("../page/index.html"))),
        ("playground.css", page(include_str!("../page/playground.css"))),
        ("scenario.js", page(include_str!("../page/scenario.js"))),
        ("diagram.js", page(include_str!("../page/diagram.js"))),
        ("timeline.js", page(include_str!("../page/timeline.js"))),
        ("playground.js", page(include_str!("../page/playground.js"))),
        ("module.js", format!("window.TRESSE_MODULE = \"{}\";\n", BASE64.encode(module))),
    ]
}
