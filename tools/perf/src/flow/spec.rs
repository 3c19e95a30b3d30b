//! What a flow is, in NetPerfMeter's notation.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tresse_core::Rng;

use super::distribution::Distribution;
use crate::payload::HEADER_LEN;
use crate::payload::{MAX_SIZE, MAX_STREAMS};

/// Messages of a frame, unless `maxmsgsize` says otherwise: what NetPerfMeter allows.
const MAX_MESSAGE: usize = 65_535;

/// The most entries of an `onoff` list.
const MAX_STEPS: usize = 1000;

/// A flow: frames in both directions on one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flow {
    pub(crate) id: u16,
    pub(crate) description: Option<String>,
    /// From the client to the server.
    pub(crate) outgoing: Load,
    /// From the server to the client.
    pub(crate) incoming: Load,
    /// Stream in both directions.
    pub(crate) stream: u16,
    /// Share of the messages that are sent unordered.
    pub(crate) unordered: f64,
    /// Bytes of the largest message; larger frames are split.
    pub(crate) max_message: usize,
    /// When it is on; always, if there is nothing.
    pub(crate) onoff: Option<OnOff>,
}

/// What one side sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Load {
    /// Frames a second; `const0` sends as fast as possible.
    pub(crate) rate: Distribution,
    /// Bytes of a frame; `const0` sends nothing.
    pub(crate) size: Distribution,
}

/// Moments at which a flow is turned on and off in turn; it is off at first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OnOff {
    steps: Vec<Step>,
    repeat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Step {
    /// Counts from the step before instead of from the beginning.
    relative: bool,
    /// Seconds.
    time: Distribution,
}

impl Load {
    pub(crate) fn is_active(&self) -> bool {
        !self.size.is_zero()
    }

    pub(crate) fn is_saturated(&self) -> bool {
        self.rate.is_zero()
    }

    /// Nanoseconds between two frames: the inverse of a rate that is drawn each time, but with `exp` a
    /// Poisson process, whose intervals are exponential. (The inverse of an exponential rate has no
    /// mean.)
    pub(crate) fn interval(&self, rng: &mut Rng) -> u64 {
        let seconds = match self.rate {
            Distribution::Exp(mean) => Distribution::Exp(1.0 / mean).draw(rng),
            rate => 1.0 / rate.draw(rng).max(1e-9),
        };
        (seconds * 1e9) as u64
    }

    /// What is drawn beyond the limits is cut to them; what can only lie beyond is a mistake.
    fn check_size(&self) -> Result<(), String> {
        let within = |bytes: f64| (HEADER_LEN as f64..=MAX_SIZE as f64).contains(&bytes);
        let right = match self.size {
            Distribution::Const(bytes) => bytes == 0.0 || within(bytes),
            Distribution::Exp(mean) => within(mean),
            Distribution::Uniform(low, high) => within(low) && within(high),
            Distribution::Pareto(location, _) => within(location),
        };
        if right {
            return Ok(());
        }
        let size = self.size;
        Err(format!(
            "{size}: frames have {HEADER_LEN} bytes to 16 MiB ({MAX_SIZE}), or const0 for none"
        ))
    }

    /// Bytes of the next frame; at least what a message needs that can be verified.
    pub(crate) fn frame(&self, rng: &mut Rng) -> usize {
        (self.size.draw(rng) as usize).clamp(HEADER_LEN, MAX_SIZE as usize)
    }
}

impl Flow {
    /// What the client or the server sends.
    pub(crate) fn load(&self, client: bool) -> &Load {
        if client { &self.outgoing } else { &self.incoming }
    }

    /// Checks a flow that came from the other side.
    pub(crate) fn check(&self) -> Result<(), String> {
        for load in [self.outgoing, self.incoming] {
            load.rate.check()?;
            load.size.check()?;
            load.check_size()?;
        }
        if !self.outgoing.is_active() && !self.incoming.is_active() {
            return Err("it sends nothing in either direction".into());
        }
        if !(1..=MAX_STREAMS).contains(&self.stream) {
            return Err(format!("stream={}: there are streams 1 to {MAX_STREAMS}", self.stream));
        }
        if !(0.0..=1.0).contains(&self.unordered) {
            return Err("a fraction is 0 to 1".into());
        }
        if !(HEADER_LEN..=MAX_SIZE as usize).contains(&self.max_message) {
            return Err(format!("maxmsgsize is {HEADER_LEN} to {MAX_SIZE} bytes"));
        }
        self.onoff.as_ref().map_or(Ok(()), OnOff::check)
    }
}

impl FromStr for Flow {
    type Err = String;

    fn from_str(text: &str) -> Result<Flow, String> {
        const FORM: &str = "write OUT_RATE:OUT_SIZE[:IN_RATE:IN_SIZE][:OPTION=VALUE]..., such as \
            const0:const1400:const0:const1400";
        let parts: Vec<&str> = text.split(':').collect();
        let loads = parts.iter().take_while(|part| !part.contains('=')).count();
        let load = |at: usize| {
            Ok::<_, String>(Load { rate: parts[at].parse()?, size: parts[at + 1].parse()? })
        };
        let nothing = Load { rate: Distribution::Const(0.0), size: Distribution::Const(0.0) };
        let (outgoing, incoming) = match loads {
            // "Some more or less useful default parameters": as fast as possible, both ways.
            1 if parts[0] == "default" => {
                let load =
                    Load { rate: Distribution::Const(0.0), size: Distribution::Const(1452.0) };
                (load, load)
            }
            2 => (load(0)?, nothing),
            4 => (load(0)?, load(2)?),
            _ => return Err(FORM.into()),
        };
        let mut flow = Flow {
            id: u16::MAX,
            description: None,
            outgoing,
            incoming,
            stream: 0,
            unordered: 0.0,
            max_message: MAX_MESSAGE,
            onoff: None,
        };
        for option in &parts[loads..] {
            let (name, value) = option.split_once('=').ok_or(FORM)?;
            flow.set(name, value)?;
        }
        Ok(flow)
    }
}

impl Flow {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("\"{name}={value}\" is not understood");
        let fraction = || value.parse::<f64>().map_err(|_| wrong());
        match name {
            "id" => self.id = value.parse().ok().filter(|id| *id != u16::MAX).ok_or_else(wrong)?,
            "description" => {
                let plain = value.trim_matches('"');
                if plain.len() > 100 || plain.contains(char::is_control) {
                    return Err(wrong());
                }
                self.description = Some(plain.to_owned());
            }
            "stream" => self.stream = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
            "maxmsgsize" => self.max_message = value.parse().map_err(|_| wrong())?,
            "unordered" => self.unordered = fraction()?,
            "ordered" => self.unordered = 1.0 - fraction()?,
            "onoff" => self.onoff = Some(value.parse()?),
            "reliable" if fraction()? == 1.0 => {}
            "unreliable" if fraction()? == 0.0 => {}
            "reliable" | "unreliable" | "rtx_timeout" | "rtx_trials" => {
                return Err(format!("\"{name}={value}\": every message is reliable here"));
            }
            _ => {
                return Err(format!(
                    "\"{name}\" is no option of a flow: id, description, stream, maxmsgsize, \
                     unordered, ordered, onoff"
                ));
            }
        }
        Ok(())
    }
}

impl OnOff {
    fn check(&self) -> Result<(), String> {
        if self.steps.is_empty() || self.steps.len() > MAX_STEPS {
            return Err(format!("onoff has 1 to {MAX_STEPS} times"));
        }
        self.steps.iter().try_for_each(|step| step.time.check())?;
        let even = self.steps.len().is_multiple_of(2);
        if self.repeat && !(even && self.steps.iter().all(|step| step.relative)) {
            return Err("onoff with repeat has an even number of times, each with a +".into());
        }
        // Else it would turn round for ever at one moment.
        if self.repeat && self.steps.iter().all(|step| step.time.mean() < 1e-3) {
            return Err("onoff repeats more often than every millisecond".into());
        }
        Ok(())
    }

    /// The moments, in nanoseconds from the beginning: on, off, on, ...
    pub(crate) fn moments<'a>(&'a self, rng: &'a mut Rng) -> impl Iterator<Item = u64> + 'a {
        let rounds = if self.repeat { usize::MAX } else { 1 };
        let steps = std::iter::repeat_n(&self.steps, rounds).flatten();
        steps.scan(0.0_f64, |now, step| {
            let time = step.time.draw(rng);
            // What lies back is now.
            *now = if step.relative { *now + time } else { now.max(time) };
            Some((*now * 1e9) as u64)
        })
    }
}

impl FromStr for OnOff {
    type Err = String;

    fn from_str(text: &str) -> Result<OnOff, String> {
        let mut words: Vec<&str> = text.split(',').collect();
        let repeat = words.pop_if(|last| *last == "repeat").is_some();
        let mut steps: Vec<Step> = Vec::new();
        for word in words {
            let relative = word.starts_with('+');
            let time = word.strip_prefix('+').unwrap_or(word);
            let time = match time.parse() {
                Ok(seconds) => Distribution::Const(seconds),
                Err(_) => time.parse().map_err(|_| {
                    format!(
                        "onoff={text}: write times in seconds, such as 0,10,+5 or +exp2,+3,repeat"
                    )
                })?,
            };
            steps.push(Step { relative, time });
        }
        let onoff = OnOff { steps, repeat };
        onoff.check()?;
        Ok(onoff)
    }
}

/// Gives each flow a number and a stream, unless it has them.
pub(crate) fn number(flows: &mut [Flow]) -> Result<(), String> {
    for (i, flow) in (0u16..).zip(flows.iter_mut()) {
        if flow.id == u16::MAX {
            flow.id = i;
        }
        if flow.stream == 0 {
            flow.stream = i + 1;
        }
    }
    for (i, flow) in flows.iter().enumerate() {
        flow.check().map_err(|error| format!("flow {}: {error}", flow.id))?;
        if flows[..i].iter().any(|other| other.id == flow.id) {
            return Err(format!("there are two flows with id {}", flow.id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(text: &str) -> Result<Flow, String> {
        let mut flows = vec![text.parse::<Flow>()?];
        number(&mut flows)?;
        Ok(flows.remove(0))
    }

    #[test]
    fn netperfmeters_examples_are_read() {
        let alpha = flow("const5:exp1000:const3:exp500:description=\"Alpha\":onoff=+10").unwrap();
        assert_eq!(alpha.outgoing.rate, Distribution::Const(5.0));
        assert_eq!(alpha.incoming.size, Distribution::Exp(500.0));
        assert_eq!(alpha.description.as_deref(), Some("Alpha"));
        let bulk = flow("const0:const1400:const0:const1400:unordered=0.25:maxmsgsize=700").unwrap();
        assert!(bulk.outgoing.is_saturated() && bulk.incoming.is_active());
        assert_eq!((bulk.unordered, bulk.max_message, bulk.stream), (0.25, 700, 1));
        for right in ["const2:const24", "const2:const16777216", "const2:uniform24,100"] {
            assert!(flow(right).is_ok(), "{right}");
        }
        let error = flow("const2:const40000000").unwrap_err();
        assert_eq!(
            error,
            "flow 0: const40000000: frames have 24 bytes to 16 MiB (16777216), or const0 for none"
        );
        let one_way = flow("const2:const1000:ordered=1:reliable=1").unwrap();
        assert!(!one_way.incoming.is_active());
        assert!(flow("default").unwrap().incoming.is_active());
    }

    #[test]
    fn nonsense_is_one_line() {
        for wrong in [
            "",
            "const5",
            "const5:const100:const5",
            "const5:const0:const5:const0",
            "const2:const40000000",
            "const2:const16777217",
            "const2:const23",
            "const2:exp20",
            "const2:uniform10,100",
            "const2:uniform100,20000000",
            "const2:pareto9,2",
            "const5:const100:const5:const23",
            "const5:const100:speed=9",
            "const5:const100:unordered=2",
            "const5:const100:unordered",
            "const5:const100:stream=0",
            "const5:const100:stream=1001",
            "const5:const100:maxmsgsize=5",
            "const5:const100:unreliable=0.5",
            "const5:const100:onoff=",
            "const5:const100:onoff=x",
            "const5:const100:onoff=+1,repeat",
            "const5:const100:onoff=1,2,repeat",
            "const5:const100:onoff=+0,+0,repeat",
            "const5:const100:id=70000",
        ] {
            let error = flow(wrong).unwrap_err();
            assert!(!error.contains('\n') && !error.is_empty(), "{wrong}: {error}");
        }
        let mut twins =
            ["const1:const100:id=3", "const1:const100:id=3"].map(|t| t.parse().unwrap());
        assert!(number(&mut twins).unwrap_err().contains("id 3"));
    }

    #[test]
    fn moments_are_absolute_or_relative_and_repeat() {
        let mut rng = Rng::from_seed([1; 32]);
        let mut seconds = |text: &str| -> Vec<u64> {
            let onoff: OnOff = text.parse().unwrap();
            onoff.moments(&mut rng).take(6).map(|nanos| nanos / 1_000_000_000).collect()
        };
        assert_eq!(seconds("0,10,30"), [0, 10, 30]);
        assert_eq!(seconds("10,+30,+60"), [10, 40, 100]);
        assert_eq!(seconds("5,3"), [5, 5]);
        assert_eq!(seconds("+1,+2,repeat"), [1, 3, 4, 6, 7, 9]);
    }

    #[test]
    fn intervals_and_frames_have_their_means() {
        let mut rng = Rng::from_seed([5; 32]);
        for (text, tolerance) in [("const50:const400", 1e-6), ("exp50:exp400", 0.05)] {
            let flow = flow(text).unwrap();
            let n = 20_000_u32;
            let time: u64 = (0..n).map(|_| flow.outgoing.interval(&mut rng)).sum();
            let bytes: usize = (0..n).map(|_| flow.outgoing.frame(&mut rng)).sum();
            assert!((time as f64 / f64::from(n) / 2e7 - 1.0).abs() < tolerance, "{text}");
            assert!((bytes as f64 / f64::from(n) / 400.0 - 1.0).abs() < tolerance, "{text}");
        }
    }
}
