//! What the application asks for (RFC 9260 §11.1).

use bytes::Bytes;
use tresse_wire::{CauseWriter, StreamId};

use super::errors::End;
use super::{Association, Phase, State};
use crate::config::AssociationConfig;
use crate::error::{AssociationError, NoAssociation, SendError};
use crate::event::{CloseReason, Event, SendOptions};
use crate::ids::PathId;
use crate::reliability::{AbandonPolicy, AbandonedMessages};
use crate::settings::PathSettings;
use crate::stats::{AssociationInfo, AssociationStats, PathStats};
use crate::time::Time;

impl Association {
    /// SEND.
    pub(crate) fn send(
        &mut self,
        now: Time,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        match &self.phase {
            Phase::Closed => return Err(NoAssociation.into()),
            Phase::Established => {}
            Phase::CookieWait(opening) | Phase::CookieEchoed(opening, ..)
                if !opening.is_to_be_closed() => {}
            //= RFC 9260 4-10 4-12 9.2-8 9.2-21
            // §9.2: new data requests SHOULD be rejected.
            _ => return Err(SendError::ShuttingDown),
        }
        let streams = self.sender.data().streams();
        //= RFC 9260 6.5-1
        if stream.0 >= streams {
            return Err(SendError::NoStream { stream: stream.0, streams });
        }
        //= RFC 9260 3.3.1-5 6.2-32
        if payload.is_empty() {
            return Err(SendError::Empty);
        }
        let size = payload.len();
        //= RFC 9260 6.9-3 6.9-4
        let limit = if self.config.fragmentation {
            self.config.max_message_size
        } else {
            self.sender.data().fragmentation_point(&self.paths)
        };
        if size > limit {
            if !self.config.fragmentation {
                self.paths.on_too_large(now);
            }
            return Err(SendError::TooLarge { size, limit });
        }
        if let Some(key) = options.key.filter(|key| !self.authenticator().may_name_key(*key)) {
            return Err(SendError::NoKey { key });
        }
        if let Some(address) = options.destination.filter(|to| self.paths.find(*to).is_none()) {
            return Err(SendError::NoAddress { address });
        }
        if !self.sender.data().fits(stream, size) && !self.make_room(now, stream, size, &options) {
            self.sender.on_refused();
            return Err(SendError::WouldBlock);
        }
        self.journal.stats.messages_sent += 1;
        self.journal.stats.user_bytes_sent += size as u64;
        let (sender, mut cx) = self.sending(now);
        sender.push(&mut cx, stream, payload, options);
        Ok(())
    }

    /// Gives up messages that matter less than one which there is no room for. `false` if that is not enough.
    fn make_room(
        &mut self,
        now: Time,
        stream: StreamId,
        size: usize,
        options: &SendOptions,
    ) -> bool {
        let reliability = options.reliability.unwrap_or(self.config.reliability);
        let (sender, mut cx) = self.sending(now);
        sender.make_room(&mut cx, stream, size, reliability)
    }

    /// How many messages were given up, of a stream and by a policy, or of all.
    pub(crate) fn abandoned(
        &self,
        stream: Option<StreamId>,
        policy: Option<AbandonPolicy>,
    ) -> Result<AbandonedMessages, AssociationError> {
        if stream.is_some_and(|stream| stream.0 >= self.sender.data().streams()) {
            return Err(AssociationError::NoStream);
        }
        Ok(self.sender.abandonment().counted(stream, policy))
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        let mut stats = self.journal.stats.clone();
        stats.send_buffered = self.sender.data().buffered();
        stats.receive_buffered = self.receiver.buffered();
        stats.peer_rwnd = self.sender.data().peer_window();
        stats.memory = self.memory();
        stats
    }

    pub(crate) fn path_stats(&self) -> Vec<PathStats> {
        let primary = self.paths.primary();
        self.paths
            .iter()
            .map(|p| p.stats(self.sender.data().flight(p.id), p.id == primary))
            .collect()
    }

    /// Free bytes in the send buffer.
    pub(crate) fn send_space(&self) -> usize {
        self.sender.data().space()
    }

    /// STATUS (§11.1.8), as far as it is not counted.
    pub(crate) fn info(&self) -> AssociationInfo {
        AssociationInfo {
            state: self.state(),
            local_port: self.identity.local_port,
            remote_port: self.identity.remote_port,
            local_tag: self.identity.local_tag,
            remote_tag: self.identity.peer_tag,
            encapsulation: self.paths[self.paths.primary()].address.encapsulation(),
            local_addresses: self.addresses().sources().known().to_vec(),
            outbound_streams: self.sender.data().streams(),
            inbound_streams: self.receiver.streams(),
            //= RFC 3758 3.3.2-6 3.3.3-1
            extensions: self.sender.data().capabilities().chosen,
            nr_sack: self.sender.data().capabilities().nr_sack,
            unacknowledged_chunks: self.sender.data().outstanding(),
            unread_messages: self.readable(),
            //= RFC 8899 3-20 4.4-1
            fragmentation_point: self.sender.data().fragmentation_point(&self.paths),
        }
    }

    //= RFC 9260 3.3.2-10 3.3.3-10
    /// Takes other settings, as far as they can still change. They hold at once: no timer runs longer
    /// than it would if it began now.
    pub(crate) fn reconfigure(&mut self, now: Time, config: AssociationConfig) {
        let min = self.sender.rto_min(&config.profile);
        for path in self.paths.ids() {
            let p = &mut self.paths[path];
            p.rtt.reconfigure(&config.profile.rto, min);
            let latest = now + p.rto();
            p.t3.hasten(latest);
            let own = self.paths[path].settings;
            self.configure_path(now, path, own.follow(&self.config, &config));
        }
        let asked = self.phase.closing().map_or(self.origin.path(), |closing| closing.path());
        self.phase.repeat_before(now + self.paths[asked].rto());
        let was_idle = self.receiver.ready() == 0;
        self.receiver.reconfigure(now, &config);
        if was_idle && self.receiver.ready() > 0 {
            self.journal.event(Event::Readable);
        }
        self.sender.configure(&config);
        self.config = config;
        if let Some(closing) = self.phase.closing_mut() {
            closing.reconfigure(now, &self.config.profile);
        }
        // What Nagle held back may leave.
        self.paths.begin_opportunity(&self.config.profile);
    }

    /// Packets to the peer's address of `path` go to this UDP port, or with `None` directly on IP.
    pub(crate) fn encapsulate_path(&mut self, path: PathId, port: Option<u16>) {
        self.paths[path].encapsulate(port);
        self.listing.note_move();
    }

    /// ABORT primitive.
    pub(crate) fn abort(&mut self, reason: &[u8]) {
        //= RFC 9260 9.1-3
        // §9.1: a User-Initiated Abort cause SHOULD be present; it must fit one packet.
        let limit = self.paths.amdcs() - 8;
        let reason = &reason[..reason.len().min(limit)];
        let causes = CauseWriter::new().user_initiated_abort(reason).finish();
        self.abort_with(End { causes, reason: CloseReason::Aborted });
    }

    /// SET PRIMARY.
    pub(crate) fn set_primary(&mut self, path: PathId) -> Result<(), AssociationError> {
        let p = self.paths.get(path).ok_or(AssociationError::NoPath)?;
        if !p.is_confirmed() {
            return Err(AssociationError::WrongState("the address is not confirmed yet"));
        }
        if self.paths.set_primary(path) {
            self.journal.primary_changed(&self.paths);
        }
        Ok(())
    }

    /// What the stream scheduler shall know of a stream.
    pub(crate) fn set_stream_value(
        &mut self,
        stream: StreamId,
        value: u16,
    ) -> Result<(), AssociationError> {
        if stream.0 >= self.sender.data().streams() {
            return Err(AssociationError::NoStream);
        }
        self.sender.streams_mut().set_value(stream, value);
        Ok(())
    }

    /// What was set for it.
    pub(crate) fn stream_value(&self, stream: StreamId) -> Option<u16> {
        (stream.0 < self.sender.data().streams()).then(|| self.sender.data().stream_value(stream))
    }

    /// REQUEST HEARTBEAT.
    pub(crate) fn request_heartbeat(
        &mut self,
        now: Time,
        path: PathId,
    ) -> Result<(), AssociationError> {
        self.paths.get(path).ok_or(AssociationError::NoPath)?;
        if self.state() != State::Established {
            return Err(AssociationError::WrongState("the association is not established"));
        }
        let (mut cx, parts) = self.parts(now);
        parts.monitor.send_heartbeat(&mut cx, parts.halves.sender, path);
        Ok(())
    }

    /// §8.3 A to C: other settings of a path hold at once, those of its heartbeats included.
    pub(crate) fn configure_path(&mut self, now: Time, path: PathId, settings: PathSettings) {
        let (mut cx, parts) = self.parts(now);
        parts.monitor.configure(&mut cx, parts.halves.sender, path, settings);
    }

    /// Whether the peer is still there, at its address and UDP port of `path`: `None` as long as that is not known.
    pub(crate) fn is_present(&mut self, now: Time, path: PathId) -> Option<bool> {
        let (mut cx, parts) = self.parts(now);
        parts.monitor.is_present(&mut cx, parts.halves.sender, path)
    }
}
