//! What carriers of both kinds do alike.

/// Methods of a carrier that has `local`, `stats`, `addresses`, `queue` and, where the system tells of ICMP messages, `errors`.
macro_rules! alike {
    ($carrier:ident) => {
        impl $carrier {
            /// The address and port that it is bound to; on raw IP the port is 0.
            pub fn local_addr(&self) -> std::net::SocketAddr {
                self.local
            }

            /// What it has done so far.
            pub fn stats(&self) -> $crate::CarrierStats {
                self.stats
            }

            /// Remembers the interface through which a link-local IPv6 peer is reached. Peers that send
            /// first are remembered without it; other addresses do not need it.
            pub fn learn_zone(&mut self, peer: std::net::SocketAddr) {
                self.addresses.learn(peer);
            }

            /// Whether so much waits that the caller should stop queueing until a flush has succeeded.
            pub fn is_full(&self) -> bool {
                self.queue.is_full()
            }

            /// Appends the ICMP messages that have arrived.
            #[cfg(target_os = "linux")]
            pub fn poll_icmp(
                &mut self,
                cx: &mut std::task::Context<'_>,
                out: &mut Vec<$crate::IcmpMessage>,
            ) {
                let before = out.len();
                self.errors.poll(cx, out);
                self.stats.icmp_received += (out.len() - before) as u64;
            }

            /// Appends the ICMP messages that have arrived: none on this system (RFC 6951 §5.5 permits it).
            #[cfg(not(target_os = "linux"))]
            pub fn poll_icmp(
                &mut self,
                _cx: &mut std::task::Context<'_>,
                _out: &mut Vec<$crate::IcmpMessage>,
            ) {
            }
        }
    };
}

pub(crate) use alike;
