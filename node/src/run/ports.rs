//! Taking the two ports of a node.

use std::io;

use tokio::net::TcpListener;

use super::failure::Failure;
use crate::config::Listen;

/// Listens there.
///
/// # Errors
/// One line that names the address, the key, and what to do.
pub(super) async fn take(listen: &Listen, key: &str, flag: &str) -> Result<TcpListener, Failure> {
    let taken = TcpListener::bind((listen.host(), listen.port())).await;
    taken.map_err(|error| Failure::Usage(refused(listen, key, flag, &error)))
}

fn refused(listen: &Listen, key: &str, flag: &str, error: &io::Error) -> String {
    let choose = format!("set {key} or {flag} to");
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{listen} is in use by another process: stop that one, or {choose} a free port")
        }
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "{listen} is no address of this machine: {choose} one that is, or to 0.0.0.0 for all of them"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("{listen} may not be listened on by this user: {choose} a port above 1023")
        }
        _ => format!("cannot listen on {listen} ({error}): {choose} an address of this machine"),
    }
}
