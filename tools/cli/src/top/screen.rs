//! The view in a terminal.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};

use super::history::Place;
use super::order::{Order, hide_repeated};
use super::source::{Source, Where, look};
use super::{past, table};

const HELP: &str = "up/down: choose   left/right: sort by   r: reverse   space: hold   q: quit   times in ms, * primary path";
/// Where there is no room for every column.
const HELP_NARROW: &str = "left/right: sort   r, space, q: quit   wider: more columns";

/// Lines of a table that are shown at least before there is room for the past below it.
const LEAST_ROWS: u16 = 6;

/// What the user has chosen to see.
#[derive(Default)]
struct View {
    table: TableState,
    /// A path of a process; the first one if there is none.
    chosen: Option<(SocketAddr, Place)>,
    order: Order,
    /// Nothing is asked for at present.
    held: bool,
    /// The columns that had room.
    columns: Vec<usize>,
}

/// Shows until the user ends it.
pub(super) fn run(
    place: &Where,
    interval: Duration,
    first: Vec<Source>,
    order: Order,
) -> io::Result<()> {
    #[cfg(unix)]
    give_back_when_killed()?;
    let mut terminal = ratatui::try_init()?;
    let view = View { order, ..View::default() };
    let result = watch(&mut terminal, place, interval, first, view);
    ratatui::restore();
    result
}

/// A signal that ends the process gives the terminal back first; the process still ends of it.
#[cfg(unix)]
fn give_back_when_killed() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            ratatui::restore();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    Ok(())
}

fn watch(
    terminal: &mut DefaultTerminal,
    place: &Where,
    interval: Duration,
    first: Vec<Source>,
    mut view: View,
) -> io::Result<()> {
    let mut sources = first;
    let mut next = Instant::now() + interval;
    loop {
        terminal.draw(|frame| draw(frame, &sources, &mut view))?;
        let wait = next.saturating_duration_since(Instant::now());
        if event::poll(wait)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && !view.obeys(key, &sources)
        {
            return Ok(());
        }
        if Instant::now() >= next {
            if !view.held {
                sources = look(place, sources);
            }
            next = Instant::now() + interval;
        }
    }
}

impl View {
    /// Does what a key asks for; false at the end.
    fn obeys(&mut self, key: KeyEvent, sources: &[Source]) -> bool {
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char(' ') => self.held = !self.held,
            KeyCode::Char('r') => self.order.reversed = !self.order.reversed,
            KeyCode::Right => self.order.step(&self.columns, true),
            KeyCode::Left => self.order.step(&self.columns, false),
            KeyCode::Down => self.choose(sources, |at| at + 1),
            KeyCode::Up => self.choose(sources, |at| at.saturating_sub(1)),
            KeyCode::PageDown => self.choose(sources, |at| at + 20),
            KeyCode::PageUp => self.choose(sources, |at| at.saturating_sub(20)),
            KeyCode::Home => self.choose(sources, |_| 0),
            KeyCode::End => self.choose(sources, |_| usize::MAX),
            _ => {}
        }
        true
    }

    /// The rows in their order, and which of them is chosen.
    fn rows(&self, sources: &[Source]) -> (Vec<table::Row>, usize) {
        let mut rows = table::rows(sources);
        self.order.sort(&mut rows);
        let chosen = self.chosen.as_ref().and_then(|(source, place)| {
            rows.iter().position(|row| row.source == *source && row.place == *place)
        });
        (rows, chosen.unwrap_or(0))
    }

    fn choose(&mut self, sources: &[Source], to: impl FnOnce(usize) -> usize) {
        let (rows, at) = self.rows(sources);
        let row = &rows.get(to(at).min(rows.len().saturating_sub(1)));
        self.chosen = row.map(|row| (row.source, row.place.clone()));
    }
}

fn draw(frame: &mut Frame<'_>, sources: &[Source], view: &mut View) {
    let headlines = table::headlines(sources);
    let (mut rows, chosen) = view.rows(sources);
    hide_repeated(&mut rows);
    let area = frame.area();
    let room = usize::from(area.width).max(1);
    let lines: usize = headlines.iter().map(|line| line.chars().count().div_ceil(room)).sum();
    let height = u16::try_from(lines).unwrap_or(u16::MAX).min(area.height / 2);
    let past = match rows.get(chosen) {
        Some(_) if area.height > height + LEAST_ROWS + past::HEIGHT => past::HEIGHT,
        _ => 0,
    };
    let [top, middle, below, bottom] = Layout::vertical([
        Constraint::Length(height),
        Constraint::Min(2),
        Constraint::Length(past),
        Constraint::Length(1),
    ])
    .areas(area);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    // Between any two letters, so that the number of lines is that of above.
    let headline = headlines.iter().flat_map(|line| pieces(line, room)).collect::<Vec<_>>();
    let headline = Paragraph::new(headline.join("\n"));
    frame.render_widget(headline.style(bold), top);
    let whole = list(frame, middle, &rows, chosen, view);
    if past > 0 {
        past::draw(frame, below, sources, &rows[chosen]);
    }
    let help = if view.held {
        "held: space goes on"
    } else if whole {
        HELP
    } else {
        HELP_NARROW
    };
    frame.render_widget(Paragraph::new(help).style(Style::new().fg(Color::DarkGray)), bottom);
}

/// The rows; whether there is room for all columns.
fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    rows: &[table::Row],
    chosen: usize,
    view: &mut View,
) -> bool {
    let mut all = table::widths(rows);
    for (column, width) in all.iter_mut().enumerate() {
        let title = table::TITLES[column].chars().count();
        *width = (*width).max(title + view.order.mark(column).chars().count());
    }
    let (columns, space) = table::fitting(&all, usize::from(area.width).max(1));
    let widths = columns
        .iter()
        .map(|column| Constraint::Length(u16::try_from(all[*column]).unwrap_or(u16::MAX)));
    let cell = |i: usize, text: String| {
        let side = if i < table::WORDS { Alignment::Left } else { Alignment::Right };
        Cell::new(Text::from(Line::from(text).alignment(side)))
    };
    let titles = columns.iter().map(|column| {
        cell(*column, format!("{}{}", table::TITLES[*column], view.order.mark(*column)))
    });
    let header = Row::new(titles).style(Style::new().add_modifier(Modifier::REVERSED));
    let body = rows.iter().map(|row| {
        let cells = columns.iter().map(|column| cell(*column, row.cells[*column].clone()));
        let style = if row.alarm { Style::new().fg(Color::Red) } else { Style::new() };
        Row::new(cells).style(style)
    });
    let chosen_style = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    let table = Table::new(body, widths)
        .header(header)
        .column_spacing(space)
        .row_highlight_style(chosen_style);
    view.table.select((!rows.is_empty()).then_some(chosen));
    frame.render_stateful_widget(table, area, &mut view.table);
    view.columns = columns;
    view.columns.len() == table::TITLES.len()
}

/// A line in pieces of this many characters.
fn pieces(line: &str, length: usize) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    letters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn shown(width: u16, height: u16, sources: &[Source], view: &mut View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, sources, view)).unwrap();
        terminal.backend().to_string()
    }

    /// A process that sent more and more, as of the look at each second.
    fn watched(seconds: u32) -> Source {
        let mut source = Source::new("127.0.0.1:9464".parse().unwrap());
        let look = |at: u32| snapshot(f64::from(at), u64::from(at * at) * 125_000);
        for at in 1..=seconds {
            source.history.learn(&look(at), &look(at - 1));
        }
        source.before = Some(look(seconds - 1));
        source.now = Some(look(seconds));
        source
    }

    fn press(view: &mut View, sources: &[Source], codes: &[KeyCode]) -> bool {
        codes.iter().all(|code| view.obeys(KeyEvent::new(*code, KeyModifiers::NONE), sources))
    }

    #[test]
    fn a_terminal_of_any_size_is_drawn_on() {
        let mut view = View::default();
        let mut nobody = vec![Source::new("127.0.0.1:1".parse().unwrap())];
        nobody[0].error = Some("nobody is there".into());
        let sources = [watched(5)];
        for (width, height) in [(1, 1), (20, 3), (7, 30), (200, 50)] {
            let text = shown(width, height, &nobody, &mut view);
            assert!(width < 100 || text.contains("nobody is there"), "{text}");
            assert!(width < 100 || text.contains("QUEUE"), "{text}");
            assert!(press(&mut view, &nobody, &[KeyCode::PageDown, KeyCode::End]));
            shown(width, height, &sources, &mut view);
        }
    }

    #[test]
    fn nothing_is_cut_off_where_it_is_narrow() {
        let mut source = Source::new("127.0.0.1:9464".parse().unwrap());
        source.now = Some(snapshot(3.0, 2_000_000_000));
        let sources = [source];
        for (width, missing) in
            [(200, &[][..]), (80, &["SPURIOUS", "MIN"]), (60, &["RTO", "FLIGHT"])]
        {
            // Lines are quoted, and go on where they were broken.
            let shown = shown(width, 12, &sources, &mut View::default()).replace("\"\n\"", "");
            for word in ["192.0.2.1", "SRTT", "32.5", "OUT/s", "5.33 Gbit", "IN/s", "dropped 0"] {
                assert!(shown.contains(word), "{word}: {shown}");
            }
            assert!(!missing.iter().any(|title| shown.contains(title)), "{shown}");
            assert_eq!(shown.contains("wider: more"), !missing.is_empty(), "{shown}");
        }
    }

    #[test]
    fn the_past_of_the_chosen_path_is_drawn_with_its_scale() {
        let sources = [watched(8)];
        let text = shown(100, 24, &sources, &mut View::default());
        // In the seconds one to eight 1, 3, 5, ... 15 Mbit.
        assert!(text.contains("▁▂▃▄▅▆▇█"), "{text}");
        assert!(text.contains("at most 15.0 Mbit"), "{text}");
        assert!(text.contains("1v1 path 0 (192.0.2.1), the last 8 looks"), "{text}");
        // There is no room for it.
        assert!(!shown(100, 12, &sources, &mut View::default()).contains("at most"));
    }

    #[test]
    fn what_is_chosen_stays_chosen_in_every_order() {
        let sources = [watched(3)];
        let mut view = View::default();
        shown(200, 30, &sources, &mut view);
        assert!(press(&mut view, &sources, &[KeyCode::Down, KeyCode::Down, KeyCode::Down]));
        let text = shown(200, 30, &sources, &mut view);
        assert!(text.contains("1v1 path 1 (192.0.2.1)"), "{text}");
        // By the last column that is shown, then by the path, from the greatest number.
        assert!(press(&mut view, &sources, &[KeyCode::Left]));
        assert!(shown(200, 30, &sources, &mut view).contains("T3↓"));
        view.order = Order { column: Some(2), reversed: true };
        let text = shown(200, 30, &sources, &mut view);
        assert!(text.contains("PATH↓") && text.contains("1v1 path 1 (192.0.2.1)"), "{text}");
        assert_eq!(view.table.selected(), Some(0));
        assert!(press(&mut view, &sources, &[KeyCode::Char('r')]));
        assert!(shown(200, 30, &sources, &mut view).contains("PATH↑"));
        assert_eq!(view.table.selected(), Some(1));
    }

    #[test]
    fn it_is_held_and_ended_by_keys() {
        let sources = [watched(3)];
        let mut view = View::default();
        assert!(press(&mut view, &sources, &[KeyCode::Char(' ')]));
        assert!(view.held && shown(80, 24, &sources, &mut view).contains("held"));
        assert!(press(&mut view, &sources, &[KeyCode::Char(' ')]) && !view.held);
        assert!(!press(&mut view, &sources, &[KeyCode::Char('q')]));
        assert!(!view.obeys(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), &sources));
        assert!(view.obeys(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE), &sources));
    }
}
