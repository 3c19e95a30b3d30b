//! Plots over time in one page: time-sequence plots like tcptrace's, throughput, losses, round-trip times, flight, and
//! how transfer times are distributed. The page loads nothing from elsewhere; its plots are SVG, which a script lets one
//! ask and zoom (docs/adr/0017).

mod beside;
mod drawn;
mod plot;
mod rate;

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub use beside::{Capture, beside};
use drawn::Drawn;
use tresse_report::html::{self, escape};

use crate::event::{Event, Head, Observer};
use crate::summary::Summary;
use crate::terms::{Identity, Side, Until};
use crate::text;
use crate::trace::Totals;

/// This many associations are drawn, the first ones.
const MOST_ASSOCIATIONS: usize = 24;
/// A direction with at most this many chunks or segments of user data is folded away, if the other one has several times as
/// many: they arrange the transfer, and are not it.
const FEW_CHUNKS: usize = 8;
const FEWER: usize = 8;

struct Association {
    identity: Identity,
    begin: Option<u64>,
    directions: [Drawn; 2],
    text: String,
}

/// Collects what is drawn, of the first associations and their first marks.
#[derive(Default)]
pub struct Page {
    associations: BTreeMap<u64, Association>,
    left_out: u64,
    /// Chunks that were lost on the way, of all associations, where captures of both ends show that.
    lost: Option<u64>,
}

impl Observer for Page {
    fn begins(&mut self, identity: &Identity) {
        if self.associations.len() >= MOST_ASSOCIATIONS {
            self.left_out += 1;
            return;
        }
        let association = Association {
            identity: identity.clone(),
            begin: None,
            directions: Default::default(),
            text: String::new(),
        };
        self.associations.insert(identity.association, association);
    }

    fn event(&mut self, head: &Head, event: &Event<'_>) {
        let Some(association) = self.associations.get_mut(&head.association) else { return };
        let begin = *association.begin.get_or_insert(head.at);
        let when = if let Event::Lost { sent_at, .. } = event { *sent_at } else { head.at };
        let at = when.saturating_sub(begin) as f64 / 1e9;
        // Acknowledgements belong to the data of the other side.
        let side = match event {
            Event::Data { .. } | Event::Sender { .. } | Event::Control { .. } => head.from,
            Event::Sack { .. } | Event::Spurious { .. } => head.from.other(),
            Event::Message { from, .. } | Event::Lost { from, .. } => *from,
        };
        association.directions[side.index()].add(at, event);
    }

    fn ends(&mut self, summary: &Summary) {
        for arrivals in summary.directions.iter().filter_map(|d| d.arrivals.as_ref()) {
            *self.lost.get_or_insert(0) += arrivals.lost;
        }
        if let Some(association) = self.associations.get_mut(&summary.identity.association) {
            association.text = text::summary(summary);
        }
    }
}

impl Page {
    /// Both directions of all associations.
    fn directions(&self) -> impl Iterator<Item = &Drawn> {
        self.associations.values().flat_map(|association| &association.directions)
    }

    /// What ends the transfer times.
    fn until(&self) -> Option<Until> {
        self.directions().find_map(|drawn| drawn.until)
    }

    /// The page.
    #[must_use]
    pub fn html(&self, totals: &Totals) -> String {
        let mut out = String::new();
        let _ =
            writeln!(out, "<h1>tresse trace</h1>\n<pre>{}</pre>", escape(&text::totals(totals)));
        if self.left_out > 0 {
            let _ = writeln!(
                out,
                "<p>The first {MOST_ASSOCIATIONS} associations are drawn, {} are not.</p>",
                self.left_out
            );
        }
        out.push_str(HINT);
        for association in self.associations.values() {
            let Identity { association: id, protocol, a, b } = &association.identity;
            let title = format!("#{id} {}: A {a}, B {b}", protocol.to_uppercase());
            let _ = writeln!(out, "<section><h2>{}</h2>", escape(&title));
            let end = association.directions.iter().fold(0.0, |end, d| d.end.max(end));
            for side in [Side::A, Side::B] {
                let drawn = &association.directions[side.index()];
                let mut plots = String::new();
                if let Some(what) = drawn.left_out() {
                    let _ = writeln!(plots, "<p>{what}</p>");
                }
                for plot in drawn.plots(side, *id, end) {
                    plot.svg(&mut plots);
                }
                let (chunks, others) =
                    (drawn.chunks(), association.directions[side.other().index()].chunks());
                let little = chunks == 0 || (chunks <= FEW_CHUNKS && chunks * FEWER < others);
                if plots.is_empty() {
                    continue;
                }
                if !little {
                    out.push_str(&plots);
                    continue;
                }
                let (from, to) = (side.name(), side.other().name());
                let what = match chunks {
                    0 => format!("{from} to {to}: no user data"),
                    1 => format!("{from} to {to}: one chunk or segment of user data"),
                    _ => format!("{from} to {to}: {chunks} chunks or segments of user data"),
                };
                let _ = writeln!(out, "<details><summary>{what}</summary>{plots}</details>");
            }
            let _ = writeln!(out, "<pre>{}</pre></section>", escape(&association.text));
        }
        html::page_with("tresse trace", STYLE, &out, SCRIPT)
    }
}

const HINT: &str = "<p class=\"hint\">Point at a plot for values; the plots of an association have one time axis. Ctrl and \
    wheel, two fingers, or + and - zoom in time (with Shift, or * and _, in height); drag a zoomed plot to move it; double-click, or 0, \
    shows all. Names in a legend are switches.</p>\n";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
