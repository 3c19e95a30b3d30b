//! How fast captures are analysed: `cargo run --release -p tresse-trace --example speed -- FILE [TIMES]`
//! reads a capture into memory and analyses it again and again on one core, without any output. The
//! associations are the same each time and end before the next.

use std::io::Cursor;
use std::time::Instant;

use tresse_trace::capture::Capture;
use tresse_trace::{Options, Trace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: speed FILE [TIMES]")?;
    let times: u32 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let bytes = std::fs::read(&file)?;
    let begin = Instant::now();
    let mut packets = 0;
    for _ in 0..times {
        let mut trace = Trace::new(Options::default());
        trace.read(Capture::read(&file, Cursor::new(bytes.clone()))?, &mut ());
        trace.finish(&mut ());
        packets += trace.totals().frames;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let gigabytes = bytes.len() as f64 * f64::from(times) / 1e9;
    println!(
        "{packets} packets, {gigabytes:.3} GB in {seconds:.2} s: {:.1} s for 1 GB, {:.0} ns for a packet",
        seconds / gigabytes,
        seconds * 1e9 / packets as f64
    );
    Ok(())
}
