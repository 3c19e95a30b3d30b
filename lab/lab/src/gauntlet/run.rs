//! One world as a run: everything that decides its outcome.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::Profile;
use tresse_gauntlet::{Measures, World, judge};

use crate::fingerprint::content_hash;
use crate::runner::{Record, Run};
use crate::version;

/// A world with a profile.
#[derive(Clone, Debug)]
pub(crate) struct WorldRun {
    key: String,
    world: u64,
    profile: Arc<Profile>,
}

impl WorldRun {
    pub(crate) fn new(world: u64, profile: &Arc<Profile>) -> WorldRun {
        let key = content_hash(&[
            b"gauntlet",
            version::SOURCE.as_bytes(),
            profile.to_toml().as_bytes(),
            &world.to_be_bytes(),
        ]);
        WorldRun { key, world, profile: Arc::clone(profile) }
    }
}

/// What was measured in one world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorldRecord {
    key: String,
    pub(crate) measures: Measures,
}

impl Record for WorldRecord {
    fn key(&self) -> &str {
        &self.key
    }

    fn simulated(&self) -> u64 {
        self.measures.packets()
    }

    fn set_key(&mut self, key: String) {
        self.key = key;
    }
}

impl Run for WorldRun {
    type Record = WorldRecord;

    fn key(&self) -> &str {
        &self.key
    }

    fn seed(&self) -> u64 {
        self.world
    }

    fn name(&self) -> String {
        format!("world-{}", self.world)
    }

    fn execute(&self, _capture: Option<&Path>) -> Result<WorldRecord, String> {
        let measures = judge::measure(&World::draw(self.world), &self.profile)?;
        Ok(WorldRecord { key: self.key.clone(), measures })
    }

    fn playable(&self) -> Result<(), String> {
        Err("worlds of the gauntlet are simulated only".into())
    }

    #[cfg(real_time)]
    fn play(&self) -> Result<WorldRecord, String> {
        Err("worlds of the gauntlet are simulated only".into())
    }
}
