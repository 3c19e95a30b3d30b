//! Draws a figure as SVG: a title, a legend outside of the data, axes, lines with markers.
//!
//! The first colours are those of Okabe & Ito, which people with any colour vision tell apart; markers
//! differ in shape as well. The page restyles text, grid and background for dark displays by the
//! colours named here, so each of them has one purpose.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figure::{Figure, Line, Look, Point, ReferenceAt};

/// Background.
pub const BACKGROUND: RGBColor = RGBColor(255, 255, 255);
/// Text and axes.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Grid.
pub const GRID: RGBColor = RGBColor(225, 225, 225);

const PALETTE: [RGBColor; 10] = [
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

const SIZE: (u32, u32) = (920, 520);
const TITLE_HEIGHT: i32 = 40;
const LEGEND_ROW: i32 = 24;
const FONT: &str = "sans-serif";
/// This many marks can be large and still be told apart.
const FEW_MARKS: usize = 80;

type Error = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The figure as SVG text.
///
/// # Errors
/// What the drawing library says, as text; it has no reason to fail on finite ranges.
pub fn draw(figure: &Figure) -> Result<String, String> {
    let mut svg = String::new();
    draw_into(figure, &mut svg).map_err(|e| format!("cannot draw \"{}\": {e}", figure.title))?;
    Ok(svg)
}

fn draw_into(figure: &Figure, svg: &mut String) -> Result<(), Error> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&BACKGROUND)?;
    let title = (FONT, 19).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(figure.title.clone(), (20, 14), title))?;
    let legend_height = draw_legend(&root, figure)?;
    let (_, plot_area) = root.split_vertically(TITLE_HEIGHT + legend_height);
    let [x_low, x_high] = figure.x_range;
    let [y_low, y_high] = figure.y_range;
    let mut chart = ChartBuilder::on(&plot_area)
        .margin_top(10)
        .margin_right(24)
        .margin_bottom(10)
        .margin_left(12)
        .x_label_area_size(50)
        .y_label_area_size(62)
        .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
    chart
        .configure_mesh()
        .x_labels(figure.x_labels)
        .y_labels(y_labels(figure))
        .x_label_formatter(&|v| category(figure, *v))
        .y_label_formatter(&|v| number(*v))
        .x_desc(figure.x_label.clone())
        .y_desc(figure.y_label.clone())
        .axis_desc_style((FONT, 16).into_font().color(&INK))
        .label_style((FONT, 14).into_font().color(&INK))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .draw()?;
    draw_references(&mut chart, figure)?;
    for (line, size) in figure.lines.iter().zip(sizes(figure)) {
        draw_line(&root, &mut chart, line, size)?;
    }
    root.present()?;
    Ok(())
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
) -> Result<(), Error> {
    let colour = colour(line.style);
    let joined = matches!(line.look, Look::Marked | Look::Thin);
    let width = if line.look == Look::Thin { 1 } else { 1 + size };
    for piece in &line.pieces {
        if joined {
            let points = piece.iter().map(|p| (p.x, p.y));
            chart.draw_series(LineSeries::new(points, colour.stroke_width(width)))?;
        }
        for Point { x, y, bar } in piece {
            if let Some([low, high]) = bar {
                let style = colour.stroke_width(1);
                let bar = ErrorBar::new_vertical(*x, *low, *y, *high, style, 8);
                chart.draw_series(std::iter::once(bar))?;
            }
        }
        for p in piece {
            let at = chart.backend_coord(&(p.x, p.y));
            draw_mark(root, at, line, size)?;
        }
    }
    Ok(())
}

/// Draws what stands at a point of a line, if anything does.
fn draw_mark(root: &Area<'_>, at: (i32, i32), line: &Line, size: u32) -> Result<(), Error> {
    let colour = colour(line.style);
    let many = line.pieces.iter().map(Vec::len).sum::<usize>() > FEW_MARKS;
    match line.look {
        Look::Thin => {}
        Look::Dots => root.draw(&Circle::new(at, if many { 2 } else { 4 }, colour.filled()))?,
        Look::Rings if many => root.draw(&Circle::new(at, 3, colour.stroke_width(1)))?,
        Look::Rings => root.draw(&Circle::new(at, 6, colour.stroke_width(2)))?,
        Look::Crosses => root.draw(&Cross::new(at, 6, INK.stroke_width(2)))?,
        Look::Marked | Look::Markers => draw_marker(root, at, line.style, size)?,
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
fn draw_marker(root: &Area<'_>, (x, y): (i32, i32), style: usize, size: u32) -> Result<(), Error> {
    let colour = colour(style);
    let filled = colour.filled();
    let r = 2 + size as i32;
    let polygon = |corners: &[(i32, i32)]| {
        Polygon::new(corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>(), filled)
    };
    match style.checked_sub(1).map(|style| style % 6) {
        None => root.draw(&Circle::new((x, y), r - 2, filled))?,
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

/// Draws the legend below the title, in as many rows as it needs, and says how high it is.
fn draw_legend(root: &Area<'_>, figure: &Figure) -> Result<i32, Error> {
    let text = (FONT, 15).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let level = figure.references.iter().any(|r| matches!(r.at, ReferenceAt::Level { .. }));
    let point = figure.references.iter().any(|r| matches!(r.at, ReferenceAt::Point { .. }));
    let mut entries: Vec<(&str, Option<(&Line, u32)>)> = figure
        .lines
        .iter()
        .zip(sizes(figure))
        .map(|(line, size)| (line.label.as_str(), Some((line, size))))
        .collect();
    if level || point {
        entries.push(("paper", None));
    }
    let (mut x, mut y) = (24, TITLE_HEIGHT + LEGEND_ROW / 2);
    for (label, style) in entries {
        // Generous: the width of a character depends on the viewer's font.
        let width = 48 + 8 * label.chars().count() as i32 + 14;
        if x + width > SIZE.0 as i32 && x > 24 {
            (x, y) = (24, y + LEGEND_ROW);
        }
        match style {
            Some((line, size)) => {
                let colour = colour(line.style);
                let ends = vec![(x, y), (x + 34, y)];
                let width = if line.look == Look::Thin { 2 } else { 1 + size };
                if matches!(line.look, Look::Marked | Look::Thin) {
                    root.draw(&PathElement::new(ends, colour.stroke_width(width)))?;
                }
                draw_mark(root, (x + 17, y), line, size)?;
            }
            None if level => {
                for start in [x, x + 12, x + 24] {
                    let dash = vec![(start, y), (start + 7, y)];
                    root.draw(&PathElement::new(dash, INK.stroke_width(1)))?;
                }
            }
            None => root.draw(&Circle::new((x + 17, y), 9, INK.stroke_width(2)))?,
        }
        root.draw(&Text::new(label.to_owned(), (x + 42, y), text.clone()))?;
        x += width;
    }
    Ok(y + LEGEND_ROW / 2 - TITLE_HEIGHT)
}
