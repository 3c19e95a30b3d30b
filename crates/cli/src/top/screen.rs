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
    let height = u16::try_from(headlines.len()).unwrap_or(u16::MAX).min(frame.area().height / 2);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(2), Constraint::Length(1)])
            .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(headlines.join("\n")).style(bold), top);
    frame.render_widget(Paragraph::new(HELP).style(Style::new().fg(Color::DarkGray)), bottom);

    // Scrolled past the end, the last row stays.
    *state.offset_mut() = state.offset().min(rows.len().saturating_sub(1));
    let widths = table::widths(&rows)
        .map(|width| Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX)));
    let cell = |(i, text): (usize, &str)| {
        let side = if i < table::WORDS { Alignment::Left } else { Alignment::Right };
        Cell::new(Text::from(Line::from(text.to_owned()).alignment(side)))
    };
    let header = Row::new(table::TITLES.into_iter().enumerate().map(cell));
    let header = header.style(Style::new().add_modifier(Modifier::REVERSED));
    let body = rows.iter().map(|row| {
        let cells = row.cells.iter().map(String::as_str).enumerate().map(cell);
        let style = if row.alarm { Style::new().fg(Color::Red) } else { Style::new() };
        Row::new(cells).style(style)
    });
    let table = Table::new(body, widths).header(header).column_spacing(2);
    frame.render_stateful_widget(table, middle, state);
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
}
