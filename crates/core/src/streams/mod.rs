//! User messages: queued and fragmented outbound; reassembled, ordered and delivered inbound.
