//! The name of a schedule: two plain segments, unique among the schedules that exist.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::MAX_NAME;

/// Namespace and name of a schedule, unique among those that exist: `namespace/name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScheduleName(Arc<str>);

impl ScheduleName {
    /// Joins two segments of 1-200 characters `[A-Za-z0-9._-]`.
    ///
    /// # Errors
    /// Which of the two is not such a segment, and why.
    pub fn new(namespace: &str, name: &str) -> Result<Self, BadName> {
        check_segment(namespace).map_err(|why| BadName { segment: "namespace", why })?;
        check_segment(name).map_err(|why| BadName { segment: "name", why })?;
        Ok(Self(format!("{namespace}/{name}").into()))
    }

    /// Reads `namespace/name`; a text without a slash is a name in the namespace `default`.
    ///
    /// # Errors
    /// As [`ScheduleName::new`]; a second slash is a character that a name cannot have.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        Self::new(namespace, name)
    }

    /// A name that sorts before every name of that namespace: where its page begins.
    #[must_use]
    pub fn first_of(namespace: &str) -> Option<Self> {
        check_segment(namespace).ok()?;
        Some(Self(format!("{namespace}/").into()))
    }

    /// `namespace/name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the slash.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The part after the slash.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }
}

impl std::fmt::Display for ScheduleName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::fmt::Debug for ScheduleName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadName {
    /// `namespace` or `name`.
    pub segment: &'static str,
    /// What is wrong with it, in a few words.
    pub why: &'static str,
}

/// Whether a text is a plain segment: 1-200 characters `[A-Za-z0-9._-]`, not of dots alone. What every name consists of.
///
/// # Errors
/// Why not, as the end of a sentence.
pub fn check_segment(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.chars().count() > MAX_NAME {
        return Err("is longer than 200 characters");
    }
    if text.bytes().all(|byte| byte == b'.') {
        return Err("consists of dots only");
    }
    if text.contains('/') {
        return Err("has a slash too many: a schedule is namespace/name");
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        return Err("may hold letters, digits, '.', '_' and '-' only");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_two_plain_segments() {
        assert_eq!(ScheduleName::parse("billing/run").map(|name| name.to_string()), Ok("billing/run".into()));
        assert_eq!(ScheduleName::parse("run").map(|name| name.to_string()), Ok("default/run".into()));
        for bad in ["", "a/", "/b", "a/b/c", "a b", "ä", "..", "./x", &"x".repeat(201)] {
            assert!(ScheduleName::parse(bad).is_err(), "{bad}");
        }
    }
}
