//! An experiment as data: the files `experiments/<paper>/<figure>.toml`.
//!
//! There are two kinds, with a schema each: [`SingleLoss`] drops exactly one packet a run, each
//! one in turn; [`Flow`] (`kind = "flow"`) sends traffic through a lossy network and measures the
//! flow as a whole. Keys are strict: an unknown one is an error that names the file, the line and
//! the key.

mod catalogue;
mod load;

use serde::Serialize;

use crate::comparison::{Claim, Published};
use crate::flow::Flow;
use crate::single_loss::SingleLoss;

pub use crate::common::{About, AssociationSettings, Inferred, Paper, ProfileEntry, Replications};
pub use catalogue::{MECHANISMS, built_in, find, ids, ids_of};
pub(crate) use load::with_changes;
pub use load::{load_file, parse};

/// An experiment of either kind.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Experiment {
    /// Exactly one packet is dropped a run.
    SingleLoss(Box<SingleLoss>),
    /// A flow through a lossy network.
    Flow(Box<Flow>),
}

/// Reads one of the fields that both kinds have.
macro_rules! field {
    ($self:expr, $name:ident) => {
        match $self {
            Experiment::SingleLoss(e) => &e.$name,
            Experiment::Flow(e) => &e.$name,
        }
    };
}

macro_rules! field_mut {
    ($self:expr, $name:ident) => {
        match $self {
            Experiment::SingleLoss(e) => &mut e.$name,
            Experiment::Flow(e) => &mut e.$name,
        }
    };
}

impl Experiment {
    /// `paper/figure`.
    pub fn id(&self) -> &str {
        field!(self, id)
    }

    /// One line.
    pub fn title(&self) -> &str {
        field!(self, title)
    }

    /// Whether it takes minutes, so that a campaign makes it only when asked for everything.
    pub fn is_slow(&self) -> bool {
        matches!(self, Experiment::Flow(e) if e.slow)
    }

    /// What it is, without how.
    pub fn about(&self) -> About {
        About {
            id: self.id().to_owned(),
            title: self.title().to_owned(),
            paper: field!(self, paper).clone(),
            summary: field!(self, summary).clone(),
            notes: field!(self, notes).clone(),
            inferred: field!(self, inferred).clone(),
            replications: *field!(self, replications),
        }
    }

    /// The senders that are compared.
    pub fn profiles(&self) -> &[ProfileEntry] {
        field!(self, profiles)
    }

    pub(crate) fn profiles_mut(&mut self) -> &mut Vec<ProfileEntry> {
        field_mut!(self, profiles)
    }

    /// Profile parameters in force for every profile.
    pub fn parameters(&self) -> &toml::Table {
        field!(self, parameters)
    }

    pub(crate) fn parameters_mut(&mut self) -> &mut toml::Table {
        field_mut!(self, parameters)
    }

    pub(crate) fn replications_mut(&mut self) -> &mut Replications {
        field_mut!(self, replications)
    }

    /// The published numbers that it is compared with.
    pub fn claims(&self) -> Vec<Claim> {
        match self {
            Experiment::SingleLoss(e) => e.published.iter().map(Published::claim).collect(),
            Experiment::Flow(e) => e.published.iter().map(Published::claim).collect(),
        }
    }

    /// How many published numbers it is compared with.
    pub fn published(&self) -> usize {
        match self {
            Experiment::SingleLoss(e) => e.published.len(),
            Experiment::Flow(e) => e.published.len(),
        }
    }
}
