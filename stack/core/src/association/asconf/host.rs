//! The addresses of our host have changed, and the peer is to know of it.

use std::net::IpAddr;

use super::{AddressChanges, Addresses, Common};
use crate::asconf::Request;
use crate::event::AddressChange;

impl AddressChanges {
    //= RFC 6951 3.2-2 5.7-2
    /// Asks the peer to add what is new and to delete what is gone, if the association follows its host. Only what the host has
    /// in the end counts: what has come and gone while another chunk was under way is not asked for.
    ///
    /// What the peer would not see, since a NAT is between, is added only if nothing that it knows is left: it is one address to
    /// the peer, and all others are deleted with a wildcard.
    pub(in crate::association) fn follow_host(
        &mut self,
        cx: &mut Common<'_>,
        addresses: &mut Addresses,
    ) {
        self.requests.forget_refusals();
        self.requests.forget_those_that_follow();
        self.leave_again(cx, addresses);
        self.tell_of_host(cx, addresses, true);
    }

    /// The peer has granted an address: those that waited for one are deleted. Or it has refused something, and what stood
    /// behind that has failed (RFC 5061 §5.3 F11): that is asked for again, without what was refused.
    pub(super) fn follow_answers(
        &mut self,
        cx: &mut Common<'_>,
        addresses: &mut Addresses,
        has_more: bool,
        has_failed: bool,
    ) {
        if has_more || has_failed {
            self.tell_of_host(cx, addresses, has_failed);
        }
    }

    fn tell_of_host(&mut self, cx: &mut Common<'_>, addresses: &mut Addresses, adds: bool) {
        if !cx.config.follow_host_addresses || !cx.state.may_change_addresses() {
            return;
        }
        let sources = addresses.sources();
        let stays = self.staying(sources);
        let remotes: Vec<IpAddr> = cx.paths.iter().map(|p| p.address.remote()).collect();
        let gone: Vec<IpAddr> = stays.iter().copied().filter(|l| sources.has_lost(*l)).collect();
        let left = stays.len() - gone.len();
        let mut requests: Vec<Request> = Vec::new();
        let request = |change, address, unseen| Request { change, address, unseen };
        let told = if adds { sources.to_be_told(&remotes) } else { Vec::new() };
        for address in told.into_iter().filter(|a| !stays.contains(a)) {
            requests.push(request(AddressChange::Add, address, false));
        }
        if adds && requests.is_empty() && left == 0 {
            let hidden = sources.hidden(&remotes).into_iter().find(|a| !stays.contains(a));
            requests.extend(hidden.map(|address| request(AddressChange::Add, address, true)));
        }
        let moves = requests.iter().any(|r| r.unseen);
        // F5: the last one stays until there is another. What the peer has granted is one: what it has not yet may lead
        // nowhere, and if this is back soon nothing but it would. A wildcard comes from where it is to stay.
        let remains = |l: &IpAddr| sources.knows(*l) && !sources.has_lost(*l);
        if moves || stays.iter().any(remains) {
            for address in gone {
                let unseen = sources.needs_wildcard(address, remotes[0]);
                // A wildcard deletes all others, which is right only if none is to stay.
                if !unseen || moves {
                    requests.push(request(AddressChange::Delete, address, unseen));
                }
            }
        }
        requests.retain(|r| !self.requests.are_unknown(r.change) && !self.requests.was_refused(r));
        for one in requests {
            self.requests.follow(one);
        }
        self.pursue(cx, addresses);
    }
}
