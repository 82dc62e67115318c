//! Whether the command can be started at all: asked once, before anything is leased.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Looks for `name` as `exec` will: a path as it stands, a bare name in `PATH`.
///
/// # Errors
/// What is wrong, for a person.
pub(super) fn check(name: &OsStr) -> Result<(), String> {
    check_in(name, std::env::var_os("PATH").as_deref())
}

fn check_in(name: &OsStr, path: Option<&OsStr>) -> Result<(), String> {
    if name.is_empty() {
        return Err("the command has no name".into());
    }
    let shown = name.display();
    let is_path = name.as_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if is_path {
        vec![name.into()]
    } else {
        let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
        std::env::split_paths(path).map(|folder| folder.join(name)).collect()
    };
    if candidates.iter().any(|candidate| is_program(candidate)) {
        return Ok(());
    }
    match candidates.iter().find(|candidate| candidate.exists()) {
        Some(there) => Err(format!("{} is not a program that this user may start", there.display())),
        None if is_path => Err(format!("there is no {shown}")),
        None => Err(format!("there is no program {shown:?} in PATH")),
    }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_program_is_found_as_exec_finds_it() {
        let check = |name: &str, path: &str| check_in(OsStr::new(name), Some(OsStr::new(path)));
        assert_eq!(check("sh", "/nowhere:/bin"), Ok(()));
        assert_eq!(check("/bin/sh", "/nowhere"), Ok(()));
        for (name, said) in [
            ("/nowhere/x", "there is no /nowhere/x"),
            ("echo a line for a shell", "there is no program \"echo a line for a shell\" in PATH"),
            ("/etc/passwd", "/etc/passwd is not a program that this user may start"),
            ("/etc", "/etc is not a program that this user may start"),
            ("", "the command has no name"),
        ] {
            assert_eq!(check(name, "/bin:/nowhere").unwrap_err(), said);
        }
    }
}
