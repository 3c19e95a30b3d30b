//! Everything as JSON, written as it is found.

use std::io::{self, Write};

use crate::event::Observer;
use crate::summary::Summary;
use crate::trace::Totals;

/// Writes one object: `associations`, each a [`Summary`], and `totals`, a [`Totals`].
#[derive(Debug)]
pub struct Json<W: Write> {
    out: W,
    written: u64,
    fault: Option<io::Error>,
}

impl<W: Write> Json<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Json<W> {
        Json { out, written: 0, fault: None }
    }

    fn write(&mut self, summary: &Summary) -> io::Result<()> {
        self.out.write_all(if self.written == 0 { b"{\"associations\":[\n" } else { b",\n" })?;
        self.written += 1;
        serde_json::to_writer(&mut self.out, summary).map_err(io::Error::from)
    }

    /// Ends the object.
    ///
    /// # Errors
    /// Whatever went wrong when it was written.
    pub fn finish(mut self, totals: &Totals) -> io::Result<()> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.written == 0 {
            self.out.write_all(b"{\"associations\":[")?;
        }
        self.out.write_all(b"],\n\"totals\":")?;
        serde_json::to_writer(&mut self.out, totals).map_err(io::Error::from)?;
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }
}

impl<W: Write> Observer for Json<W> {
    fn ends(&mut self, summary: &Summary) {
        if self.fault.is_none() {
            self.fault = self.write(summary).err();
        }
    }
}
