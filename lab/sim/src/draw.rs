//! Worlds drawn from a seed: what random tests and campaigns share.

use tresse_netem::mix;

/// A random source (SplitMix64): the same seed gives the same world on every machine. It is not the
/// simulation's own: what is drawn is given to a simulation as its settings.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// A source that follows from `seed`.
    pub const fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// 64 bits, all of them random.
    pub const fn next(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        drawn
    }

    /// A number in `low..=high`.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// An index below `len`.
    pub const fn index(&mut self, len: usize) -> usize {
        (self.next() % len as u64) as usize
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `true` with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number in `low..high`, every order of magnitude equally likely.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    /// The same, whole, `high` included.
    pub fn log_whole(&mut self, low: u64, high: u64) -> u64 {
        (self.log(low as f64, high as f64 + 1.0) as u64).clamp(low, high)
    }

    /// One of the choices, which must not be empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first outputs of the reference implementation (Vigna) for seed 1234567.
        let mut draw = Draw::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([draw.next(), draw.next()], expected);
        for _ in 0..1000 {
            assert!((3..=5).contains(&draw.between(3, 5)) && draw.index(7) < 7);
            assert!((0.0..1.0).contains(&draw.unit()) && (2.0..8.0).contains(&draw.log(2.0, 8.0)));
            assert!((10..=1000).contains(&draw.log_whole(10, 1000)));
        }
        assert!(!draw.chance(0.0) && draw.chance(1.0) && [1, 2].contains(&draw.pick(&[1, 2])));
    }
}
