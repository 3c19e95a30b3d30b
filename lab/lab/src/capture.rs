//! Packet captures of runs.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use tresse_sim::{HostId, Simulation};

/// Begins two captures of the run `name` in `folder`, as analysers on the two hosts would make them:
/// `NAME.sender.pcapng` and `NAME.receiver.pcapng`. Packets that a link drops as they enter it say
/// so in a comment.
///
/// # Errors
/// A file cannot be written, as text.
pub(crate) fn begin(
    simulation: &mut Simulation,
    folder: &Path,
    name: &str,
    (sender, receiver): (HostId, HostId),
) -> Result<(), String> {
    for (role, host) in [("sender", sender), ("receiver", receiver)] {
        let path = folder.join(format!("{name}.{role}.pcapng"));
        let file =
            File::create(&path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        let view = simulation.view_of(host);
        simulation
            .capture(view, BufWriter::new(file))
            .map_err(|e| format!("cannot write the capture: {e}"))?;
    }
    Ok(())
}
