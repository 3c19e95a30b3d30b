//! The description of the links, in the same TOML as the topology of an experiment.

use std::fs;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tresse_netem::{ConfigError, LinkConfig};

use crate::{Direction, Error};

/// The links between two hosts, as a file describes them: `forward`, `backward`, for a second path
/// `second.forward` and `second.backward`, each a [`LinkConfig`]; and `seed` (default 1), from which
/// the random decisions follow. A whole experiment of the laboratory serves as well: its `[topology]`
/// and the seed of its `[replications]` are taken. Other keys are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// The link from left to right.
    pub forward: LinkConfig,
    /// The link from right to left.
    pub backward: LinkConfig,
    /// The second path. Default: none.
    #[serde(default)]
    pub second: Option<Path>,
    /// From which the random decisions of all links follow. Default 1.
    #[serde(default = "one")]
    pub seed: u64,
}

/// The two links of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The link from left to right.
    pub forward: LinkConfig,
    /// The link from right to left.
    pub backward: LinkConfig,
}

const fn one() -> u64 {
    1
}

impl LinkFile {
    /// One path with these links.
    #[must_use]
    pub fn new(forward: LinkConfig, backward: LinkConfig) -> LinkFile {
        LinkFile { forward, backward, second: None, seed: 1 }
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`Error::Links`], one line that begins with the name of the file.
    pub fn read(file: &std::path::Path) -> Result<LinkFile, Error> {
        let fault = |what: String| Error::Links(format!("{}: {what}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| fault(error.to_string()))?;
        text.parse().map_err(|error: Error| fault(error.to_string()))
    }

    /// How many paths there are: 1 or 2.
    #[must_use]
    pub fn path_count(&self) -> usize {
        1 + usize::from(self.second.is_some())
    }

    /// The link of a path, counted from 0, in one direction. `None` if there is no such path.
    #[must_use]
    pub fn link(&self, path: usize, direction: Direction) -> Option<&LinkConfig> {
        let (forward, backward) = match path {
            0 => (&self.forward, &self.backward),
            1 => self.second.as_ref().map(|second| (&second.forward, &second.backward))?,
            _ => return None,
        };
        Some(match direction {
            Direction::Forward => forward,
            Direction::Backward => backward,
        })
    }

    /// Checks every link.
    ///
    /// # Errors
    /// [`Error::Links`]: the first fault, as one line that begins with the key.
    pub fn validate(&self) -> Result<(), Error> {
        for path in 0..self.path_count() {
            for direction in Direction::BOTH {
                let place = if path == 0 { "" } else { "second." };
                let link = self.link(path, direction).expect("the path was counted");
                link.validate().map_err(|ConfigError { key, reason }| {
                    Error::Links(format!("{place}{}.{key}: {reason}", direction.name()))
                })?;
            }
        }
        Ok(())
    }
}

impl FromStr for LinkFile {
    type Err = Error;

    fn from_str(text: &str) -> Result<LinkFile, Error> {
        // The second line of toml's message is a picture of the place.
        let fault = |error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].lines().count().max(1));
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            Error::Links(format!("{place}{}", error.message().replace('\n', " ")))
        };
        let mut table: toml::Table = text.parse().map_err(fault)?;
        let links = match table.remove("topology") {
            Some(topology) => {
                let mut links = single_grid(topology)?;
                let seed = table.get("replications").and_then(|found| found.get("seed"));
                links.extend(seed.map(|seed| ("seed".to_owned(), seed.clone())));
                links.try_into().map_err(|error: toml::de::Error| {
                    Error::Links(format!("topology: {}", error.message()))
                })?
            }
            None => toml::from_str::<LinkFile>(text).map_err(fault)?,
        };
        links.validate()?;
        Ok(links)
    }
}

/// The table of a topology, with `bandwidth_kbps` and `delay_ms`, which some experiments have as lists
/// that hold for both directions, put where links have them.
fn single_grid(topology: toml::Value) -> Result<toml::Table, Error> {
    let fault = |key: &str, why: &str| Err(Error::Links(format!("topology{key}: {why}")));
    let toml::Value::Table(mut links) = topology else {
        return fault("", "a table is needed");
    };
    if links.contains_key("shared") {
        return fault(".shared", "a bottleneck shared with other hosts cannot be emulated");
    }
    for key in ["bandwidth_kbps", "delay_ms"] {
        let Some(list) = links.remove(key) else { continue };
        let value = match list.as_array().map(Vec::as_slice) {
            Some([value]) => value.clone(),
            _ => return fault(&format!(".{key}"), "a list of one number is needed"),
        };
        for direction in Direction::BOTH {
            let link = links.entry(direction.name()).or_insert_with(|| toml::Table::new().into());
            if let Some(link) = link.as_table_mut() {
                link.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<LinkFile>().expect_err(text).to_string()
    }

    #[test]
    fn a_file_and_an_experiment_say_the_same() {
        let plain: LinkFile =
            "seed = 7\nforward = { delay_ms = 5 }\nbackward = {}".parse().unwrap();
        let experiment = "id = \"x\"\n[topology]\nforward = { delay_ms = 5 }\nbackward = {}\n\
                          [replications]\nseed = 7\ncount = 3";
        assert_eq!(experiment.parse::<LinkFile>().unwrap(), plain);
        assert_eq!((plain.path_count(), plain.link(1, Direction::Forward)), (1, None));
        let grid =
            "[topology]\nbandwidth_kbps = [2000]\ndelay_ms = [15]\nforward.queue_packets = 5";
        let grid: LinkFile = grid.parse().unwrap();
        assert_eq!((grid.forward.queue_packets, grid.backward.queue_packets), (Some(5), None));
        assert_eq!(grid.backward, LinkConfig::new(2000.0, 15.0));
        let two: LinkFile =
            "forward = {}\nbackward = {}\n[second]\nforward = { delay_ms = 9 }\nbackward = {}"
                .parse()
                .unwrap();
        assert_eq!(two.link(1, Direction::Forward).unwrap().delay_ms, 9.0);
        assert_eq!((two.path_count(), two.seed), (2, 1));
    }

    #[test]
    fn faults_are_one_line_that_names_the_place() {
        for (text, expected) in [
            ("forward = {}", "missing field `backward`"),
            ("forward = {}\nbackward = { los = 1 }", "line 2: unknown field `los`"),
            ("forward = {}\nbackward = { loss = 2 }", "backward.loss: a probability"),
            ("forward = {", "line 1: "),
            ("topology = 3", "topology: a table"),
            ("[topology]\nbandwidth_kbps = [1, 2]\ndelay_ms = [1]", "topology.bandwidth_kbps: "),
            ("[topology]\nshared = {}", "topology.shared: "),
            (
                "forward = {}\nbackward = {}\nsecond.forward = { loss = -1 }\nsecond.backward = {}",
                "second.forward.loss: ",
            ),
        ] {
            let said = refusal(text);
            assert!(said.contains(expected) && !said.contains('\n'), "{text}: {said}");
        }
        let said = LinkFile::read("does/not/exist.toml".as_ref()).unwrap_err().to_string();
        assert!(said.starts_with("does/not/exist.toml: "), "{said}");
    }
}
