//! SCTP_PEER_ADDR_THLDS (RFC 7829 §7.2): after how many errors one of the peer's addresses has potentially failed or is
//! unreachable, and is the primary one no more. As in Linux the last is a field of SCTP_PEER_ADDR_THLDS_V2 alone.

use std::sync::Arc;

use tresse::PathSettings;

use super::option_names::name;
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, errno};

/// Where the fields of `sctp_paddrthlds_v2` begin, whose address is aligned to 8 bytes.
const ADDRESS: usize = 8;
const MAX_RETRANS: usize = 136;
const PF_MAX_RETRANS: usize = 138;
const PS_MAX_RETRANS: usize = 140;
const SIZE: usize = 144;

/// Path.Max.Retrans, PotentiallyFailed.Max.Retrans and Primary.Switchover.Max.Retrans.
#[derive(Clone, Copy)]
struct Thresholds {
    max_retrans: u32,
    pf_max_retrans: u32,
    ps_max_retrans: u32,
}

impl Thresholds {
    const fn of(settings: &PathSettings) -> Thresholds {
        let PathSettings { max_retrans, pf_max_retrans, ps_max_retrans, .. } = *settings;
        Thresholds { max_retrans, pf_max_retrans, ps_max_retrans }
    }

    /// These, with what a program wants; RFC 7829 §7.2: "the setting of spt_pathcpthld < spt_pathpfthld should be rejected with
    /// errno set to EINVAL", that below spt_pathmaxrxt where there is no such state.
    fn changed(self, option: i32, f: Fields<'_>) -> Fallible<Thresholds> {
        let mut new = Thresholds { pf_max_retrans: f.u16(PF_MAX_RETRANS).into(), ..self };
        if f.u16(MAX_RETRANS) > 0 {
            new.max_retrans = f.u16(MAX_RETRANS).into();
        }
        if option == name::PEER_ADDR_THLDS_V2 {
            new.ps_max_retrans = f.u16(PS_MAX_RETRANS).into();
        }
        if new.ps_max_retrans < new.max_retrans.min(new.pf_max_retrans) {
            return Err(errno::EINVAL);
        }
        Ok(new)
    }

    fn write(self, option: i32, value: &mut [u8]) {
        let mut put = |at: usize, number: u32| {
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            value[at..at + 2].copy_from_slice(&number.to_ne_bytes());
        };
        put(MAX_RETRANS, self.max_retrans);
        put(PF_MAX_RETRANS, self.pf_max_retrans);
        if option == name::PEER_ADDR_THLDS_V2 {
            put(PS_MAX_RETRANS, self.ps_max_retrans);
        }
    }
}

impl Engine {
    pub(super) fn set_thresholds(&mut self, id: u64, option: i32, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, SIZE)?;
        let number = f.u32(0);
        let meant = self.meant_by_thresholds(id, f)?;
        let mut changed = Vec::new();
        for path in meant.iter().flat_map(|(_, paths)| paths) {
            changed.push(Thresholds::of(&path.settings).changed(option, f)?);
        }
        // All of it holds, or none.
        if is_for_all(f) {
            let new = self.thresholds_of_all(id, number)?.changed(option, f)?;
            self.reconfigure(id, number, |config| {
                let limits = &mut Arc::make_mut(&mut config.profile).limits;
                limits.path_max_retrans = new.max_retrans;
                limits.pf_max_retrans = new.pf_max_retrans;
                limits.ps_max_retrans = new.ps_max_retrans;
            })?;
        }
        let Some((core, paths)) = meant else { return Ok(()) };
        // Also where a path had a setting of its own.
        for (path, new) in paths.into_iter().zip(changed) {
            let Thresholds { max_retrans, pf_max_retrans, ps_max_retrans } = new;
            let settings =
                PathSettings { max_retrans, pf_max_retrans, ps_max_retrans, ..path.settings };
            let done = self.raw.act(|e, now| e.configure_path(now, core, path.id, settings));
            done.map_err(|_| errno::EINVAL)?;
        }
        Ok(())
    }

    pub(super) fn thresholds(&mut self, id: u64, option: i32, given: &[u8]) -> Fallible<Vec<u8>> {
        let f = at_least(given, SIZE)?;
        let thresholds = match self.meant_by_thresholds(id, f)? {
            Some((_, paths)) if !is_for_all(f) => {
                Thresholds::of(&paths.first().ok_or(errno::ENOENT)?.settings)
            }
            _ => self.thresholds_of_all(id, f.u32(0))?,
        };
        let mut value = given[..SIZE].to_vec();
        thresholds.write(option, &mut value);
        Ok(value)
    }

    fn meant_by_thresholds(
        &self,
        id: u64,
        f: Fields<'_>,
    ) -> Fallible<Option<(tresse::AssociationId, Vec<tresse::PathStats>)>> {
        let meant = self.paths_meant(id, f, ADDRESS);
        if is_for_all(f) { meant } else { meant.map_err(|_| errno::ENOENT) }
    }

    /// Those of an association, or of those to come.
    fn thresholds_of_all(&mut self, id: u64, number: u32) -> Fallible<Thresholds> {
        let profile = match self.association_of(id, number) {
            Some((_, association)) => {
                let core = association.core;
                self.raw.act(|e, _| e.config(core).map(|config| Arc::clone(&config.profile)))
            }
            None => Some(Arc::clone(&self.socket(id)?.options.config.profile)),
        };
        let limits = &profile.ok_or(errno::EINVAL)?.limits;
        Ok(Thresholds {
            max_retrans: limits.path_max_retrans,
            pf_max_retrans: limits.pf_max_retrans,
            ps_max_retrans: limits.ps_max_retrans,
        })
    }
}

/// "If a wildcard address is provided, this socket option applies to all current and future peer addresses."
fn is_for_all(f: Fields<'_>) -> bool {
    f.storage(ADDRESS).is_none_or(|address| address.ip().is_unspecified())
}
