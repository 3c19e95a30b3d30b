//! What a receiver sends: which TSNs arrived, and when to say so.
