//! The connections of a case.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tresse_emulator::{Emulation, Side};

use super::plan::Periodic;

/// How long a call may block after which somebody looks whether all is over.
const GLANCE: Duration = Duration::from_millis(100);
/// What bulk senders hand over at once.
const CHUNK: usize = 16_384;

/// Opens `flows` connections from left to right, calls `begin`, and has them send for this many seconds.
pub(super) fn run(
    emulation: &Emulation,
    periodic: Option<Periodic>,
    flows: u32,
    span: Duration,
    begin: impl FnOnce(),
) -> io::Result<()> {
    let address = SocketAddr::from((emulation.address(Side::Right, 0), 5000));
    let listener = emulation.namespace(Side::Right).inside(|| TcpListener::bind(address))?;
    listener.set_nonblocking(true)?;
    let over = AtomicBool::new(false);
    let all_are = Barrier::new(flows as usize + 1);
    let send = |flow: u32| {
        let opened = emulation.enter(Side::Left).and_then(|()| TcpStream::connect(address));
        all_are.wait(); // Connected.
        all_are.wait(); // Allowed to begin.
        let stream = opened?;
        let deadline = Instant::now() + span;
        match periodic {
            Some(periodic) => {
                let phase = periodic.every_ms * u64::from(flow) / u64::from(flows);
                now_and_then(&stream, periodic, phase, deadline)?;
            }
            None => as_much_as_possible(&stream, deadline)?,
        }
        Ok(stream)
    };
    let send = &send;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        scope.spawn(|| drain(stream, &over));
                    }
                    Err(_) => thread::sleep(GLANCE / 10),
                }
            }
        });
        let senders: Vec<_> = (0..flows).map(|flow| scope.spawn(move || send(flow))).collect();
        all_are.wait();
        begin();
        all_are.wait();
        let ends = senders.into_iter().map(|sender| {
            sender.join().unwrap_or_else(|_| Err(io::Error::other("a sender panicked")))
        });
        // Streams stay open until all have sent: what follows a FIN would be measured as well.
        let streams: io::Result<Vec<TcpStream>> = ends.collect();
        over.store(true, Ordering::Relaxed);
        streams.map(drop)
    })
}

fn drain(mut stream: TcpStream, over: &AtomicBool) {
    let mut buffer = vec![0; 4 * CHUNK];
    if stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(GLANCE))).is_err() {
        return;
    }
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Err(error) if !is_timeout(&error) => return,
            _ => {}
        }
    }
}

fn now_and_then(
    mut stream: &TcpStream,
    periodic: Periodic,
    phase_ms: u64,
    deadline: Instant,
) -> io::Result<()> {
    let interval = Duration::from_millis(periodic.every_ms);
    let mut due = Instant::now() + Duration::from_millis(phase_ms);
    while due < deadline {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        stream.write_all(&vec![0; periodic.message_bytes])?;
        due += interval;
    }
    Ok(())
}

fn as_much_as_possible(mut stream: &TcpStream, deadline: Instant) -> io::Result<()> {
    stream.set_write_timeout(Some(GLANCE))?;
    while Instant::now() < deadline {
        match stream.write(&[0; CHUNK]) {
            Err(error) if !is_timeout(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
