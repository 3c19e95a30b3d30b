//! Plots over time in one page: time-sequence plots like tcptrace's, round-trip times, flight. The
//! page loads nothing from elsewhere; its plots are SVG, which a few lines of script let one zoom.

mod plot;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plot::{Mark, Plot, Series};
use tresse_report::html::{self, escape};

use crate::event::{Event, Head, Observer};
use crate::sender::SenderState;
use crate::statistics::Class;
use crate::summary::Summary;
use crate::terms::{Identity, Side};
use crate::text;
use crate::trace::Totals;

/// This many associations are drawn, the first ones.
const MOST_ASSOCIATIONS: usize = 24;
/// This many marks of a direction are drawn, the first ones.
const MOST_MARKS: usize = 40_000;

/// What is drawn of one direction.
#[derive(Debug, Default)]
struct Drawn {
    /// Time in seconds and numbers of what was sent.
    sent: Vec<Mark>,
    again: BTreeMap<Option<Class>, Vec<Mark>>,
    spurious: Vec<Mark>,
    cumulative: Vec<(f64, f64)>,
    gaps: Vec<Mark>,
    rtt: Vec<Mark>,
    rto: Vec<(f64, f64)>,
    flight: Vec<(f64, f64)>,
    /// What the sender says of its first path.
    cwnd: Vec<(f64, f64)>,
    sender_rto: Vec<(f64, f64)>,
    marks: usize,
    /// From this time on nothing is drawn.
    full: Option<f64>,
}

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
        let at = head.at.saturating_sub(begin) as f64 / 1e9;
        // Acknowledgements belong to the data of the other side.
        let side = match event {
            Event::Data { .. } | Event::Sender { .. } | Event::Control { .. } => head.from,
            Event::Sack { .. } | Event::Spurious { .. } => head.from.other(),
            Event::Message { from, .. } | Event::Lost { from, .. } => *from,
        };
        let drawn = &mut association.directions[side.index()];
        if drawn.marks >= MOST_MARKS {
            drawn.full.get_or_insert(at);
            return;
        }
        drawn.marks += drawn.draw(at, event);
    }

    fn ends(&mut self, summary: &Summary) {
        if let Some(association) = self.associations.get_mut(&summary.identity.association) {
            association.text = text::summary(summary);
        }
    }
}

impl Drawn {
    /// Draws something; how many marks that takes.
    fn draw(&mut self, at: f64, event: &Event<'_>) -> usize {
        let mark = |from: i64, to: i64| Mark { x: at, from: from as f64, to: to as f64 };
        match event {
            Event::Data { number, end, again, .. } => {
                let marks = match again {
                    Some(again) => self.again.entry(again.class).or_default(),
                    None => &mut self.sent,
                };
                marks.push(mark(*number, *end));
                1
            }
            Event::Sack { cumulative, gaps, flight, rtt_ms, rto_ms, .. } => {
                self.cumulative.push((at, (cumulative + 1) as f64));
                self.gaps.extend(gaps.iter().map(|(first, last)| mark(*first, last + 1)));
                self.flight.push((at, *flight as f64));
                if let Some(ms) = rtt_ms {
                    self.rtt.push(Mark { x: at, from: *ms, to: *ms });
                }
                if let Some(ms) = rto_ms {
                    self.rto.push((at, *ms));
                }
                2 + gaps.len()
            }
            Event::Spurious { number, .. } => {
                self.spurious.push(mark(*number, number + 1));
                1
            }
            Event::Sender { state: SenderState::Window { cwnd, .. }, path: 0, .. } => {
                self.cwnd.push((at, *cwnd as f64));
                1
            }
            Event::Sender {
                state: SenderState::Rtt { rto_ms, .. } | SenderState::Expired { rto_ms },
                path: 0,
                ..
            } => {
                self.sender_rto.push((at, *rto_ms));
                1
            }
            Event::Lost { .. }
            | Event::Message { .. }
            | Event::Sender { .. }
            | Event::Control { .. } => 0,
        }
    }

    fn plots(&self, side: Side) -> Vec<Plot<'_>> {
        let class = |class: Option<Class>| match class {
            None => ("acknowledged already", "late"),
            Some(class) => (class.words(), class.name()),
        };
        let mut sequence = vec![
            Series::line("acknowledged", "acked", &self.cumulative),
            Series::marks("in gap blocks", "gaps", &self.gaps),
            Series::marks("sent", "sent", &self.sent),
        ];
        sequence.extend(self.again.iter().map(|(kind, marks)| {
            let (label, style) = class(*kind);
            Series::marks(label, style, marks)
        }));
        sequence.push(Series::marks(
            "proven spurious (when it is known)",
            "spurious",
            &self.spurious,
        ));
        let (from, to) = (side.name(), side.other().name());
        let plot = |what: &str, y_label, series| Plot {
            title: format!("{from} to {to}: {what}"),
            y_label,
            series,
        };
        vec![
            plot("time and sequence", "number", sequence),
            plot(
                "round-trip time and RTO",
                "ms",
                vec![
                    Series::line("RTO by the standard", "timeout", &self.rto),
                    Series::line("RTO of the sender", "probe", &self.sender_rto),
                    Series::marks("RTT", "sent", &self.rtt),
                ],
            ),
            plot(
                "in flight",
                "bytes",
                vec![
                    Series::line("congestion window of the first path", "timeout", &self.cwnd),
                    Series::line("in flight", "sent", &self.flight),
                ],
            ),
        ]
    }
}

impl Page {
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
        out.push_str("<p class=\"hint\">Wheel: zoom in time; with Shift, in height. Drag: move. Double-click: all.</p>\n");
        for association in self.associations.values() {
            let Identity { association: id, protocol, a, b } = &association.identity;
            let title = format!("#{id} {}: A {a}, B {b}", protocol.to_uppercase());
            let _ = writeln!(out, "<section><h2>{}</h2>", escape(&title));
            for side in [Side::A, Side::B] {
                let drawn = &association.directions[side.index()];
                for plot in drawn.plots(side) {
                    plot.svg(&mut out);
                }
                if let Some(at) = drawn.full {
                    let _ =
                        writeln!(out, "<p>Drawn are the first {at:.3} s: {MOST_MARKS} marks.</p>");
                }
            }
            let _ = writeln!(out, "<pre>{}</pre></section>", escape(&association.text));
        }
        let _ = writeln!(out, "<script>\n{SCRIPT}</script>");
        html::page("tresse trace", STYLE, &out)
    }
}

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
