//! What is known of an association in the end.

use std::io::Cursor;

use tresse_trace::capture::Capture;
use tresse_trace::{Observer, Options, Summary, Trace};

#[derive(Default)]
struct Ended(Vec<Summary>);

impl Observer for Ended {
    fn ends(&mut self, summary: &Summary) {
        self.0.push(summary.clone());
    }
}

/// Of the last association of a capture.
pub(crate) fn summary_of(file: Vec<u8>) -> Summary {
    let mut ended = Ended::default();
    let mut trace = Trace::new(Options::default());
    trace.read(Capture::read("test", Cursor::new(file)).expect("a capture"), &mut ended);
    trace.finish(&mut ended);
    ended.0.pop().expect("an association")
}
