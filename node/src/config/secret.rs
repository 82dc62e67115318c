//! A secret: read from a file, compared in constant time elsewhere, printed nowhere.

use std::fmt;
use std::fs;
use std::path::Path;

/// The shortest secret: 16 characters of base64 are 96 bits.
const MIN_LENGTH: usize = 16;

/// A text that must not be seen. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

impl Secret {
    /// Takes a text as a secret, without the white space around it.
    ///
    /// # Errors
    /// What to do when it is too short, or could not stand in a header.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.chars().count() < MIN_LENGTH {
            return Err(format!(
                "is shorter than {MIN_LENGTH} characters; make one with: head -c 32 /dev/urandom | base64"
            ));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(
                "has white space or other than ASCII in it; make one with: head -c 32 /dev/urandom | base64"
                    .into(),
            );
        }
        Ok(Self(text.into()))
    }

    /// The text itself, for those who send or compare it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Reads a secret from its file.
pub(super) fn from_file(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{shown} cannot be read ({error}); make it readable for this user"))?;
    Secret::new(&text).map_err(|why| format!("{shown} {why}"))
}

/// A warning when others than its owner and group may read the file.
#[cfg(unix)]
pub(super) fn exposure(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let shown = path.display();
    (mode & 0o007 != 0)
        .then(|| format!("{shown} can be read by every user of this machine; run: chmod 600 {shown}"))
}

/// Where permissions mean something else nothing is said.
#[cfg(not(unix))]
pub(super) fn exposure(_path: &Path) -> Option<String> {
    None
}
