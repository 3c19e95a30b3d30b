//! Ctrl-C while runs are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tresse_console::say::complain;

/// Becomes true when somebody presses Ctrl-C for the first time; the second time ends the process, with the exit
/// status that shells have for it.
pub(super) fn stop_when_asked() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // Without it, Ctrl-C ends the process as ever.
    let _ = thread::Builder::new().name("interrupt".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if asked.swap(true, Ordering::Relaxed) {
                    complain("interrupted: runs that were stored stay stored");
                    std::process::exit(130);
                }
                complain(
                    "interrupted: the runs that are being made are finished (once more to abort)",
                );
            }
        });
    });
    stop
}
