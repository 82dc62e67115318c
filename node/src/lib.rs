//! Campanile.
