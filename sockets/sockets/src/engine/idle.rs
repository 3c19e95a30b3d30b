//! SCTP_AUTOCLOSE (RFC 6458 §8.1.8): associations of one-to-many sockets that are idle for too long
//! are shut down.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Engine;

impl Engine {
    //= RFC 6458 8.1.8-1
    /// Shuts down what has been idle for too long; when to look again, if ever.
    fn close_idle(&mut self, now: Instant) -> Option<Instant> {
        let (mut due, mut next) = (Vec::new(), None);
        for socket in self.sockets.values().filter(|s| s.many && s.options.autoclose > 0) {
            let limit = Duration::from_secs(socket.options.autoclose.into());
            for number in &socket.associations {
                let Some(association) = self.associations.get(number) else { continue };
                if !association.established || association.ended {
                    continue;
                }
                let at = association.used + limit;
                if at <= now {
                    due.push(*number);
                } else {
                    next = Some(next.map_or(at, |next: Instant| next.min(at)));
                }
            }
        }
        for number in due {
            self.shut_association(number);
        }
        next
    }
}

/// Runs for as long as the engine does.
pub(super) async fn watch_idle(engine: Rc<RefCell<Engine>>) {
    let changed = Rc::clone(&engine.borrow().idle);
    loop {
        let next = engine.borrow_mut().close_idle(Instant::now());
        match next {
            Some(at) => drop(timeout_at(at, changed.notified()).await),
            None => changed.notified().await,
        }
    }
}
