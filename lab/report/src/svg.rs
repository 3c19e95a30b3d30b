//! Draws a figure as SVG: a title, a legend outside of the data, axes, lines with markers.
//!
//! The first colours are those of Okabe & Ito, which people with any colour vision tell apart; markers
//! differ in shape as well. The page restyles text, grid and background for dark displays by the
//! colours named here, so each of them has one purpose. Frame, lines and entries of the legend are drawn in layers of
//! their own and stand in a group each, so that a script can hide a line and find its entry (docs/adr/0017).

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::escape::escape;
use crate::figure::{Figure, Line, Look, Point, ReferenceAt};
use crate::scale::Scale;
use crate::twins;

/// Background.
pub const BACKGROUND: RGBColor = RGBColor(255, 255, 255);
/// Text and axes.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Grid.
pub const GRID: RGBColor = RGBColor(225, 225, 225);

pub(crate) const PALETTE: [RGBColor; 10] = [
    RGBColor(117, 117, 117), // grey: the run without loss
    RGBColor(213, 94, 0),    // vermilion
    RGBColor(0, 114, 178),   // blue
    RGBColor(0, 158, 115),   // bluish green
    RGBColor(204, 121, 167), // reddish purple
    RGBColor(230, 159, 0),   // orange
    RGBColor(86, 180, 233),  // sky blue
    RGBColor(140, 81, 10),   // brown
    RGBColor(74, 58, 158),   // indigo
    RGBColor(138, 21, 68),   // maroon
];

/// How large a drawing is, and who shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a window, and for a file of its own.
    Wide,
    /// For the screen of a telephone: smaller, with letters as large.
    Narrow,
}

impl Format {
    fn size(self) -> (u32, u32) {
        match self {
            Format::Wide => (920, 520),
            Format::Narrow => (400, 400),
        }
    }

    /// Letters of a title.
    fn title(self) -> u32 {
        match self {
            Format::Wide => 19,
            Format::Narrow => 15,
        }
    }

    /// At most about this many labels have room on the x axis.
    fn x_labels(self, figure: &Figure) -> usize {
        match self {
            Format::Wide => figure.x_labels,
            // Names have no room beside each other; the values tell them.
            Format::Narrow if figure.categories.is_empty() => figure.x_labels.min(5),
            Format::Narrow => figure.x_labels,
        }
    }
}

const LEGEND_ROW: i32 = 24;
const FONT: &str = "sans-serif";
/// This many marks can be large and still be told apart.
const FEW_MARKS: usize = 80;

type Error = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Scale>>;

/// The figure as SVG text.
///
/// # Errors
/// What the drawing library says, as text; it has no reason to fail on finite ranges.
pub fn draw(figure: &Figure, format: Format) -> Result<String, String> {
    Canvas::new(figure, format).draw().map_err(|e| format!("cannot draw \"{}\": {e}", figure.title))
}

/// An entry of the legend: where it stands, and the line that it names; none: the published numbers.
struct Entry<'a> {
    at: (i32, i32),
    label: &'a str,
    line: Option<usize>,
}

/// A figure on its way to SVG.
struct Canvas<'f> {
    figure: &'f Figure,
    format: Format,
    /// The title, row by row.
    title: Vec<String>,
    legend: Vec<Entry<'f>>,
    /// Where the area of the plot begins.
    top: i32,
    /// For each line, the number of those drawn before that it covers.
    covered: Vec<usize>,
}

impl<'f> Canvas<'f> {
    fn new(figure: &'f Figure, format: Format) -> Canvas<'f> {
        let width = format.size().0 as i32;
        let letters = (width - 40) as usize * 9 / (5 * format.title() as usize);
        let title = wrap(&figure.title, letters);
        let title_height = 21 + (format.title() as i32) * title.len() as i32;
        let (legend, top) = lay_out_legend(figure, width, title_height);
        Canvas { figure, format, title, legend, top, covered: twins::covered(figure) }
    }

    fn draw(&self) -> Result<String, Error> {
        let (figure, (width, height)) = (self.figure, self.format.size());
        let (mut frame, mut area) = (String::new(), [0; 4]);
        self.layer(&mut frame, |root, chart| {
            let (xs, ys) = chart.plotting_area().get_pixel_range();
            area = [xs.start, ys.start, xs.end - xs.start, ys.end - ys.start];
            self.draw_frame(root, chart)
        })?;
        let [x_low, x_high] = figure.x_range;
        let [y_low, y_high] = figure.y_range;
        let [left, top, wide, high] = area;
        let names: Vec<&str> = figure.lines.iter().map(|line| line.label.as_str()).collect();
        let mut out = format!(
            "<svg class=\"chart {}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-label=\"{}\" data-area=\"{left} {top} {wide} {high}\" data-x=\"{x_low} {x_high}\" \
             data-y=\"{y_low} {y_high}\"{} xmlns=\"http://www.w3.org/2000/svg\">\n<title>{}</title>\n<desc>{}</desc>\n",
            if self.format == Format::Wide { "broad" } else { "narrow" },
            escape(&figure.title),
            if figure.y_log { " data-log=\"y\"" } else { "" },
            escape(&figure.title),
            escape(&format!("{} against {}: {}", figure.y_label, figure.x_label, names.join("; "))),
        );
        out.push_str(&format!("<g>{frame}</g>\n"));
        if !figure.references.is_empty() {
            out.push_str("<g class=\"published\">");
            self.layer(&mut out, |_, chart| draw_references(chart, figure))?;
            out.push_str("</g>\n");
        }
        for (index, (line, size)) in figure.lines.iter().zip(sizes(figure)).enumerate() {
            let _ = write!(out, "<g class=\"series\" data-line=\"{index}\">");
            let covered = self.covered[index];
            let mut drawn = String::new();
            self.layer(&mut drawn, |root, chart| draw_line(root, chart, line, size, covered))?;
            // What it lies upon is seen between its dashes.
            let (solid, gap) =
                (format!("stroke-width=\"{}\" points", thickness(line, size)), 8 * covered);
            let dashed = format!("stroke-dasharray=\"8 {gap}\" {solid}");
            out.push_str(&if covered > 0 { drawn.replace(&solid, &dashed) } else { drawn });
            out.push_str("</g>\n");
        }
        for entry in &self.legend {
            let line = entry.line.map_or(-1, |line| line as i64);
            let _ = write!(out, "<g class=\"key\" data-line=\"{line}\">");
            let _ = write!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"22\" fill=\"#FFFFFF\"/>",
                entry.at.0 - 4,
                entry.at.1 - 11,
                48 + 8 * entry.label.chars().count()
            );
            self.layer(&mut out, |root, _| self.draw_entry(root, entry))?;
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        Ok(out)
    }

    /// Adds what `draw` draws, without the tags around it.
    fn layer<F>(&self, out: &mut String, draw: F) -> Result<(), Error>
    where
        F: for<'a> FnOnce(&Area<'a>, &mut Chart<'a, '_>) -> Result<(), Error>,
    {
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, self.format.size()).into_drawing_area();
            let (_, plot_area) = root.split_vertically(self.top);
            let [x_low, x_high] = self.figure.x_range;
            let y = Scale::new(self.figure.y_range, self.figure.y_log);
            let mut chart = ChartBuilder::on(&plot_area)
                .margin_top(10)
                .margin_right(24)
                .margin_bottom(10)
                .margin_left(if self.format == Format::Wide { 12 } else { 2 })
                .x_label_area_size(50)
                .y_label_area_size(62)
                .build_cartesian_2d(x_low..x_high, y)?;
            draw(&root, &mut chart)?;
            root.present()?;
        }
        let begin = svg.find("<svg").and_then(|tag| Some(tag + svg[tag..].find('>')? + 1));
        let inner = svg[begin.unwrap_or(0)..].trim_end().trim_end_matches("</svg>").trim();
        // What SVG takes for granted is left out; line ends as well.
        out.push_str(
            &inner
                .replace(" opacity=\"1\"", "")
                .replace(" stroke=\"none\"", "")
                .replace("/>\n", "/>"),
        );
        Ok(())
    }

    /// Background, title, axes.
    fn draw_frame(&self, root: &Area<'_>, chart: &mut Chart<'_, '_>) -> Result<(), Error> {
        let figure = self.figure;
        root.fill(&BACKGROUND)?;
        let size = self.format.title();
        for (row, text) in self.title.iter().enumerate() {
            let style = (FONT, size).into_font().style(FontStyle::Bold).color(&INK);
            let y = 14 + (size as i32 + 2) * row as i32;
            root.draw(&Text::new(text.clone(), (20, y), style))?;
        }
        chart
            .configure_mesh()
            .x_labels(self.format.x_labels(figure))
            .y_labels(y_labels(figure))
            .x_label_formatter(&|v| self.category(*v))
            .y_label_formatter(&|v| number(*v))
            .x_desc(figure.x_label.clone())
            .y_desc(figure.y_label.clone())
            .axis_desc_style(
                (FONT, if self.format == Format::Wide { 16 } else { 15 }).into_font().color(&INK),
            )
            .label_style((FONT, 15).into_font().color(&INK))
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .draw()?;
        if figure.y_range[0] < 0.0 {
            let zero = figure.x_range.map(|x| (x, 0.0));
            chart.draw_series(LineSeries::new(zero, INK.stroke_width(1)))?;
        }
        Ok(())
    }

    /// What stands below a place on the x axis.
    fn category(&self, x: f64) -> String {
        let name = category(self.figure, x);
        let room = match self.format {
            Format::Narrow if !self.figure.categories.is_empty() => {
                (300 / (7 * self.figure.categories.len())).max(3)
            }
            _ => return name,
        };
        if name.chars().count() <= room {
            name
        } else {
            name.chars().take(room - 1).chain(['…']).collect()
        }
    }

    /// An entry of the legend.
    fn draw_entry(&self, root: &Area<'_>, entry: &Entry<'_>) -> Result<(), Error> {
        let (x, y) = entry.at;
        let text = (FONT, 15).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        let level =
            self.figure.references.iter().any(|r| matches!(r.at, ReferenceAt::Level { .. }));
        match entry.line {
            Some(index) => {
                let line = &self.figure.lines[index];
                let size = sizes(self.figure).nth(index).unwrap_or(2);
                let covered = self.covered[index];
                let colour = colour(line.style);
                let thin = matches!(line.look, Look::Thin | Look::Steps);
                let width = if thin { 2 } else { 1 + size };
                if thin || line.look == Look::Marked {
                    let (ends, style) = ([(x, y), (x + 34, y)], colour.stroke_width(width));
                    if covered > 0 {
                        dashes(root, ends, style)?;
                    } else {
                        root.draw(&PathElement::new(ends.to_vec(), style))?;
                    }
                }
                draw_mark(root, (x + 17, y), line, size, covered)?;
            }
            None if level => dashes(root, [(x, y), (x + 34, y)], INK.stroke_width(1))?,
            None => root.draw(&Circle::new((x + 17, y), 9, INK.stroke_width(2)))?,
        }
        root.draw(&Text::new(entry.label.to_owned(), (x + 42, y), text))?;
        Ok(())
    }
}

/// A few dashes for a legend.
fn dashes(root: &Area<'_>, [from, to]: [(i32, i32); 2], style: ShapeStyle) -> Result<(), Error> {
    for start in (from.0..to.0).step_by(12) {
        root.draw(&PathElement::new(vec![(start, from.1), (start + 7, from.1)], style))?;
    }
    Ok(())
}

/// `text` in rows of at most about this many letters.
fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split_whitespace() {
        let row = rows.last_mut().filter(|row| {
            row.is_empty() || row.chars().count() + 1 + word.chars().count() <= letters
        });
        match row {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) => {
                row.push(' ');
                row.push_str(word);
            }
            None => rows.push(word.to_owned()),
        }
    }
    rows
}

/// The entries of the legend below the title, in as many rows as they need, and where they end.
fn lay_out_legend(figure: &Figure, width: i32, title_height: i32) -> (Vec<Entry<'_>>, i32) {
    let lines = figure.lines.iter().enumerate().map(|(n, line)| (line.label.as_str(), Some(n)));
    let published = (!figure.references.is_empty()).then_some((figure.reference_name, None));
    let (mut x, mut y) = (24, title_height + LEGEND_ROW / 2);
    let mut entries = Vec::new();
    for (label, line) in lines.chain(published) {
        // Generous: the width of a character depends on the viewer's font.
        let needed = 48 + 8 * label.chars().count() as i32 + 14;
        if x + needed > width && x > 24 {
            (x, y) = (24, y + LEGEND_ROW);
        }
        entries.push(Entry { at: (x, y), label, line });
        x += needed;
    }
    (entries, y + LEGEND_ROW / 2)
}

/// About how many labels the y axis has.
fn y_labels(figure: &Figure) -> usize {
    const USUAL: usize = 9;
    let [low, high] = figure.y_range;
    if figure.whole { USUAL.min((high - low) as usize + 1) } else { USUAL }
}

/// What stands below a place on the x axis.
fn category(figure: &Figure, x: f64) -> String {
    if figure.categories.is_empty() {
        return number(x);
    }
    let index = x.round();
    let between = (x - index).abs() > 1e-6 || index < 0.0;
    let name = if between { None } else { figure.categories.get(index as usize) };
    name.cloned().unwrap_or_default()
}

/// Whole numbers without a decimal point.
fn number(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    if rounded == 0.0 { "0".into() } else { format!("{rounded}") }
}

fn colour(style: usize) -> RGBColor {
    if style < PALETTE.len() {
        PALETTE[style]
    } else {
        PALETTE[1 + (style - 1) % (PALETTE.len() - 1)]
    }
}

fn draw_line<'a>(
    root: &Area<'a>,
    chart: &mut Chart<'a, '_>,
    line: &Line,
    size: u32,
    covered: usize,
) -> Result<(), Error> {
    let colour = colour(line.style);
    let joined = matches!(line.look, Look::Marked | Look::Thin | Look::Steps);
    let width = thickness(line, size);
    for piece in &line.pieces {
        if joined {
            let style = colour.stroke_width(width);
            chart.draw_series(LineSeries::new(line.corners(piece), style))?;
        }
        for Point { x, y, bar, at_least } in piece {
            if *at_least {
                let (x, y) = chart.backend_coord(&(*x, *y));
                // An arrow: the end is further up.
                let arrow = [(x, y), (x, y - 26), (x - 5, y - 19), (x, y - 26), (x + 5, y - 19)];
                root.draw(&PathElement::new(arrow.to_vec(), colour.stroke_width(2)))?;
            }
            if let Some([low, high]) = bar {
                let at = |y: f64| chart.backend_coord(&(*x, y));
                let ((x, low), (_, high)) = (at(*low), at(*high));
                let ends =
                    [(x - 4, low), (x + 4, low), (x, low), (x, high), (x - 4, high), (x + 4, high)];
                root.draw(&PathElement::new(ends.to_vec(), colour.stroke_width(1)))?;
            }
        }
        for p in piece {
            let at = chart.backend_coord(&(p.x, p.y));
            draw_mark(root, at, line, size, covered)?;
        }
    }
    Ok(())
}

/// How thick a line is.
fn thickness(line: &Line, size: u32) -> u32 {
    if matches!(line.look, Look::Thin | Look::Steps) { 1 } else { 1 + size }
}

/// Draws what stands at a point of a line, if anything does.
fn draw_mark(
    root: &Area<'_>,
    at: (i32, i32),
    line: &Line,
    size: u32,
    covered: usize,
) -> Result<(), Error> {
    let colour = colour(line.style);
    let many = line.pieces.iter().map(Vec::len).sum::<usize>() > FEW_MARKS;
    match line.look {
        Look::Thin | Look::Steps => {}
        Look::Dots => root.draw(&Circle::new(at, if many { 2 } else { 4 }, colour.filled()))?,
        Look::Rings if many => root.draw(&Circle::new(at, 3, colour.stroke_width(1)))?,
        Look::Rings => root.draw(&Circle::new(at, 6, colour.stroke_width(2)))?,
        Look::Crosses => root.draw(&Cross::new(at, 6, INK.stroke_width(2)))?,
        Look::Marked | Look::Markers => {
            // Around a smaller marker one sees what it lies upon.
            let smaller = 3 * covered as i32;
            if covered > 0 {
                let r = (4 + size as i32 - smaller).max(3);
                root.draw(&Circle::new(at, r, BACKGROUND.filled()))?;
            }
            draw_marker(root, at, line.style, (size as i32 - smaller).max(-1))?;
        }
    }
    Ok(())
}

/// How thick the lines are: in a layered figure, what is drawn first is thicker, so that it can be
/// seen where a later line covers it.
fn sizes(figure: &Figure) -> impl Iterator<Item = u32> {
    let lines = figure.lines.len();
    figure.lines.iter().enumerate().map(move |(index, line)| match (figure.layered, line.style) {
        (true, 0) => 1,
        (true, _) => 1 + (lines - index).min(3) as u32,
        (false, _) => 2,
    })
}

/// Draws the marker of a style around a pixel: a small one, or one of six shapes.
fn draw_marker(root: &Area<'_>, (x, y): (i32, i32), style: usize, size: i32) -> Result<(), Error> {
    let colour = colour(style);
    let filled = colour.filled();
    let r = 2 + size;
    let polygon = |corners: &[(i32, i32)]| {
        Polygon::new(corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>(), filled)
    };
    match style.checked_sub(1).map(|style| style % 6) {
        None => root.draw(&Circle::new((x, y), (r - 2).max(1), filled))?,
        Some(0) => root.draw(&Rectangle::new([(x - r, y - r), (x + r, y + r)], filled))?,
        Some(1) => root.draw(&Circle::new((x, y), r + 1, filled))?,
        Some(2) => root.draw(&polygon(&[(0, -r - 2), (r + 2, r + 1), (-r - 2, r + 1)]))?,
        Some(3) => root.draw(&polygon(&[(0, -r - 2), (r + 2, 0), (0, r + 2), (-r - 2, 0)]))?,
        Some(4) => root.draw(&polygon(&[(0, r + 2), (r + 2, -r - 1), (-r - 2, -r - 1)]))?,
        _ => root.draw(&Cross::new((x, y), r + 1, colour.stroke_width(2)))?,
    }
    Ok(())
}

fn draw_references<'a>(chart: &mut Chart<'a, '_>, figure: &Figure) -> Result<(), Error> {
    let [x_low, x_high] = figure.x_range;
    for reference in &figure.references {
        let colour = colour(reference.style);
        match reference.at {
            ReferenceAt::Level { y } => {
                let ends = [(x_low, y), (x_high, y)];
                let style = colour.stroke_width(1);
                chart.draw_series(DashedLineSeries::new(ends, 7, 5, style))?;
            }
            ReferenceAt::Point { x, y } => {
                let style = colour.stroke_width(2);
                let star = EmptyElement::at((x, y)) + Circle::new((0, 0), 9, style);
                chart.draw_series(std::iter::once(star))?;
            }
        }
    }
    Ok(())
}
