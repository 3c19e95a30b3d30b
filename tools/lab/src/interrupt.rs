//! Ctrl-C while runs are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tresse_console::say::complain;

/// Becomes true when somebody presses Ctrl-C for the first time; the second time ends the process, with the exit
/// status that shells have for it.
pub(super) fn stop_when_asked() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // Without it, Ctrl-C ends the process as ever.
    let _ = ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            complain("interrupted: runs that were stored stay stored");
            std::process::exit(130);
        }
        complain("interrupted: the runs that are being made are finished (once more to abort)");
    });
    stop
}
