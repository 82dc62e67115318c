//! Campanile.
fn main() {}
