//! The primary path alone, as RFC 9260 §6.4 sends; another one only when it cannot be used.

use super::{PathScheduler, View};
use crate::ids::PathId;

#[derive(Debug, Default)]
pub(crate) struct Primary;

impl PathScheduler for Primary {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let primary = view.paths.iter().find(|p| p.id == view.primary);
        let path = primary.or_else(|| view.paths.first())?;
        path.open.then_some(path.id)
    }
}
