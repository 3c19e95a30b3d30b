//! Against a simple model.
