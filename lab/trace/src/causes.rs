//! Why senders of ours sent chunks again, out of their logs: known before the first packet is analysed, as a log
//! tells of a transmission after its packet.

use std::collections::HashMap;
use std::path::Path;

use tresse_wire::{Tsn, VerificationTag};

use crate::Skipped;
use crate::capture::{Capture, CaptureError};
use crate::key::Key;
use crate::sender::SenderState;
use crate::statistics::Class;

/// This many retransmissions are remembered, of some 30 bytes each; of those beyond, the packets decide.
const MOST: usize = 1 << 20;

/// What one sender says of its transmissions: by TSN, and the how manyeth transmission of it that was.
#[derive(Debug, Default)]
pub(crate) struct Told(HashMap<(u32, u32), Class>);

impl Told {
    /// Why `tsn` was sent again for the `count`-th time.
    pub(crate) fn class(&self, tsn: Tsn, count: u32) -> Option<Class> {
        self.0.get(&(tsn.0, count.checked_add(1)?)).copied()
    }
}

/// What all senders say whose logs are there.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    of: HashMap<Key, Told>,
    known: usize,
}

impl Causes {
    /// Reads the logs among `files`. What can be read only once, such as standard input, is left alone.
    pub(crate) fn read(&mut self, files: &[&Path]) -> Result<(), CaptureError> {
        for file in files.iter().filter(|file| file.is_file()) {
            let mut capture = Capture::open(file)?;
            if !capture.is_log() {
                continue;
            }
            // What is wrong with it is counted when it is read for the second time.
            let mut skipped = Skipped::default();
            while let Some(frame) = capture.next(&mut skipped) {
                let Some(note) = frame.note else { continue };
                let SenderState::SentAgain { tsn, transmission, cause } = &note.state else {
                    continue;
                };
                if self.known == MOST {
                    return Ok(());
                }
                self.known += 1;
                let (source_port, destination_port) = note.ports;
                let tag = VerificationTag(note.tag);
                let told = self.of.entry(Key { tag, source_port, destination_port }).or_default();
                told.0.insert((*tsn, *transmission), Class::of_cause(cause));
            }
        }
        Ok(())
    }

    /// What the sender of the packets with this key says.
    pub(crate) fn of(&self, key: &Key) -> Option<&Told> {
        // Most captures come without a log.
        if self.of.is_empty() { None } else { self.of.get(key) }
    }
}
