//! Associations of a socket with notifications that wait and that a peer can cause at will.

use super::Engine;

/// With so many of them those of all others are left out.
const MAX_CROWD: usize = 64;

impl Engine {
    /// Whether notifications of this many other associations wait that one which a peer can cause at will is
    /// left out.
    pub(super) fn is_crowded(&self, id: u64, number: u32) -> bool {
        self.sockets.get(&id).is_some_and(|socket| {
            socket.crowd.len() >= MAX_CROWD && !socket.crowd.contains(&number)
        })
    }

    /// Something was added to what waits with an association, or all of it was taken out.
    pub(super) fn count_crowd(&mut self, id: u64, number: u32) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let one = self.associations.get(&number);
        if one.is_some_and(|a| {
            !a.waiting && (a.held.is_cheap() || a.lives.are_cheap() || a.last_words.is_cheap())
        }) {
            socket.crowd.insert(number);
        } else {
            socket.crowd.remove(&number);
        }
    }
}
