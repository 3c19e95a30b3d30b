//! What tcptrace says of the same capture.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use tresse_trace::DelaySummary;

/// Time between two transmissions of the same data, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Delays {
    pub(super) count: u64,
    pub(super) min_ms: f64,
    pub(super) max_ms: f64,
    pub(super) avg_ms: f64,
}

impl Delays {
    /// Whether they are those of `own`; tcptrace writes tenths of a millisecond.
    pub(super) fn agree(&self, own: &DelaySummary) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= 0.11;
        self.count == own.count
            && close(self.min_ms, own.min_ms)
            && close(self.max_ms, own.max_ms)
            && close(self.avg_ms, own.avg_ms)
    }
}

/// Runs it; `None` if it is not installed.
pub(super) fn delays(capture: &Path) -> Result<Option<Delays>, String> {
    let mut tcptrace = Command::new("tcptrace");
    tcptrace.args(["-l", "-r", "-n"]).arg(capture).stderr(Stdio::null());
    match tcptrace.output() {
        Ok(output) => Ok(Some(total(&String::from_utf8_lossy(&output.stdout)))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("tcptrace: {error}")),
    }
}

/// The total of all connections and directions.
fn total(text: &str) -> Delays {
    let mut total = Delays { min_ms: f64::INFINITY, ..Delays::default() };
    let mut count = [0.0; 2];
    let mut sum = 0.0;
    for line in text.lines() {
        // "     rexmt data pkts:          3        rexmt data pkts:          0     "
        let Some((name, values)) = line.trim_start().split_once(':') else { continue };
        let numbers: Vec<f64> =
            values.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let &[there, back] = numbers.as_slice() else { continue };
        let both = [there, back].into_iter().zip(count).filter(|(_, count)| *count > 0.0);
        match name {
            "rexmt data pkts" => {
                count = [there, back];
                total.count += (there + back) as u64;
            }
            "min retr time" => total.min_ms = both.fold(total.min_ms, |min, (ms, _)| min.min(ms)),
            "max retr time" => total.max_ms = both.fold(total.max_ms, |max, (ms, _)| max.max(ms)),
            "avg retr time" => sum += both.map(|(ms, count)| ms * count).sum::<f64>(),
            _ => {}
        }
    }
    if total.count == 0 {
        return Delays::default();
    }
    total.avg_ms = sum / total.count as f64;
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_add_up_by_their_retransmissions() {
        let block = |count: u32, min: f64, max: f64, avg: f64| {
            format!(
                "     rexmt data pkts:   {count}   rexmt data pkts:   0\n\
                      min retr time:  {min} ms   min retr time:  0.0 ms\n\
                      max retr time:  {max} ms   max retr time:  0.0 ms\n\
                      avg retr time:  {avg} ms   avg retr time:  0.0 ms\n"
            )
        };
        let text =
            block(3, 100.0, 400.0, 200.0) + &block(0, 0.0, 0.0, 0.0) + &block(1, 90.0, 90.0, 90.0);
        let expected = Delays { count: 4, min_ms: 90.0, max_ms: 400.0, avg_ms: 172.5 };
        assert_eq!(total(&text), expected);
        assert_eq!(total(""), Delays::default());
    }
}
