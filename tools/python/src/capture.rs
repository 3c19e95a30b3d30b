//! Captures: `tresse.read_capture`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;
use tresse_trace::json::Json;
use tresse_trace::tables::Tables;
use tresse_trace::{Observer, Options, Trace};

use crate::errors::error;

/// Reads captures made at one end, and others made at the other end, and writes tables and `summary.json` into `folder`.
#[pyfunction]
#[pyo3(signature = (files, receiver, folder, udp_ports, missing_reports, rto_min_ms))]
pub(crate) fn read_capture(
    py: Python<'_>,
    files: Vec<PathBuf>,
    receiver: Vec<PathBuf>,
    folder: PathBuf,
    udp_ports: Vec<u16>,
    missing_reports: u32,
    rto_min_ms: u32,
) -> PyResult<()> {
    let mut options = Options {
        missing_reports,
        rto_min: Duration::from_millis(rto_min_ms.into()),
        ..Options::default()
    };
    options.udp_ports.extend(udp_ports);
    py.detach(|| {
        let here: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let there: Vec<&Path> = receiver.iter().map(PathBuf::as_path).collect();
        let mut trace = Trace::new(options);
        let captures = trace.open(&here, &there).map_err(error)?;
        let mut tables = Tables::new(&folder);
        let summary = File::create(folder.join("summary.json")).map_err(error)?;
        let mut json = Json::new(BufWriter::new(summary));
        let mut observers: Vec<&mut dyn Observer> = vec![&mut tables, &mut json];
        trace.read(captures, &mut observers);
        trace.finish(&mut observers);
        tables.finish().map_err(error)?;
        json.finish(&trace.totals()).map_err(error)
    })
}
