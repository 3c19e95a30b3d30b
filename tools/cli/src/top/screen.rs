//! The view in a terminal.

use std::io;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};

use super::{Source, Where, look, table};

const HELP: &str = "arrows, page up/down: scroll   q: quit   times in ms, * primary path";
/// Where there is no room for every column.
const HELP_NARROW: &str = "arrows: scroll   q: quit   wider: more columns";

/// Shows until the user ends it.
pub(super) fn run(place: &Where, interval: Duration, first: Vec<Source>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let result = watch(&mut terminal, place, interval, first);
    ratatui::restore();
    result
}

fn watch(
    terminal: &mut DefaultTerminal,
    place: &Where,
    interval: Duration,
    first: Vec<Source>,
) -> io::Result<()> {
    let mut sources = first;
    let mut state = TableState::default();
    let mut next = Instant::now() + interval;
    loop {
        terminal.draw(|frame| draw(frame, &sources, &mut state))?;
        let wait = next.saturating_duration_since(Instant::now());
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        return Ok(());
                    }
                    code => scroll(&mut state, code),
                },
                _ => {}
            }
        }
        if Instant::now() >= next {
            sources = look(place, sources);
            next = Instant::now() + interval;
        }
    }
}

fn scroll(state: &mut TableState, code: KeyCode) {
    let offset = state.offset_mut();
    *offset = match code {
        KeyCode::Down => offset.saturating_add(1),
        KeyCode::Up => offset.saturating_sub(1),
        KeyCode::PageDown => offset.saturating_add(20),
        KeyCode::PageUp => offset.saturating_sub(20),
        KeyCode::Home => 0,
        _ => return,
    };
}

fn draw(frame: &mut Frame<'_>, sources: &[Source], state: &mut TableState) {
    let headlines = table::headlines(sources);
    let rows = table::rows(sources);
    let room = usize::from(frame.area().width).max(1);
    let lines: usize = headlines.iter().map(|line| line.chars().count().div_ceil(room)).sum();
    let height = u16::try_from(lines).unwrap_or(u16::MAX).min(frame.area().height / 2);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(2), Constraint::Length(1)])
            .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    // Between any two letters, so that the number of lines is that of above.
    let headline = headlines.iter().flat_map(|line| pieces(line, room)).collect::<Vec<_>>();
    let headline = Paragraph::new(headline.join("\n"));
    frame.render_widget(headline.style(bold), top);
    let all = table::widths(&rows);
    let (columns, space) = table::fitting(&all, room);
    let help = if columns.len() == all.len() { HELP } else { HELP_NARROW };
    frame.render_widget(Paragraph::new(help).style(Style::new().fg(Color::DarkGray)), bottom);

    // Scrolled past the end, the last row stays.
    *state.offset_mut() = state.offset().min(rows.len().saturating_sub(1));
    let widths = columns
        .iter()
        .map(|column| Constraint::Length(u16::try_from(all[*column]).unwrap_or(u16::MAX)));
    let cell = |(i, text): (usize, &str)| {
        let side = if i < table::WORDS { Alignment::Left } else { Alignment::Right };
        Cell::new(Text::from(Line::from(text.to_owned()).alignment(side)))
    };
    let header = Row::new(columns.iter().map(|column| cell((*column, table::TITLES[*column]))));
    let header = header.style(Style::new().add_modifier(Modifier::REVERSED));
    let body = rows.iter().map(|row| {
        let cells = columns.iter().map(|column| cell((*column, row.cells[*column].as_str())));
        let style = if row.alarm { Style::new().fg(Color::Red) } else { Style::new() };
        Row::new(cells).style(style)
    });
    let table = Table::new(body, widths).header(header).column_spacing(space);
    frame.render_stateful_widget(table, middle, state);
}

/// A line in pieces of this many characters.
fn pieces(line: &str, length: usize) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    letters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_terminal_of_any_size_is_drawn_on() {
        let mut state = TableState::default();
        let mut sources = vec![Source::new("127.0.0.1:1".parse().unwrap())];
        sources[0].error = Some("nobody is there".into());
        for (width, height) in [(1, 1), (20, 3), (200, 50)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &sources, &mut state)).unwrap();
            let shown = terminal.backend().to_string();
            assert!(width < 100 || shown.contains("nobody is there"), "{shown}");
            assert!(width < 100 || shown.contains("QUEUE"), "{shown}");
            scroll(&mut state, KeyCode::PageDown);
        }
    }

    #[test]
    fn nothing_is_cut_off_where_it_is_narrow() {
        let mut source = Source::new("127.0.0.1:9464".parse().unwrap());
        source.now = Some(table::tests::snapshot(3.0, 2_000_000_000));
        let sources = [source];
        for (width, missing) in [(200, &[][..]), (80, &["SPURIOUS", "MIN"]), (60, &["RTO", "CWND"])]
        {
            let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
            terminal.draw(|frame| draw(frame, &sources, &mut TableState::default())).unwrap();
            // Lines are quoted, and go on where they were broken.
            let shown = terminal.backend().to_string().replace("\"\n\"", "");
            for word in ["192.0.2.1", "SRTT", "32.5", "OUT/s", "5.33 Gbit", "IN/s", "dropped 0"] {
                assert!(shown.contains(word), "{word}: {shown}");
            }
            assert!(!missing.iter().any(|title| shown.contains(title)), "{shown}");
            assert_eq!(shown.contains("wider: more"), !missing.is_empty(), "{shown}");
        }
    }
}
