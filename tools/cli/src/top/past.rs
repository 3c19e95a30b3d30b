//! How the chosen path went: a line of bars for each measure, the latest look at the right.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Paragraph, RenderDirection, Sparkline};

use super::history::{KEPT, MEASURES, Sample};
use super::source::Source;
use super::table::{REMOTE, Row, in_unit};

/// Lines: a title, and one for each measure.
pub(super) const HEIGHT: u16 = MEASURES.len() as u16 + 1;

/// Of the names of measures, and of the words behind the bars.
const LABELS: (u16, u16) = (6, 18);

/// Draws it for the path of a row.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, sources: &[Source], row: &Row) {
    let samples: Vec<Sample> = sources
        .iter()
        .find(|source| source.address == row.source)
        .map_or_else(Vec::new, |source| source.history.of(&row.place).collect());
    let [title, lines] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let (name, path) = &row.place;
    let looks = samples.len().min(KEPT);
    let text = format!("{name} path {path} ({}), the last {looks} looks", row.cells[REMOTE]);
    frame.render_widget(
        Paragraph::new(text).style(Style::new().add_modifier(Modifier::BOLD)),
        title,
    );

    let each = Layout::vertical(MEASURES.map(|_| Constraint::Length(1))).split(lines);
    for (i, (name, unit)) in MEASURES.into_iter().enumerate() {
        let [label, bars, scale] = Layout::horizontal([
            Constraint::Length(LABELS.0),
            Constraint::Min(0),
            Constraint::Length(LABELS.1),
        ])
        .areas(each[i]);
        // Of what has room.
        let values: Vec<Option<f32>> = samples
            .iter()
            .take(usize::from(bars.width))
            .map(|sample| sample.map(|values| values[i]))
            .collect();
        let most = values.iter().flatten().copied().fold(0.0, f32::max);
        frame.render_widget(Paragraph::new(name), label);
        let line = Sparkline::default()
            .data(values.iter().map(|value| value.map(|value| eighths(value, most))))
            .max(8)
            .direction(RenderDirection::RightToLeft)
            .absent_value_symbol("·")
            .style(Style::new().fg(if name == "LOST" { Color::Red } else { Color::Cyan }));
        frame.render_widget(line, bars);
        let most = format!("at most {}", in_unit(f64::from(most), unit));
        frame.render_widget(Paragraph::new(most).alignment(Alignment::Right), scale);
    }
}

/// The height of a bar; what is not nothing is seen.
fn eighths(value: f32, most: f32) -> u64 {
    if most > 0.0 { (value / most * 8.0).ceil() as u64 } else { 0 }
}
