//! The gauntlet as a campaign: many worlds on all cores, what is finished is kept, and a page says what the
//! laws make of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tresse_core::Profile;

use crate::error::LabError;
use crate::gauntlet::{Candidate, Request, WorldRun};
use crate::report::gauntlet::{self, PAGE};
use crate::runner::{self, Execution, Folder};

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

impl Campaign {
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

    /// Writes `gauntlet.md` with all profiles, and its plots beside it, into `docs`. The files.
    ///
    /// # Errors
    /// [`LabError::Write`].
    pub fn write_docs(&self, docs: &Path) -> Result<Vec<PathBuf>, LabError> {
        let (page, drawings) = gauntlet::render(&self.request, &self.candidates);
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
        gauntlet::summary(&self.request, &self.candidates)
    }

    /// Whether an invariant was broken in any world.
    pub fn has_failures(&self) -> bool {
        self.candidates.iter().any(|candidate| !candidate.failures.is_empty())
    }
}

/// The page of one profile, in its folder.
fn write(folder: &Folder, request: &Request, candidate: &Candidate) -> Result<(), LabError> {
    let alone = Request { profiles: vec![candidate.name.clone()], ..request.clone() };
    let (page, drawings) = gauntlet::render(&alone, std::slice::from_ref(candidate));
    for drawing in drawings {
        folder.write(&drawing.name, drawing.svg.as_bytes())?;
    }
    folder.write(PAGE, page.as_bytes())
}
