//! The text that names a lease: `lse_`, the 32 characters of the firing's id, `_`, and the number of the attempt.
//!
//! Workers give it back as it is. It carries no right by itself: whether that attempt is still the one that runs is judged
//! in the log.

use std::fmt;
use std::str::FromStr;

use campanile_core::firing::FiringId;
use campanile_core::id::AttemptNumber;

/// One attempt of one firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRef {
    /// The firing.
    pub firing: FiringId,
    /// The attempt; the first is 1.
    pub attempt: AttemptNumber,
}

/// A text that names no lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLeaseRef;

impl fmt::Display for LeaseRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let firing = self.firing.to_string();
        write!(out, "lse_{}_{}", firing.trim_start_matches("frg_"), self.attempt)
    }
}

impl FromStr for LeaseRef {
    type Err = BadLeaseRef;

    fn from_str(text: &str) -> Result<Self, BadLeaseRef> {
        let rest = text.strip_prefix("lse_").ok_or(BadLeaseRef)?;
        let (digits, number) = rest.split_once('_').ok_or(BadLeaseRef)?;
        let firing = format!("frg_{digits}").parse().map_err(|_| BadLeaseRef)?;
        let attempt = number.parse().ok().filter(|number| *number > 0).ok_or(BadLeaseRef)?;
        // One attempt has one text: no sign, no zeros in front.
        let read = Self { firing, attempt: AttemptNumber(attempt) };
        if read.to_string() == text { Ok(read) } else { Err(BadLeaseRef) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use campanile_core::id::{Run, Uid};
    use campanile_core::time::Timestamp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_lease_is_read_back_from_its_text(uid: u64, nominal: i64, run: u32, attempt in 1u32..) {
            let firing = FiringId { uid: Uid(uid), nominal: Timestamp::from_millis(nominal), run: Run(run) };
            let lease = LeaseRef { firing, attempt: AttemptNumber(attempt) };
            prop_assert_eq!(lease.to_string().parse(), Ok(lease));
        }
    }

    #[test]
    fn any_other_text_names_no_lease() {
        let zeros = "0".repeat(32);
        let good = format!("lse_{zeros}_1");
        assert!(good.parse::<LeaseRef>().is_ok());
        for bad in [
            String::new(),
            "lse_".into(),
            "lse_1".into(),
            format!("frg_{zeros}_1"),
            format!("lse_{zeros}"),
            format!("lse_{zeros}_"),
            format!("lse_{zeros}_0"),
            format!("lse_{zeros}_01"),
            format!("lse_{zeros}_+1"),
            format!("lse_{zeros}_1_1"),
            format!("lse_{zeros}_4294967296"),
            format!("lse_frg_{zeros}_1"),
            format!("lse_{zeros}0_1"),
            format!("{good} "),
        ] {
            assert_eq!(bad.parse::<LeaseRef>(), Err(BadLeaseRef), "{bad}");
        }
    }
}
