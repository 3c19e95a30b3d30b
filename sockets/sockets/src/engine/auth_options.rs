//! The options for authenticated chunks (RFC 4895, RFC 6458 §8), with Linux' numbers and errors.

use std::sync::Arc;

use tresse::{ChunkType, HmacIdentifier, KeyError};

use super::option_names::name;
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, Struct, errno};

/// As many types as Linux lists.
const MAX_CHUNKS: usize = 20;
/// As many algorithms as Linux takes.
const MAX_ALGORITHMS: usize = 4;

/// What becomes of a key.
#[derive(Clone, Copy)]
enum Change<'a> {
    Set(&'a [u8]),
    Activate,
    Deactivate,
    Delete,
}

/// What Linux says where the stack refuses.
fn number_of(error: &KeyError) -> i32 {
    match error {
        KeyError::NotSupported => errno::EACCES,
        _ => errno::EINVAL,
    }
}

fn chunk_list(number: u32, chunks: &[ChunkType], room: usize) -> Fallible<Vec<u8>> {
    if room < 8 + chunks.len() {
        return Err(errno::EINVAL);
    }
    let mut s = Struct::default();
    s.u32(number).u32(chunks.len() as u32);
    chunks.iter().for_each(|kind| {
        s.u8(kind.0);
    });
    Ok(s.0)
}

impl Engine {
    //= RFC 6458 8.3.2-3
    /// EACCES where associations to come do not authenticate chunks.
    fn check_authenticates(&mut self, id: u64) -> Fallible<()> {
        let on = self.socket(id)?.options.config.extensions.authentication;
        if on { Ok(()) } else { Err(errno::EACCES) }
    }

    /// The options that begin with SCTP_AUTH, and SCTP_HMAC_IDENT.
    pub(super) fn set_auth(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let f = Fields(value);
        match option {
            name::AUTH_CHUNK => self.set_auth_chunk(id, value),
            name::HMAC_IDENT => self.set_algorithms(id, value),
            name::AUTH_KEY => {
                if value.len() <= 8 {
                    return Err(errno::EINVAL);
                }
                let secret = value.get(8..8 + usize::from(f.u16(6))).ok_or(errno::EINVAL)?;
                self.change_key(id, f.u32(0), f.u16(4), Change::Set(secret))
            }
            name::AUTH_ACTIVE_KEY => self.change_key(id, f.u32(0), f.u16(4), Change::Activate),
            name::AUTH_DELETE_KEY => self.change_key(id, f.u32(0), f.u16(4), Change::Delete),
            _ => self.change_key(id, f.u32(0), f.u16(4), Change::Deactivate),
        }
    }

    fn set_auth_chunk(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        self.check_authenticates(id)?;
        let &[number] = value else { return Err(errno::EINVAL) };
        let kind = ChunkType(number);
        let socket = self.socket(id)?;
        let mut config = socket.options.config.clone();
        let chunks = &mut Arc::make_mut(&mut config.authentication).chunks;
        if chunks.contains(&kind) {
            return Ok(());
        }
        if chunks.len() >= MAX_CHUNKS {
            return Err(errno::EINVAL);
        }
        chunks.push(kind);
        //= RFC 6458 8.3.2-1 8.3.2-2
        // RFC 4895 §3.2 has those that cannot be listed.
        config.check().map_err(|_| errno::EINVAL)?;
        socket.options.config = config;
        let port = socket.port;
        self.refresh_open_port(port)
    }

    //= RFC 6458 8.1.17-1
    fn set_algorithms(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        self.check_authenticates(id)?;
        let f = at_least(value, 4)?;
        let count = f.u32(0) as usize;
        if count == 0 || count > MAX_ALGORITHMS {
            return Err(errno::EINVAL);
        }
        let list = Fields(value.get(4..4 + 2 * count).ok_or(errno::EINVAL)?);
        let mut algorithms = Vec::new();
        for one in (0..count).map(|at| HmacIdentifier(list.u16(2 * at))) {
            if one != HmacIdentifier::SHA_1 && one != HmacIdentifier::SHA_256 {
                return Err(errno::EOPNOTSUPP);
            }
            if !algorithms.contains(&one) {
                algorithms.push(one);
            }
        }
        if !algorithms.contains(&HmacIdentifier::SHA_1) {
            return Err(errno::EINVAL);
        }
        let socket = self.socket(id)?;
        Arc::make_mut(&mut socket.options.config.authentication).algorithms = algorithms;
        let port = socket.port;
        self.refresh_open_port(port)
    }

    //= RFC 6458 8.1.18-1 8.3.4-1 8.3.5-1 8.3.5-2
    fn change_key(&mut self, id: u64, number: u32, key: u16, change: Change<'_>) -> Fallible<()> {
        self.check_number(id, number)?;
        let one = self.association_of(id, number).map(|(_, association)| association.core);
        if let Some(core) = one {
            return self.change_key_of(core, key, change);
        }
        let many = self.socket(id)?.many;
        if !many || number != 1 {
            self.check_authenticates(id)?;
            let socket = self.socket(id)?;
            let keys = &mut Arc::make_mut(&mut socket.options.config.authentication).keys;
            let changed = match change {
                Change::Set(secret) => keys.set(key, secret),
                Change::Activate => keys.activate(key),
                Change::Deactivate => keys.deactivate(key),
                Change::Delete => keys.delete(key),
            };
            changed.map_err(|error| number_of(&error))?;
            let port = socket.port;
            self.refresh_open_port(port)?;
        }
        // SCTP_CURRENT_ASSOC and SCTP_ALL_ASSOC.
        if !many || !matches!(number, 1 | 2) {
            return Ok(());
        }
        let numbers: Vec<u32> = self.socket(id)?.associations.iter().copied().collect();
        let cores = numbers.iter().filter_map(|n| self.associations.get(n)).map(|a| a.core);
        let results: Vec<Fallible<()>> =
            cores.map(|core| self.change_key_of(core, key, change)).collect();
        results.into_iter().collect()
    }

    //= RFC 6458 8.1.18-2
    fn change_key_of(
        &self,
        core: tresse::AssociationId,
        key: u16,
        change: Change<'_>,
    ) -> Fallible<()> {
        self.raw.act(|endpoint, now| {
            if endpoint.authentication(core).is_none() {
                return Err(errno::EACCES);
            }
            let changed = match change {
                Change::Set(secret) => endpoint.set_shared_key(now, core, key, secret),
                Change::Activate => endpoint.activate_shared_key(now, core, key),
                Change::Deactivate => endpoint.deactivate_shared_key(now, core, key),
                Change::Delete => endpoint.delete_shared_key(now, core, key),
            };
            changed.map_err(|error| number_of(&error))
        })
    }

    /// EINVAL where a message names a key (SCTP_AUTHINFO) that it cannot be authenticated with. As in Linux no key is looked
    /// for where chunks are not authenticated.
    pub(super) fn check_named_key(&self, core: tresse::AssociationId, key: u16) -> Fallible<()> {
        let info = self.raw.act(|endpoint, _| endpoint.authentication(core));
        let usable = info
            .is_none_or(|info| info.keys.contains(&key) && !info.deactivated_keys.contains(&key));
        if usable { Ok(()) } else { Err(errno::EINVAL) }
    }

    /// What was set, or agreed on.
    pub(super) fn auth(&mut self, id: u64, option: i32, given: &[u8]) -> Fallible<Vec<u8>> {
        let number = Fields(given).u32(0);
        if option == name::HMAC_IDENT {
            self.check_authenticates(id)?;
            let algorithms = &self.socket(id)?.options.config.authentication.algorithms;
            if given.len() < 4 + 2 * algorithms.len() {
                return Err(errno::EINVAL);
            }
            let mut s = Struct::default();
            s.u32(algorithms.len() as u32);
            algorithms.iter().for_each(|one| {
                s.u16(one.0);
            });
            return Ok(s.0);
        }
        at_least(given, 8)?;
        let core = self.association_of(id, number).map(|(_, association)| association.core);
        let Some(core) = core else {
            let many = self.socket(id)?.many;
            if option == name::PEER_AUTH_CHUNKS || (many && number != 0) {
                return Err(errno::EINVAL);
            }
            self.check_authenticates(id)?;
            let settings = &self.socket(id)?.options.config.authentication;
            return match option {
                name::LOCAL_AUTH_CHUNKS => chunk_list(number, &settings.chunks, given.len()),
                _ => Ok(Struct::default().u32(number).u16(settings.keys.active()).u16(0).0.clone()),
            };
        };
        let info =
            self.raw.act(|endpoint, _| endpoint.authentication(core)).ok_or(errno::EACCES)?;
        match option {
            name::PEER_AUTH_CHUNKS => chunk_list(number, &info.peer_chunks, given.len()),
            name::LOCAL_AUTH_CHUNKS => chunk_list(number, &info.local_chunks, given.len()),
            _ => Ok(Struct::default().u32(number).u16(info.active_key).u16(0).0.clone()),
        }
    }

    /// The key that an association authenticates with, if it does.
    pub(super) fn active_key(&self, number: u32) -> Option<u16> {
        let core = self.associations.get(&number)?.core;
        self.raw.act(|endpoint, _| endpoint.authentication(core)).map(|info| info.active_key)
    }
}
