//! Several captures as one, in the order of time.

use std::collections::HashSet;
use std::path::Path;

use super::{Capture, CaptureError, Frame};
use crate::Skipped;
use crate::terms::Place;

struct Source {
    capture: Capture,
    place: Place,
    /// By how much its clock is ahead, in nanoseconds.
    ahead: i64,
    /// It is a log beside captures, which have its packets already: only what the sender says is read.
    notes_only: bool,
    /// Whether the packet at hand is still to be given out; `None` before the first.
    waiting: Option<bool>,
}

/// Captures that are read together.
pub struct Captures {
    sources: Vec<Source>,
}

impl From<Capture> for Captures {
    fn from(capture: Capture) -> Captures {
        Captures { sources: vec![Source::new(capture, Place::Here)] }
    }
}

impl Source {
    fn new(capture: Capture, place: Place) -> Source {
        Source { capture, place, ahead: 0, notes_only: false, waiting: None }
    }

    /// Goes on to what comes next; false at the end.
    fn advance(&mut self, skipped: &mut Skipped) -> bool {
        while self.capture.advance(skipped) {
            if !self.notes_only || self.capture.frame().note.is_some() {
                return true;
            }
        }
        false
    }
}

/// A file that is read twice would have everything sent twice.
pub(crate) fn named_once(files: &[&Path]) -> Result<(), CaptureError> {
    let mut known = HashSet::new();
    for file in files {
        // What cannot be resolved is not there, or standard input.
        let resolved = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        if !known.insert(resolved) {
            return Err(CaptureError::Twice { name: file.display().to_string() });
        }
    }
    Ok(())
}

impl Captures {
    /// Opens the captures of one place, such as those of several interfaces, or the files of a ring
    /// buffer; `-` is standard input. Of logs among captures of packets, only what the sender says of itself
    /// is read.
    ///
    /// # Errors
    /// One of them cannot be opened, is no capture, or is named twice.
    pub fn open(files: &[&Path]) -> Result<Captures, CaptureError> {
        named_once(files)?;
        let source = |file: &&Path| Ok(Source::new(Capture::open(file)?, Place::Here));
        let mut sources: Vec<Source> = files.iter().map(source).collect::<Result<_, _>>()?;
        if sources.iter().any(|source| !source.capture.is_log()) {
            sources.iter_mut().for_each(|source| source.notes_only = source.capture.is_log());
        }
        Ok(Captures { sources })
    }

    /// Adds the captures of the other end, whose clock is `ahead` by this many nanoseconds.
    #[must_use]
    pub fn and_there(mut self, there: Captures, ahead: i64) -> Captures {
        let sources = there.sources.into_iter();
        self.sources.extend(sources.map(|s| Source { place: Place::There, ahead, ..s }));
        self
    }

    /// Whether captures of both ends are among them.
    #[must_use]
    pub fn both_ends(&self) -> bool {
        self.sources.iter().any(|source| source.place == Place::There)
    }

    /// The earliest packet that is left, on the clock of the first place; `None` at the end. What
    /// cannot be used is counted in `skipped`.
    pub fn next(&mut self, skipped: &mut Skipped) -> Option<(Place, Frame<'_>)> {
        for source in self.sources.iter_mut().filter(|source| source.waiting != Some(true)) {
            source.waiting = Some(source.advance(skipped));
        }
        self.sources.retain(|source| source.waiting == Some(true));
        let at = |source: &Source| source.capture.at().saturating_add_signed(-source.ahead);
        let earliest = self.sources.iter_mut().min_by_key(|source| at(source))?;
        earliest.waiting = Some(false);
        let at = at(earliest);
        Some((earliest.place, Frame { at, ..earliest.capture.frame() }))
    }
}
