//! An experiment as data: the files `experiments/<paper>/<figure>.toml`.
//!
//! What experiments of every kind say is [`Common`]; what one says besides depends on its [`Kind`]:
//! [`SingleLoss`] drops exactly one packet a run, each one in turn; [`Flow`] (`kind = "flow"`) sends
//! traffic through a lossy network and measures the flow as a whole. Keys are strict: an unknown one is
//! an error that names the file, the line and the key.

mod catalogue;
mod load;

use serde::Serialize;

use crate::comparison::Claim;
pub use crate::comparison::has_aims;
use crate::flow::Flow;
use crate::schema::{Named, Schema, claims};
use crate::single_loss::SingleLoss;

pub use crate::common::{
    About, AssociationSettings, Common, Inferred, Paper, ProfileEntry, Replications,
};
pub use crate::schema::Experiment;
pub use catalogue::{MECHANISMS, built_in, check_id, find, ids, ids_of};
pub(crate) use load::with_changes;
pub use load::{load_file, parse};

/// An experiment of any kind.
pub type AnyExperiment = Experiment<Kind>;

/// What an experiment says besides what all say.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Kind {
    /// Exactly one packet is dropped a run.
    SingleLoss(Box<SingleLoss>),
    /// A flow through a lossy network.
    Flow(Box<Flow>),
}

impl Named for Kind {
    fn kind(&self) -> Option<&'static str> {
        match self {
            Kind::SingleLoss(kind) => kind.kind(),
            Kind::Flow(kind) => kind.kind(),
        }
    }
}

impl From<Experiment<SingleLoss>> for AnyExperiment {
    fn from(e: Experiment<SingleLoss>) -> AnyExperiment {
        Experiment { common: e.common, kind: Kind::SingleLoss(Box::new(e.kind)) }
    }
}

impl From<Experiment<Flow>> for AnyExperiment {
    fn from(e: Experiment<Flow>) -> AnyExperiment {
        Experiment { common: e.common, kind: Kind::Flow(Box::new(e.kind)) }
    }
}

impl AnyExperiment {
    /// `paper/figure`.
    pub fn id(&self) -> &str {
        &self.common.id
    }

    /// One line.
    pub fn title(&self) -> &str {
        &self.common.title
    }

    /// Whether it takes minutes, so that a campaign makes it only when asked for everything.
    pub fn is_slow(&self) -> bool {
        matches!(&self.kind, Kind::Flow(flow) if flow.slow)
    }

    /// Has plots show the profile labelled `label` too, where that makes sense.
    pub(crate) fn show(&mut self, label: &str) {
        match &mut self.kind {
            Kind::SingleLoss(kind) => kind.show(label),
            Kind::Flow(kind) => kind.show(label),
        }
    }

    /// The published numbers that it is compared with.
    pub fn claims(&self) -> Vec<Claim> {
        match &self.kind {
            Kind::SingleLoss(kind) => claims(kind.as_ref()),
            Kind::Flow(kind) => claims(kind.as_ref()),
        }
    }
}
