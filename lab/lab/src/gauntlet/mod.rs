//! The gauntlet as a campaign: many worlds on all cores, what is finished is kept, and a page says what the
//! laws make of them.

mod explain;
mod page;
mod run;
mod tally;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tresse_core::Profile;
use tresse_gauntlet::{Measures, World};

use crate::error::LabError;
use crate::runner::{self, Execution, Failure, Folder};
use crate::shell::shell_word;
use run::WorldRun;

pub use explain::explain;
pub use tally::{Broken, Row, Tally};

/// What it is called beside the experiments.
pub const ID: &str = "tresse/gauntlet";
/// The page, in the folder of the results.
pub const PAGE: &str = "gauntlet.md";
/// Worlds that are played unless others are asked for.
pub const WORLDS: Range<u64> = 0..1000;

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

/// What a campaign brought.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// What was asked for.
    pub request: Request,
    /// The command that repeats it.
    pub command: String,
    /// The profiles.
    pub candidates: Vec<Candidate>,
    /// Worlds played now, for all profiles.
    pub executed: usize,
    /// Worlds that were stored already.
    pub reused: usize,
    /// Packets that were simulated now.
    pub packets: u64,
    /// How long it took.
    pub elapsed: Duration,
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
    fn command(&self) -> String {
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
    fn replay(&self, world: u64, profile: &str) -> String {
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
    fn folder(&self, profile: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "+-.".contains(c) { c } else { '-' };
        let words = [profile].into_iter().chain(self.parameters.iter().map(String::as_str));
        let words: Vec<String> = words.map(|word| word.chars().map(plain).collect()).collect();
        match words.join("_") {
            name if name == "tresse" => ID.to_owned(),
            name => format!("{ID}-{name}"),
        }
    }
}

/// Plays the worlds that are not stored under `out`, and writes a page for each profile.
///
/// # Errors
/// Whatever is wrong with the request, before anything is written; [`LabError::Write`], [`LabError::Busy`] and the like.
pub fn run(request: &Request, out: &Path, execution: &Execution) -> Result<Campaign, LabError> {
    let start = Instant::now();
    let profiles: Vec<Arc<Profile>> =
        request.profiles.iter().map(|name| request.profile(name)).collect::<Result<_, _>>()?;
    let mut campaign = Campaign {
        request: request.clone(),
        command: request.command(),
        candidates: Vec::new(),
        executed: 0,
        reused: 0,
        packets: 0,
        elapsed: Duration::ZERO,
    };
    for (name, profile) in request.profiles.iter().zip(&profiles) {
        let plan: Vec<WorldRun> =
            request.worlds.clone().map(|world| WorldRun::new(world, profile)).collect();
        let id = request.folder(name);
        let folder = Folder::open(out, &id)?;
        let execution = Execution { command: request.command(), ..execution.clone() };
        let mut executed = runner::execute(&plan, &id, &folder, &execution)?;
        for failure in &mut executed.failures {
            failure.replay = request.replay(failure.seed, name);
        }
        campaign.executed += plan.len() - executed.reused;
        campaign.reused += executed.reused;
        campaign.packets += executed.packets;
        let measures = executed.records.into_iter().map(|record| record.measures).collect();
        let failures = executed.failures;
        let candidate = Candidate { name: name.clone(), measures, failures };
        write(&folder, request, &candidate)?;
        campaign.candidates.push(candidate);
    }
    campaign.elapsed = start.elapsed();
    Ok(campaign)
}

/// The page of one profile, in its folder.
fn write(folder: &Folder, request: &Request, candidate: &Candidate) -> Result<(), LabError> {
    let alone = Request { profiles: vec![candidate.name.clone()], ..request.clone() };
    let (page, drawings) = page::render(&alone, std::slice::from_ref(candidate));
    for drawing in drawings {
        folder.write(&drawing.name, drawing.svg.as_bytes())?;
    }
    folder.write(PAGE, page.as_bytes())
}

impl Campaign {
    /// Writes `gauntlet.md` with all profiles, and its plots beside it, into `docs`. The files.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn write_docs(&self, docs: &Path) -> Result<Vec<PathBuf>, LabError> {
        let (page, drawings) = page::render(&self.request, &self.candidates);
        let mut files = vec![(PAGE.to_owned(), page)];
        files.extend(drawings.into_iter().map(|drawing| (drawing.name, drawing.svg)));
        std::fs::create_dir_all(docs).map_err(|e| LabError::write(docs, e))?;
        let mut paths = Vec::new();
        for (name, text) in files {
            let path = docs.join(name);
            std::fs::write(&path, text).map_err(|e| LabError::write(&path, e))?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// What the laws make of it, for a terminal.
    pub fn summary(&self) -> String {
        page::summary(&self.request, &self.candidates)
    }

    /// Whether an invariant was broken in any world.
    pub fn has_failures(&self) -> bool {
        self.candidates.iter().any(|candidate| !candidate.failures.is_empty())
    }
}

/// The world of some measures.
fn world_of(measures: &Measures) -> World {
    World::draw(measures.world)
}
