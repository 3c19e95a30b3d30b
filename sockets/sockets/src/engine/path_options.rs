//! SCTP_PEER_ADDR_PARAMS: heartbeats, limits and labels of one address of the peer, or of all of them
//! (RFC 6458 §8.1.12). SCTP_PRIMARY_ADDR: which one is used. SCTP_EXPOSE_POTENTIALLY_FAILED_STATE: what is told of them (RFC 7829 §7.3).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tresse::{
    AssociationConfig, Dscp, FlowLabel, IpLabels, MtuDiscovery, PathSettings, PathStats, Profile,
};

use super::exposure::Exposure;
use super::option_names::{name, spp};
use super::options::at_least;
use super::{Engine, Fallible};
use tresse_socket_protocol::abi::{Fields, Struct, errno};

/// Where the fields of `sctp_paddrparams` begin, which is packed.
const ADDRESS: usize = 4;
const INTERVAL: usize = 132;
const MAX_RETRANS: usize = 136;
const PATH_MTU: usize = 138;
const SACK_DELAY: usize = 142;
const FLAGS: usize = 146;
const FLOW_LABEL: usize = 150;
const DSCP: usize = 154;
/// Without what was added to it.
const SIZE: usize = 152;

/// What an MTU may be; 0 stands for no change. Linux takes larger ones, which no packet can have.
const PATH_MTUS: std::ops::RangeInclusive<u32> = 512..=65_535;

/// `None` stands for all addresses: "If a wildcard address is provided, it applies to all current and
/// future paths."
fn address(f: Fields<'_>) -> Option<SocketAddr> {
    f.storage(ADDRESS).filter(|address| !address.ip().is_unspecified())
}

/// What is told of labels: bits of `spp_flags`, `spp_dscp` and `spp_ipv6_flowlabel`.
pub(super) fn labels_told(labels: IpLabels, v6: bool) -> (u32, u8, u32) {
    let (class, flow) = (labels.dscp.number() << 2, if v6 { labels.flow.number() } else { 0 });
    let bit = |bit, there| if there { bit } else { 0 };
    (bit(spp::DSCP, class != 0) | bit(spp::IPV6_FLOWLABEL, flow != 0), class, flow)
}

/// What a program wants changed.
#[derive(Clone, Copy)]
struct Change {
    flags: u32,
    interval: u32,
    max_retrans: u16,
    mtu: u32,
    delay: u32,
    dscp: Option<Dscp>,
    flow: Option<FlowLabel>,
}

impl Change {
    fn read(f: Fields<'_>) -> Fallible<Change> {
        let change = Change {
            flags: f.u32(FLAGS),
            interval: f.u32(INTERVAL),
            max_retrans: f.u16(MAX_RETRANS),
            mtu: f.u32(PATH_MTU),
            delay: f.u32(SACK_DELAY),
            // As the kernel: where the TOS byte has it, and the bits that there are.
            dscp: (f.u32(FLAGS) & spp::DSCP != 0).then(|| Dscp::of_class(f.u8(DSCP))),
            flow: match f.u32(FLAGS) & spp::IPV6_FLOWLABEL {
                0 => None,
                _ => FlowLabel::new(f.u32(FLOW_LABEL) & 0xf_ffff),
            },
        };
        //= RFC 6458 8.1.12-5
        let both = |a, b| change.has(a) && change.has(b);
        if both(spp::HB_ENABLE, spp::HB_DISABLE)
            || both(spp::PMTUD_ENABLE, spp::PMTUD_DISABLE)
            || both(spp::SACKDELAY_ENABLE, spp::SACKDELAY_DISABLE)
            || change.delay > 500
            || (f.0.len() <= SIZE && change.has(spp::DSCP | spp::IPV6_FLOWLABEL))
            || change.mtu > 0 && !PATH_MTUS.contains(&change.mtu)
        {
            return Err(errno::EINVAL);
        }
        Ok(change)
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    //= RFC 6458 8.1.12-1 8.1.12-2
    /// In milliseconds. "A value of zero indicates that the current setting should be left unchanged.
    /// To set an actual value of zero, the SPP_HB_TIME_IS_ZERO flag should be used."
    fn interval(&self) -> Option<u32> {
        let zero = self.has(spp::HB_TIME_IS_ZERO);
        (self.has(spp::HB_ENABLE) && (zero || self.interval > 0)).then_some(if zero {
            0
        } else {
            self.interval
        })
    }

    fn heartbeats(&self) -> Option<bool> {
        let off = self.has(spp::HB_DISABLE).then_some(false);
        self.has(spp::HB_ENABLE).then_some(true).or(off)
    }

    /// "When Path MTU discovery is disabled, the value specified here will be the "fixed" path MTU." Once it is enabled
    /// again it begins with the one of `config`.
    fn apply_to_mtu(&self, mtu: &mut usize, discovery: &mut MtuDiscovery, config: usize) {
        if self.has(spp::PMTUD_DISABLE) {
            *discovery = MtuDiscovery::Off;
            *mtu = if self.mtu > 0 { self.mtu as usize } else { *mtu };
        } else if self.has(spp::PMTUD_ENABLE) && *discovery == MtuDiscovery::Off {
            (*discovery, *mtu) = (MtuDiscovery::Icmp, config);
        }
    }

    /// IPv4 has no flow label.
    fn apply_to_labels(&self, labels: &mut IpLabels, v6: bool) {
        labels.dscp = self.dscp.unwrap_or(labels.dscp);
        labels.flow = self.flow.filter(|_| v6).unwrap_or(labels.flow);
    }

    //= RFC 6458 8.1.12-3 8.1.12-4
    /// Of an association whose configuration has packets of `mtu` bytes.
    fn apply_to_path(&self, settings: &mut PathSettings, mtu: usize, v6: bool) {
        self.apply_to_labels(&mut settings.labels, v6);
        self.apply_to_mtu(&mut settings.mtu, &mut settings.mtu_discovery, mtu);
        settings.heartbeats = self.heartbeats().unwrap_or(settings.heartbeats);
        if let Some(interval) = self.interval() {
            settings.heartbeat_interval = Duration::from_millis(interval.into());
        }
        if self.max_retrans > 0 {
            settings.max_retrans = self.max_retrans.into();
        }
    }

    /// SACKs are delayed alike for all addresses. Without a time they are as before; where they were not, as by default.
    fn apply_to_sacks(&self, config: &mut AssociationConfig) {
        let sack = &mut Arc::make_mut(&mut config.profile).sack;
        if self.has(spp::SACKDELAY_ENABLE) && self.delay > 0 {
            sack.delay_ms = f64::from(self.delay);
        } else if self.has(spp::SACKDELAY_ENABLE) && sack.delay_ms == 0.0 {
            sack.delay_ms = Profile::default().sack.delay_ms;
        }
        if self.has(spp::SACKDELAY_DISABLE) {
            sack.delay_ms = 0.0;
        }
    }

    fn apply_to_all(&self, config: &mut AssociationConfig, v6: bool) {
        self.apply_to_sacks(config);
        self.apply_to_labels(&mut config.labels, v6);
        let begun = AssociationConfig::default().mtu;
        self.apply_to_mtu(&mut config.mtu, &mut config.mtu_discovery, begun);
        let profile = Arc::make_mut(&mut config.profile);
        profile.heartbeat.enabled = self.heartbeats().unwrap_or(profile.heartbeat.enabled);
        if let Some(interval) = self.interval() {
            profile.heartbeat.interval_ms = f64::from(interval);
        }
        if self.max_retrans > 0 {
            profile.limits.path_max_retrans = self.max_retrans.into();
        }
    }
}

impl Engine {
    //= RFC 6458 8-1
    pub(super) fn set_path(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, SIZE)?;
        let (number, change) = (f.u32(0), Change::read(f)?);
        let Some(peer) = address(f) else {
            let one = self.association_of(id, number);
            let (one, core) = one.map(|(number, association)| (number, association.core)).unzip();
            //= RFC 6458 8.1.12-6
            // RFC 6458 §8.1.12 has it not "in conjunction with a wildcard address"; as in the kernel it
            // is that of no association that makes no sense.
            if change.has(spp::HB_DEMAND) && core.is_none() {
                return Err(errno::EINVAL);
            }
            let v6 = self.socket(id)?.v6;
            self.reconfigure(id, number, |config| change.apply_to_all(config, v6))?;
            if change.dscp.is_some() {
                self.keep_dscp(id, one);
            }
            let Some(core) = core else { return Ok(()) };
            // Also where a path had a setting of its own.
            for path in self.raw.act(|endpoint, _| endpoint.path_stats(core)) {
                self.change_path(core, &path, change)?;
            }
            return Ok(());
        };
        let (core, path) = self.path_of(id, number, peer)?;
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(core));
        let path = paths.iter().find(|p| p.id == path).ok_or(errno::EINVAL)?;
        self.change_path(core, path, change)?;
        if change.dscp.is_some()
            && let Some(association) =
                self.by_core.get(&core).and_then(|number| self.associations.get_mut(number))
        {
            association.own_dscp.1.insert(path.remote);
        }
        self.change_core(core, |config| change.apply_to_sacks(config))
    }

    /// SPP_DSCP was set for all addresses of an association, or for those to come: of a one-to-one socket both.
    fn keep_dscp(&mut self, id: u64, one: Option<u32>) {
        if let Some(association) = one.and_then(|number| self.associations.get_mut(&number)) {
            association.own_dscp.0 = true;
        }
        if let Some(socket) = self.sockets.get_mut(&id)
            && (one.is_none() || !socket.many)
        {
            socket.options.own_dscp = true;
        }
    }

    fn change_path(
        &self,
        core: tresse::AssociationId,
        path: &PathStats,
        change: Change,
    ) -> Fallible<()> {
        let (path, v6, mut settings) = (path.id, path.remote.is_ipv6(), path.settings);
        let mtu = self.raw.act(|e, _| e.config(core).map(|config| config.mtu));
        change.apply_to_path(&mut settings, mtu.ok_or(errno::EINVAL)?, v6);
        let result = self.raw.act(|endpoint, now| {
            endpoint.configure_path(now, core, path, settings)?;
            if change.has(spp::HB_DEMAND) {
                endpoint.request_heartbeat(now, core, path)?;
            }
            Ok::<_, tresse::AssociationError>(())
        });
        result.map_err(|_| errno::EINVAL)
    }

    pub(super) fn get_path(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let mut value =
            self.profile_option(id, name::PEER_ADDR_PARAMS, at_least(given, SIZE)?.0)?;
        // Programs of old have the structure without what was added to it.
        value.truncate(if given.len() < value.len() { SIZE } else { value.len() });
        let Some(peer) = address(Fields(given)) else { return Ok(value) };
        let (core, path) = self.path_of(id, Fields(given).u32(0), peer)?;
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(core));
        let path = paths.iter().find(|p| p.id == path).ok_or(errno::EINVAL)?;
        let settings = path.settings;
        let beats = if settings.heartbeats { spp::HB_ENABLE } else { spp::HB_DISABLE };
        let others = Fields(&value).u32(FLAGS) & !(spp::HB_ENABLE | spp::HB_DISABLE | spp::PMTUD);
        let others = others & !(spp::DSCP | spp::IPV6_FLOWLABEL);
        let (labelled, class, flow) = labels_told(settings.labels, path.remote.is_ipv6());
        let flags = others | beats | spp::pmtud(settings.mtu_discovery) | labelled;
        let interval = settings.heartbeat_interval.as_millis() as u32;
        let mut put = |at: usize, bytes: &[u8]| value[at..at + bytes.len()].copy_from_slice(bytes);
        put(INTERVAL, &interval.to_ne_bytes());
        put(MAX_RETRANS, &(settings.max_retrans as u16).to_ne_bytes());
        put(PATH_MTU, &(path.mtu as u32).to_ne_bytes());
        put(FLAGS, &flags.to_ne_bytes());
        if value.len() > SIZE {
            value[FLOW_LABEL..DSCP].copy_from_slice(&flow.to_ne_bytes());
            value[DSCP] = class;
        }
        Ok(value)
    }

    /// The paths that a value means, whose address is `at` there, the primary one first; `None` if it means no association.
    pub(super) fn paths_meant(
        &self,
        id: u64,
        f: Fields<'_>,
        at: usize,
    ) -> Fallible<Option<(tresse::AssociationId, Vec<PathStats>)>> {
        let number = f.u32(0);
        let address = f.storage(at).filter(|address| !address.ip().is_unspecified());
        let (core, only) = match (address, self.association_of(id, number)) {
            (Some(address), _) => {
                let (core, path) = self.path_of(id, number, address)?;
                (core, Some(path))
            }
            (None, Some((_, association))) => (association.core, None),
            (None, None) => return self.check_number(id, number).map(|()| None),
        };
        let mut paths = self.raw.act(|endpoint, _| endpoint.path_stats(core));
        paths.retain(|path| only.is_none_or(|only| only == path.id));
        paths.sort_by_key(|path| !path.primary);
        Ok(Some((core, paths)))
    }

    //= RFC 6458 8.1.9-1
    /// SCTP_PRIMARY_ADDR (RFC 6458 §8.1.9).
    pub(super) fn set_primary(&self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 132)?;
        let peer = f.storage(4).ok_or(errno::EINVAL)?;
        let (core, path) = self.path_of(id, f.u32(0), peer)?;
        let done = self.raw.act(|endpoint, now| endpoint.set_primary(now, core, path));
        done.map_err(|_| errno::EINVAL)
    }

    /// Sets SCTP_EXPOSE_POTENTIALLY_FAILED_STATE of an association, or of those to come.
    pub(super) fn set_exposure(&mut self, id: u64, value: &[u8]) -> Fallible<()> {
        let f = at_least(value, 8)?;
        let number = f.u32(0);
        let exposure = match f.u32(4) {
            0 => Exposure::Unset,
            1 => Exposure::Disabled,
            2 => Exposure::Enabled,
            _ => return Err(errno::EINVAL),
        };
        let one = self.association_of(id, number).map(|(number, _)| number);
        let socket = self.socket(id)?;
        match one {
            None if socket.many && number != 0 => return Err(errno::EINVAL),
            None => socket.options.exposure = exposure,
            Some(one) => {
                let association = self.associations.get_mut(&one).ok_or(errno::EINVAL)?;
                association.exposure = exposure;
            }
        }
        Ok(())
    }

    /// Reads it.
    pub(super) fn exposure(&mut self, id: u64, given: &[u8]) -> Fallible<Vec<u8>> {
        let number = Fields(at_least(given, 8)?.0).u32(0);
        let one = self.association_of(id, number).map(|(_, association)| association.exposure);
        let socket = self.socket(id)?;
        if one.is_none() && socket.many && number != 0 {
            return Err(errno::EINVAL);
        }
        let exposure = one.unwrap_or(socket.options.exposure);
        Ok(Struct::default().u32(number).u32(exposure as u32).0.clone())
    }
}
