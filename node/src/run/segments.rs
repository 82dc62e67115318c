//! Smaller segments for tests of whole nodes, so that a ledger of seconds has more than one.
//!
//! Only a variable of the environment switches this on and no key of the configuration, so that no file that is copied to a
//! production node can; and the node says so at its start. Whatever the size, the files are read alike.

use campanile_storage::ledger::Options;

/// How many bytes fill a segment. For tests only.
const VARIABLE: &str = "CAMPANILE_TEST_SEGMENT_BYTES";

/// The options, with the size that the environment names, if it does.
pub(super) fn from_environment(options: Options) -> Options {
    let named = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    let Some(segment_bytes) = named else { return options };
    tracing::warn!(
        segment_bytes,
        "segments of the ledger are small: {VARIABLE} is set, which is for tests only"
    );
    Options { segment_bytes, ..options }
}
