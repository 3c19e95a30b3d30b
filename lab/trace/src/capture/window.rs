//! A window that moves along a byte stream of any length.

use std::io::{ErrorKind, Read};

/// So much is read at once.
const STEP: usize = 1 << 16;

/// The bytes at hand; what is consumed is forgotten.
pub(super) struct Window {
    source: Box<dyn Read>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// What kept the rest from being read.
    fault: Option<std::io::Error>,
}

impl Window {
    pub(super) fn new(source: Box<dyn Read>) -> Window {
        Window { source, bytes: Vec::new(), start: 0, end: 0, ended: false, fault: None }
    }

    /// What is at hand.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether at least `length` bytes are at hand, after reading as many as needed.
    pub(super) fn has(&mut self, length: usize) -> bool {
        while self.end - self.start < length {
            if self.ended {
                return false;
            }
            self.fill(length);
        }
        true
    }

    pub(super) fn consume(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
    }

    /// The fault that ended the stream, once.
    pub(super) fn take_fault(&mut self) -> Option<std::io::Error> {
        self.fault.take()
    }

    fn fill(&mut self, length: usize) {
        if self.bytes.len() < self.start + length.max(STEP) {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.bytes.resize(length.max(STEP) * 2, 0);
        }
        match self.source.read(&mut self.bytes[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(n) => self.end += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.fault = Some(error);
                self.ended = true;
            }
        }
    }
}
