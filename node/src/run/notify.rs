//! What systemd is told (`Type=notify`); without systemd nothing happens.

use sd_notify::NotifyState;

/// The node answers.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The node is on its way down.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "systemd was not told");
    }
}
