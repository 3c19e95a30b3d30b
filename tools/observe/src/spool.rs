//! Writes files beside the protocol: an observer of an endpoint holds its lock, and must wait neither
//! for a disk nor for the reader of a pipe.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that wait to be written at most, of all streams together; what exceeds them is dropped.
const MAX_WAITING: usize = 16 << 20;

/// How long records are collected before they are written together.
const LINGER: Duration = Duration::from_millis(20);

/// A thread of its own that writes what observers record, to any number of streams.
///
/// A record is kept whole or dropped whole. Records are dropped when more than 16 MiB wait, because
/// a disk or a reader is slow, and all of a stream after its first error. Each of both is counted
/// ([`stats`](Self::stats)) and told once. Clones mean the same thread, which ends with the last of
/// them and of the streams.
#[derive(Clone, Debug)]
pub struct Spool {
    handle: Arc<Handle>,
}

/// Where one observer puts its records. Dropping it closes the file once all is written.
#[derive(Debug)]
pub struct Stream {
    handle: Arc<Handle>,
    id: u64,
}

tresse_counters::counters! {
    /// What a [`Spool`] did. Counters only grow.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct SpoolStats;
    counters {
        bytes_written: "Bytes written by captures, qlog and log";
        /// Too much waited, or the stream had failed.
        records_dropped: "Records that could not be written";
        streams_failed: "Files and pipes that failed";
    }
    others {}
}

/// The last one tells the thread to end.
#[derive(Debug)]
struct Handle(Arc<Shared>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().ending = true;
        self.0.wake.notify_all();
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// The thread has something to do.
    wake: Condvar,
    /// The thread has nothing to do.
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    streams: BTreeMap<u64, Waiting>,
    last: u64,
    /// Bytes in all buffers.
    waiting: usize,
    /// Something was opened or closed.
    changed: bool,
    writing: bool,
    ending: bool,
    /// Lines for the user.
    warnings: Vec<String>,
    /// It was reported that too much waits.
    overflow: bool,
    stats: SpoolStats,
}

/// One stream as its user sees it.
#[derive(Debug, Default)]
struct Waiting {
    buffer: Vec<u8>,
    output: Option<Output>,
    closed: bool,
    failed: bool,
}

/// One stream as the thread sees it.
struct Output {
    /// `None` until the file has been made.
    sink: Option<Box<dyn Write + Send>>,
    path: PathBuf,
    /// Set if the file is replaced by a new one when it has this many bytes.
    limit: Option<u64>,
    header: Vec<u8>,
    written: u64,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spool {
    /// Starts the thread. `warn` is given one line when a stream fails, and one when records begin to
    /// be dropped because too much waits.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(warn: impl FnMut(&str) + Send + 'static) -> io::Result<Spool> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let builder = thread::Builder::new().name("tresse-spool".into());
        builder.spawn(move || Writer { outputs: BTreeMap::new(), warn }.run(&theirs))?;
        Ok(Spool { handle: Arc::new(Handle(shared)) })
    }

    /// Makes a file, or opens what stands there already (a pipe, a device). `header` begins it. Once
    /// it has more than `limit` bytes it is renamed, `x.pcapng` to `x.1.pcapng` in the place of the
    /// one before, and goes on in a new file with the same header; 0 is no limit.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(&self, path: &Path, header: &[u8], limit: u64) -> io::Result<Stream> {
        let file = private(path)?;
        // Pipes and devices cannot be replaced.
        let regular = file.metadata()?.is_file();
        let limit = (regular && limit > 0).then_some(limit);
        Ok(self.add(Output {
            sink: Some(Box::new(file)),
            path: path.to_owned(),
            limit,
            header: header.to_vec(),
            written: 0,
        }))
    }

    /// As [`create`](Self::create), but the file is made by the thread, and the stream fails if it
    /// cannot be.
    #[must_use]
    pub fn create_later(&self, path: PathBuf, header: Vec<u8>, limit: u64) -> Stream {
        let limit = (limit > 0).then_some(limit);
        self.add(Output { sink: None, path, limit, header, written: 0 })
    }

    /// A stream to anything else; `name` is for warnings.
    #[must_use]
    pub fn stream(&self, name: &str, sink: Box<dyn Write + Send>) -> Stream {
        let path = PathBuf::from(name);
        self.add(Output { sink: Some(sink), path, limit: None, header: Vec::new(), written: 0 })
    }

    fn add(&self, output: Output) -> Stream {
        let mut state = self.handle.0.lock();
        state.last += 1;
        let id = state.last;
        let buffer = output.header.clone();
        state.waiting += buffer.len();
        state.streams.insert(id, Waiting { buffer, output: Some(output), ..Waiting::default() });
        state.changed = true;
        drop(state);
        self.handle.0.wake.notify_one();
        Stream { handle: Arc::clone(&self.handle), id }
    }

    /// Has the thread tell the user a line.
    pub fn warn(&self, line: &str) {
        let mut state = self.handle.0.lock();
        state.warnings.push(line.to_owned());
        state.changed = true;
        drop(state);
        self.handle.0.wake.notify_one();
    }

    /// What was done so far.
    #[must_use]
    pub fn stats(&self) -> SpoolStats {
        self.handle.0.lock().stats
    }

    /// Waits until all is written, at most for `timeout`; `false` if that was not enough.
    #[must_use]
    pub fn flush(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let shared = &self.handle.0;
        let mut state = shared.lock();
        while state.waiting > 0 || state.changed || state.writing {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = shared.idle.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Stream {
    /// Records something. Never waits for the system.
    pub fn write(&self, record: &[u8]) {
        let shared = &self.handle.0;
        let mut state = shared.lock();
        let fits = state.waiting + record.len() <= MAX_WAITING;
        let sleeping = state.waiting == 0;
        match state.streams.get_mut(&self.id) {
            Some(stream) if fits && !stream.failed => {
                stream.buffer.extend_from_slice(record);
                state.waiting += record.len();
                drop(state);
                if sleeping {
                    shared.wake.notify_one();
                }
            }
            _ => {
                state.stats.records_dropped += 1;
                if !fits && !std::mem::replace(&mut state.overflow, true) {
                    let line = "records are dropped: they cannot be written as fast as they come";
                    state.warnings.push(line.into());
                }
            }
        }
    }

    /// Whether an error has ended it.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.handle.0.lock().streams.get(&self.id).is_none_or(|stream| stream.failed)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let shared = &self.handle.0;
        let mut state = shared.lock();
        if let Some(stream) = state.streams.get_mut(&self.id) {
            stream.closed = true;
            state.changed = true;
        }
        drop(state);
        shared.wake.notify_one();
    }
}

struct Writer<W> {
    outputs: BTreeMap<u64, Output>,
    warn: W,
}

impl<W: FnMut(&str)> Writer<W> {
    fn run(mut self, shared: &Shared) {
        loop {
            let mut state = shared.lock();
            while state.waiting == 0 && !state.changed && !state.ending {
                state = shared.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.waiting == 0 && !state.changed {
                return;
            }
            drop(state);
            thread::sleep(LINGER);
            self.turn(shared);
        }
    }

    /// Writes what waits.
    fn turn(&mut self, shared: &Shared) {
        let mut state = shared.lock();
        state.changed = false;
        state.writing = true;
        state.waiting = 0;
        let warnings = std::mem::take(&mut state.warnings);
        let mut work = Vec::new();
        for (id, stream) in &mut state.streams {
            if let Some(output) = stream.output.take() {
                self.outputs.insert(*id, output);
            }
            work.push((*id, std::mem::take(&mut stream.buffer), stream.closed));
        }
        state.streams.retain(|_, stream| !stream.closed);
        drop(state);
        warnings.iter().for_each(|line| (self.warn)(line));
        let (mut written, mut failed) = (0, Vec::new());
        for (id, bytes, closed) in work {
            if let Some(output) = self.outputs.get_mut(&id)
                && !bytes.is_empty()
            {
                match output.write(&bytes) {
                    Ok(()) => written += bytes.len() as u64,
                    Err(error) => {
                        (self.warn)(&format!("{} is incomplete: {error}", output.path.display()));
                        self.outputs.remove(&id);
                        failed.push(id);
                    }
                }
            }
            if closed {
                self.outputs.remove(&id);
            }
        }
        let mut state = shared.lock();
        state.writing = false;
        state.stats.bytes_written += written;
        state.stats.streams_failed += failed.len() as u64;
        for id in failed {
            if let Some(stream) = state.streams.get_mut(&id) {
                stream.failed = true;
            }
        }
        drop(state);
        shared.idle.notify_all();
    }
}

/// Makes a file, or empties the one that is there. A new one is for its user alone, whatever the umask:
/// anyone who knows the verification tags of an association can end it.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.written <= self.header.len() as u64;
        let full = |limit| !fresh && self.written + bytes.len() as u64 > limit;
        if self.limit.is_some_and(full) {
            std::fs::rename(&self.path, previous(&self.path))?;
            let mut file = private(&self.path)?;
            file.write_all(&self.header)?;
            self.sink = Some(Box::new(file));
            self.written = self.header.len() as u64;
        }
        let sink = match &mut self.sink {
            Some(sink) => sink,
            None => self.sink.insert(Box::new(private(&self.path)?)),
        };
        sink.write_all(bytes)?;
        sink.flush()?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// Where a file goes that is full: `x.pcapng` to `x.1.pcapng`.
fn previous(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".1");
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(60);

    fn spool() -> (Spool, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel();
        let warn = move |line: &str| drop(sender.send(line.to_owned()));
        (Spool::start(warn).unwrap(), receiver)
    }

    #[test]
    fn streams_arrive_whole_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool();
        let paths = [folder.path().join("a"), folder.path().join("b")];
        let streams = paths.each_ref().map(|path| spool.create(path, b"head ", 0).unwrap());
        for n in 0..1000 {
            streams[n % 2].write(format!("{n} ").as_bytes());
        }
        drop(streams);
        assert!(spool.flush(LONG));
        for (i, path) in paths.iter().enumerate() {
            let expected: String = (0..500).map(|n| format!("{} ", 2 * n + i)).collect();
            assert_eq!(std::fs::read_to_string(path).unwrap(), format!("head {expected}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool();
        let path = folder.path().join("x.log");
        let stream = spool.create(&path, b"head\n", 20).unwrap();
        for _ in 0..3 {
            stream.write(b"0123456789\n");
            assert!(spool.flush(LONG));
        }
        for name in ["x.log", "x.1.log"] {
            let about = std::fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!(about.permissions().mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_full_file_makes_room_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool();
        let path = folder.path().join("x.log");
        let stream = spool.create(&path, b"head\n", 20).unwrap();
        for record in ["0123456789\n", "abcdefghij\n", "ABCDEFGHIJ\n"] {
            stream.write(record.as_bytes());
            assert!(spool.flush(LONG));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "head\nABCDEFGHIJ\n");
        let before = std::fs::read_to_string(folder.path().join("x.1.log")).unwrap();
        assert_eq!(before, "head\nabcdefghij\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_ends_one_stream_with_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, warnings) = spool();
        let full = spool.create(Path::new("/dev/full"), b"", 100).unwrap();
        let good = spool.create(&folder.path().join("good"), b"", 0).unwrap();
        for _ in 0..3 {
            full.write(b"lost");
            good.write(b"kept");
            assert!(spool.flush(LONG));
        }
        assert!(full.has_failed() && !good.has_failed());
        let stats = spool.stats();
        assert_eq!((stats.streams_failed, stats.records_dropped, stats.bytes_written), (1, 2, 12));
        drop((full, good, spool));
        let lines: Vec<String> = warnings.iter().collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("/dev/full"), "{lines:?}");
    }

    /// A reader that takes nothing until it is told.
    struct Stuck(mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_is_stuck_costs_records_and_no_time() {
        let (spool, warnings) = spool();
        let (go_on, stuck) = mpsc::channel();
        let stream = spool.stream("a pipe", Box::new(Stuck(stuck)));
        let record = vec![0; 1 << 20];
        for _ in 0..64 {
            stream.write(&record);
        }
        assert!(spool.stats().records_dropped >= 16, "{:?}", spool.stats());
        assert!(!spool.flush(Duration::from_millis(1)));
        drop(go_on);
        assert!(spool.flush(LONG));
        stream.write(b"again");
        assert!(spool.flush(LONG));
        assert_eq!(warnings.try_iter().count(), 1);
        assert!(!stream.has_failed());
    }
}
