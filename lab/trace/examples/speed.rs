//! How fast captures are analysed, on one core and without any output:
//! `cargo run --release -p tresse-trace --example speed [-- FILE | GIGABYTES [PACKETS]]`. Without a file it
//! makes a capture of its own, of 1 GB unless told otherwise, in the temporary folder: transfers by
//! sixteen associations at a time, one packet of a hundred lost, each over after 5000 packets with data
//! unless told otherwise.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use tresse_trace::{Options, Trace};

/// User data of a packet.
const PAYLOAD: usize = 1436;
/// Packets with data that each association sends, unless told otherwise.
const PACKETS: u32 = 5000;
/// Associations that live at the same time.
const ALIVE: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "1".into());
    let path = Path::new(&argument);
    let own;
    let path = match argument.parse::<f64>() {
        Ok(gigabytes) if !path.exists() => {
            let packets = std::env::args().nth(2).map_or(Ok(PACKETS), |number| number.parse())?;
            own = tempfile::NamedTempFile::new()?;
            make(own.as_file(), (gigabytes * 1e9) as u64, packets)?;
            own.path()
        }
        _ => path,
    };
    let bytes = path.metadata()?.len() as f64;
    let begin = Instant::now();
    let mut trace = Trace::new(Options::default());
    trace.run(&[path], &mut ())?;
    let seconds = begin.elapsed().as_secs_f64();
    let totals = trace.totals();
    println!(
        "{} packets of {} associations, {:.3} GB in {seconds:.2} s: {:.3} GB/s, {:.0} ns for a packet",
        totals.frames,
        totals.associations,
        bytes / 1e9,
        bytes / 1e9 / seconds,
        seconds * 1e9 / totals.frames as f64
    );
    println!("{} chunks, {} of them again", totals.sctp.data, totals.sctp.retransmitted);
    if let Some(peak) = peak_memory() {
        println!("peak memory {peak} kB");
    }
    Ok(())
}

/// What Linux says of this process.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// An association that sends.
struct Sender {
    tag: u32,
    next: u32,
    cumulative: u32,
    /// What was lost and is not sent again yet.
    lost: Option<u32>,
}

/// Writes a pcap file of raw IP.
struct Capture<W: Write> {
    out: W,
    microseconds: u64,
    written: u64,
}

impl<W: Write> Capture<W> {
    /// A packet from one of two hosts with these chunks.
    fn packet(&mut self, back: bool, tag: u32, chunks: &[u8]) -> io::Result<()> {
        self.microseconds += 20;
        let length = 20 + 12 + chunks.len() as u32;
        let seconds = (self.microseconds / 1_000_000) as u32;
        for word in [seconds, (self.microseconds % 1_000_000) as u32, length, length] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        let (from, to) = if back { (2, 1) } else { (1, 2) };
        let [high, low] = (length as u16).to_be_bytes();
        let ip = [0x45, 0, high, low, 0, 0, 0, 0, 64, 132, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
        self.out.write_all(&ip)?;
        // Ports 5000; no checksum, as where the network card computes it.
        self.out.write_all(&[0x13, 0x88, 0x13, 0x88])?;
        self.out.write_all(&tag.to_be_bytes())?;
        self.out.write_all(&[0; 4])?;
        self.out.write_all(chunks)?;
        self.written += 16 + u64::from(length);
        Ok(())
    }

    fn data(&mut self, tag: u32, tsn: u32) -> io::Result<()> {
        let mut chunk = [0; 16 + PAYLOAD];
        chunk[1] = 3;
        chunk[2..4].copy_from_slice(&(16 + PAYLOAD as u16).to_be_bytes());
        chunk[4..8].copy_from_slice(&tsn.to_be_bytes());
        chunk[10..12].copy_from_slice(&(tsn as u16).to_be_bytes());
        self.packet(false, tag, &chunk)
    }

    fn sack(&mut self, tag: u32, cumulative: u32, gap: Option<(u16, u16)>) -> io::Result<()> {
        let mut chunk = vec![3, 0, 0, 16];
        chunk.extend(cumulative.to_be_bytes());
        chunk.extend([0, 16, 0, 0, 0, 0, 0, 0]);
        if let Some((first, last)) = gap {
            chunk[3] = 20;
            chunk[13] = 1;
            chunk.extend(first.to_be_bytes());
            chunk.extend(last.to_be_bytes());
        }
        self.packet(true, tag ^ 1, &chunk)
    }

    /// Two packets of a sender, and the acknowledgement; whether that was all of this many.
    fn step(&mut self, sender: &mut Sender, packets: u32) -> io::Result<bool> {
        let Sender { tag, .. } = *sender;
        if sender.next == 1 {
            self.packet(false, 0, &init(1, tag ^ 1))?;
            self.packet(true, tag ^ 1, &init(2, tag))?;
        }
        for _ in 0..2 {
            let tsn = sender.next;
            self.data(tag, tsn)?;
            sender.next += 1;
            if tsn.is_multiple_of(100) {
                sender.lost = Some(tsn);
            }
        }
        // Sent again after ten acknowledgements, which is when the others know.
        if let Some(lost) = sender.lost
            && sender.next > lost + 20
        {
            self.data(tag, lost)?;
            sender.lost = None;
        }
        sender.cumulative = sender.lost.map_or(sender.next - 1, |lost| lost - 1);
        let beyond = sender.next - 1 - sender.cumulative;
        let gap = (beyond > 1).then_some((2, beyond as u16));
        self.sack(tag, sender.cumulative, gap)?;
        let over = sender.next > packets;
        if over {
            self.packet(false, tag, &[14, 0, 0, 4])?;
        }
        Ok(over)
    }
}

/// INIT or INIT ACK, with this tag for the packets that come back.
fn init(kind: u8, tag: u32) -> Vec<u8> {
    let mut chunk = vec![kind, 0, 0, 20];
    chunk.extend(tag.to_be_bytes());
    chunk.extend([0, 16, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
    chunk
}

fn make(file: &File, bytes: u64, packets: u32) -> io::Result<()> {
    let out = BufWriter::with_capacity(1 << 20, file);
    let mut capture = Capture { out, microseconds: 1_700_000_000_000_000, written: 24 };
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        capture.out.write_all(&word.to_le_bytes())?;
    }
    let mut tags = (1u32..).map(|n| n.wrapping_mul(0x9e37_79b2) & !1);
    let mut begin = || Sender { tag: tags.next().unwrap_or(2), next: 1, cumulative: 0, lost: None };
    let mut senders: Vec<Sender> = (0..ALIVE).map(|_| begin()).collect();
    while capture.written < bytes {
        for sender in &mut senders {
            if capture.step(sender, packets)? {
                *sender = begin();
            }
        }
    }
    capture.out.flush()
}
