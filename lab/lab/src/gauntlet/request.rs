//! What is played, and what came of it.

use std::ops::Range;
use std::sync::Arc;

use tresse_core::Profile;
use tresse_gauntlet::Measures;

use crate::error::LabError;
use crate::runner::Failure;
use crate::shell::shell_word;

/// What it is called beside the experiments.
pub const ID: &str = "tresse/gauntlet";

/// What is played.
#[derive(Clone, Debug)]
pub struct Request {
    /// The worlds.
    pub worlds: Range<u64>,
    /// Names of profiles, the first of which the page is about; the others are candidates beside it.
    pub profiles: Vec<String>,
    /// Parameters of every profile, each as `key=value`.
    pub parameters: Vec<String>,
}

/// One profile in all worlds.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// What was measured, in the order of the worlds.
    pub measures: Vec<Measures>,
    /// Worlds in which an invariant was broken.
    pub failures: Vec<Failure>,
}

impl Request {
    /// The profile `name` with the parameters.
    ///
    /// # Errors
    /// [`LabError::Profile`] for an unknown profile or a wrong parameter, [`LabError::Option`] for text that is not
    /// `key=value`.
    pub fn profile(&self, name: &str) -> Result<Arc<Profile>, LabError> {
        let fault = |context: String| move |source| LabError::Profile { context, source };
        let mut profile =
            Profile::named(name).map_err(fault(format!("--profile {}", shell_word(name))))?;
        for text in &self.parameters {
            let option = format!("--set {}", shell_word(text));
            let Some((key, value)) = text.split_once('=') else {
                return Err(LabError::Option(format!("{option}: key=value is needed")));
            };
            // What is no TOML value is a text.
            let toml = format!("{key} = {value}");
            let toml = if toml.parse::<toml::Table>().is_ok() {
                toml
            } else {
                format!("{key} = {value:?}")
            };
            profile = profile.with_overrides(&toml).map_err(fault(option))?;
        }
        Ok(Arc::new(profile))
    }

    /// The command that repeats it.
    pub(crate) fn command(&self) -> String {
        let mut command =
            format!("tresse lab run {ID} --worlds {}..{}", self.worlds.start, self.worlds.end);
        let plain = self.profiles.len() == 1 && self.profiles[0] == "tresse";
        for profile in self.profiles.iter().filter(|_| !plain) {
            command.push_str(&format!(" --profile {}", shell_word(profile)));
        }
        for parameter in &self.parameters {
            command.push_str(&format!(" --set {}", shell_word(parameter)));
        }
        command
    }

    /// The command that plays one world alone with a profile.
    pub(crate) fn replay(&self, world: u64, profile: &str) -> String {
        let mut command = format!("tresse lab run {ID} --world {world}");
        if profile != "tresse" {
            command.push_str(&format!(" --profile {}", shell_word(profile)));
        }
        for parameter in &self.parameters {
            command.push_str(&format!(" --set {}", shell_word(parameter)));
        }
        command
    }

    /// The folder for one profile: others keep what they have.
    pub(crate) fn folder(&self, profile: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "+-.".contains(c) { c } else { '-' };
        let words = [profile].into_iter().chain(self.parameters.iter().map(String::as_str));
        let words: Vec<String> = words.map(|word| word.chars().map(plain).collect()).collect();
        match words.join("_") {
            name if name == "tresse" => ID.to_owned(),
            name => format!("{ID}-{name}"),
        }
    }
}
