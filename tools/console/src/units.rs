//! Quantities as people write and read them.

use std::fmt;
use std::time::Duration;

/// Splits "1.5Mi" into 1.5 and "Mi".
fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match number.parse::<f64>() {
        Ok(number) => Ok((number, unit.trim())),
        Err(_) => Err("expected a number, perhaps with a unit".into()),
    }
}

fn multiplier(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

fn scaled(text: &str, units: &[&str], example: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let prefix = units.iter().find_map(|u| unit.strip_suffix(u)).unwrap_or(unit);
    let factor = multiplier(prefix).ok_or_else(|| format!("unknown unit \"{unit}\"; {example}"))?;
    let value = (number * factor).round();
    if value <= 1e18 { Ok(value as u64) } else { Err("too large".into()) }
}

/// Bytes: `1200`, `64Ki`, `1.5M`, `1GB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    scaled(text, &["B"], "write 1200, 64Ki or 1G")
}

/// Bits a second: `10M`, `2.5Gbit/s`.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    match scaled(text, &["bit/s", "bps"], "write 500k, 10M or 1G (bit/s)")? {
        0 => Err("a rate of 0 sends nothing".into()),
        rate => Ok(rate),
    }
}

/// A count: `1000`, `2M`.
pub fn parse_count(text: &str) -> Result<u64, String> {
    scaled(text, &[], "write 1000, 10k or 2M")
}

/// A time: `10` (seconds), `1.5s`, `500ms`, `2m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "" | "s" => number,
        "ms" => number / 1e3,
        "us" | "µs" => number / 1e6,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(format!("unknown unit \"{unit}\"; write 10, 1.5s, 500ms or 2m")),
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|d| *d <= Duration::from_secs(365 * 24 * 3600))
        .ok_or_else(|| "too long".into())
}

/// `1 run`, `2 runs`.
#[must_use]
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A number with three significant digits and an SI prefix, and its unit.
pub struct Si(pub f64, pub &'static str);

impl fmt::Display for Si {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Si(value, unit) = *self;
        let prefixes = ["", "k", "M", "G", "T", "P"];
        let mut scaled = value;
        let mut prefix = 0;
        // 999.5 would be shown as 1000.
        while scaled.abs() >= 999.5 && prefix + 1 < prefixes.len() {
            scaled /= 1e3;
            prefix += 1;
        }
        let text = match scaled.abs() {
            _ if prefix == 0 && scaled.fract() == 0.0 => format!("{scaled:.0}"),
            s if s < 9.995 => format!("{scaled:.2}"),
            s if s < 99.95 => format!("{scaled:.1}"),
            _ => format!("{scaled:.0}"),
        };
        f.pad(&format!("{text} {}{unit}", prefixes[prefix]))
    }
}

/// A time in milliseconds, or in seconds or microseconds where that reads better.
pub struct Time(pub Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_secs_f64() * 1e3;
        let text = match ms {
            0.0 => "0 ms".into(),
            m if m < 0.1 => format!("{:.1} µs", m * 1e3),
            m if m < 9.995 => format!("{m:.2} ms"),
            m if m < 99.95 => format!("{m:.1} ms"),
            m if m < 999.5 => format!("{m:.0} ms"),
            m if m < 9_995.0 => format!("{:.2} s", m / 1e3),
            m => format!("{:.1} s", m / 1e3),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read() {
        assert_eq!(parse_bytes("1200"), Ok(1200));
        assert_eq!(parse_bytes("64Ki"), Ok(65_536));
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("1.5 MB"), Ok(1_500_000));
        assert_eq!(parse_rate("10M"), Ok(10_000_000));
        assert_eq!(parse_rate("2.5Gbit/s"), Ok(2_500_000_000));
        assert_eq!(parse_count("10k"), Ok(10_000));
        assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "x", "1.2.3", "-1", "5 parsecs", "1e400", "9999999T"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
        assert!(parse_duration("3 fortnights").is_err() && parse_duration("99999h").is_err());
        assert!(parse_rate("0").is_err());
    }

    #[test]
    fn what_is_counted_has_its_plural() {
        assert_eq!(["0 runs", "1 run", "2 runs"], [0, 1, 2].map(|n| counted(n, "run")));
    }

    #[test]
    fn quantities_are_shown() {
        for (value, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (999.6, "1.00 kB"),
            (1_234.0, "1.23 kB"),
            (45_678.0, "45.7 kB"),
            (2.5e9, "2.50 GB"),
            (0.25, "0.25 B"),
        ] {
            assert_eq!(Si(value, "B").to_string(), text);
        }
        for (micros, text) in [
            (0, "0 ms"),
            (7, "7.0 µs"),
            (250, "0.25 ms"),
            (12_345, "12.3 ms"),
            (1_500_000, "1.50 s"),
            (12_000_000, "12.0 s"),
        ] {
            assert_eq!(Time(Duration::from_micros(micros)).to_string(), text);
        }
        assert_eq!(format!("{:>9}|", Si(5.0, "B")), "      5 B|");
    }
}
