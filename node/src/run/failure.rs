//! Why a node does not run, told by what to do about it.

use std::process::ExitCode;

use campanile_raft::StartError;
use campanile_storage::Trouble;

/// Why a node does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// Something about the configuration or this machine must be put right first.
    #[error("{0}")]
    Usage(String),
    /// It ran, or was about to, and had to stop.
    #[error("this node stopped: {0}")]
    Fatal(String),
}

impl Failure {
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Fatal(_) => ExitCode::from(1),
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Trouble(trouble) => trouble.into(),
            StartError::Configuration(_)
            | StartError::OtherCluster { .. }
            | StartError::Restore(_)
            | StartError::Format(_) => Self::Usage(one_line(&error)),
            StartError::Consensus(_) => Self::Fatal(one_line(&error)),
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::Usage(one_line(&trouble))
    }
}

/// An error with what caused it.
fn one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // A transparent error says the same as what it wraps.
        if !line.ends_with(&text) {
            line = format!("{line} ({text})");
        }
        cause = error.source();
    }
    line.replace('\n', "; ")
}
