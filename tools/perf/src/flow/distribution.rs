//! Random numbers as NetPerfMeter writes them: `const5`, `exp100`, `uniform1,9`, `pareto3,2.5`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tresse_core::Rng;

/// A distribution of positive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Distribution {
    /// Always the same.
    Const(f64),
    /// Negative exponential, with this mean.
    Exp(f64),
    /// Uniform between two numbers.
    Uniform(f64, f64),
    /// Pareto, with the smallest number (location) and the shape.
    Pareto(f64, f64),
}

/// Numbers beyond it are mistakes.
const LARGEST: f64 = 1e12;

impl Distribution {
    /// Checks the parameters.
    pub(crate) fn check(&self) -> Result<(), String> {
        let within = |x: f64| (0.0..=LARGEST).contains(&x);
        let right = match *self {
            Distribution::Const(value) => within(value),
            Distribution::Exp(mean) => within(mean) && mean > 0.0,
            Distribution::Uniform(low, high) => within(low) && within(high) && low <= high,
            // With a shape of 1 or less there is no mean.
            Distribution::Pareto(location, shape) => {
                within(location) && location > 0.0 && within(shape) && shape > 1.0
            }
        };
        if right {
            return Ok(());
        }
        Err(format!(
            "{self}: write constVALUE, expMEAN, uniformLOW,HIGH or paretoLOCATION,SHAPE (shape above 1)"
        ))
    }

    /// Always 0, which turns something off.
    pub(crate) fn is_zero(&self) -> bool {
        *self == Distribution::Const(0.0)
    }

    pub(crate) fn mean(&self) -> f64 {
        match *self {
            Distribution::Const(value) | Distribution::Exp(value) => value,
            Distribution::Uniform(low, high) => f64::midpoint(low, high),
            Distribution::Pareto(location, shape) => location * shape / (shape - 1.0),
        }
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> f64 {
        // In (0, 1]: its logarithm and its inverse exist.
        let u = 1.0 - rng.next_f64();
        match *self {
            Distribution::Const(value) => value,
            Distribution::Exp(mean) => -mean * u.ln(),
            Distribution::Uniform(low, high) => low + (high - low) * u,
            Distribution::Pareto(location, shape) => location / u.powf(1.0 / shape),
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Distribution, String> {
        let wrong = || {
            format!(
                "\"{text}\": write constVALUE, expMEAN, uniformLOW,HIGH or paretoLOCATION,SHAPE"
            )
        };
        let end = text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len());
        let (name, numbers) = text.split_at(end);
        let numbers: Vec<f64> = numbers
            .split(',')
            .map(|number| number.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let distribution = match (name, numbers.as_slice()) {
            ("const", [value]) => Distribution::Const(*value),
            ("exp", [mean]) => Distribution::Exp(*mean),
            ("uniform", [low, high]) => Distribution::Uniform(*low, *high),
            ("pareto", [location, shape]) => Distribution::Pareto(*location, *shape),
            _ => return Err(wrong()),
        };
        distribution.check()?;
        Ok(distribution)
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Const(value) => write!(f, "const{value}"),
            Distribution::Exp(mean) => write!(f, "exp{mean}"),
            Distribution::Uniform(low, high) => write!(f, "uniform{low},{high}"),
            Distribution::Pareto(location, shape) => write!(f, "pareto{location},{shape}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation_is_read_and_written() {
        for text in ["const0", "const1400.5", "exp100", "uniform1,9", "pareto3,2.5"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "5",
            "const",
            "constx",
            "const1,2",
            "const-1",
            "constinf",
            "constNaN",
            "exp0",
            "uniform9,1",
            "pareto3,1",
            "pareto0,2",
            "normal1,2",
            "const1e13",
        ] {
            let error = wrong.parse::<Distribution>().unwrap_err();
            assert!(!error.contains('\n'), "{wrong}: {error}");
        }
    }

    #[test]
    fn draws_have_their_mean_and_follow_from_the_seed() {
        for (text, expected) in
            [("const7", 7.0), ("exp7", 7.0), ("uniform4,10", 7.0), ("pareto4,3", 6.0)]
        {
            let distribution: Distribution = text.parse().unwrap();
            let mut rng = Rng::from_seed([3; 32]);
            let draws: Vec<f64> = (0..100_000).map(|_| distribution.draw(&mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert_eq!(distribution.mean(), expected, "{text}");
            assert!((mean / expected - 1.0).abs() < 0.03, "{text}: {mean}");
            let mut again = Rng::from_seed([3; 32]);
            assert!(draws.iter().take(9).all(|draw| *draw == distribution.draw(&mut again)));
        }
    }
}
