//! How long experiments took on this machine, beside their results.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tresse_console::units::Time;
use tresse_lab::Finished;

/// Milliseconds; of no interest to anybody else, and another one each time.
const FILE: &str = ".took";

/// Remembers how long an experiment took, if all of its runs were made.
pub(super) fn remember(finished: &Finished) {
    let folder = finished.page.parent().filter(|_| finished.reused == 0);
    if let Some(folder) = folder {
        // Without it, a list says less.
        let _ = fs::write(folder.join(FILE), finished.elapsed.as_millis().to_string());
    }
}

/// What a list says of it: nothing, if it was not run here.
pub(super) fn text(out: &Path, id: &str) -> String {
    let text = fs::read_to_string(out.join(id).join(FILE));
    let took = text.ok().and_then(|text| Some(Duration::from_millis(text.trim().parse().ok()?)));
    took.map_or(String::new(), |took| format!(", took {}", Time(took)))
}
