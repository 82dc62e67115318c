//! One node of the demonstration: a process of its own, so that `kill -9` is what it says.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::dispatch::egress::Rules;

/// A node, running or dead.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) number: usize,
    pub(super) api: String,
    pub(super) data: PathBuf,
    config: PathBuf,
    log: PathBuf,
    process: Option<Child>,
}

/// Where a node of the demonstration lives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) api: u16,
    pub(super) peer: u16,
}

impl Node {
    /// Writes the configuration of one of the nodes; starts nothing.
    pub(super) fn prepare(dir: &Path, number: usize, all: &[Ports]) -> io::Result<Self> {
        let ports = all[number - 1];
        let node = Self {
            number,
            api: format!("http://127.0.0.1:{}", ports.api),
            data: dir.join(format!("node-{number}")),
            config: dir.join(format!("node-{number}.toml")),
            log: dir.join(format!("node-{number}.log")),
            process: None,
        };
        let peers: Vec<String> = all.iter().map(|ports| format!("\"127.0.0.1:{}\"", ports.peer)).collect();
        // The receiver is on this machine, and whatever a crontab of the user's calls may be near.
        let allow: Vec<String> =
            Rules::for_this_machine().allow.iter().map(|entry| format!("\"{entry}\"")).collect();
        fs::write(
            &node.config,
            format!(
                "data_dir = {data:?}\n\n[api]\nlisten = \"127.0.0.1:{}\"\n\n[peer]\nlisten = \"127.0.0.1:{}\"\n\n\
                 [cluster]\nname = \"demo\"\npeers = [{}]\n\n[egress]\nallow = [{}]\n",
                ports.api,
                ports.peer,
                peers.join(", "),
                allow.join(", "),
                data = node.data.display().to_string(),
            ),
        )?;
        Ok(node)
    }

    /// Starts the process, or starts it again over the same data.
    pub(super) fn start(&mut self) -> io::Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg("--config").arg(&self.config);
        // What the surroundings say about a node of theirs is not meant for these.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CAMPANILE_"))
        {
            command.env_remove(name);
        }
        // Ctrl-C is for the demonstration, which ends its nodes itself; they do not hear it.
        command.process_group(0);
        self.process = Some(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?);
        Ok(())
    }

    /// The id of its process while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Whether it has ended since the last look, and how; then its process is gone.
    pub(super) fn ended(&mut self) -> Option<(u32, ExitStatus)> {
        let process = self.process.as_mut()?;
        let status = process.try_wait().ok().flatten()?;
        let pid = process.id();
        self.process = None;
        Some((pid, status))
    }

    /// `kill -9`.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.process.as_mut().map_or(Ok(()), Child::kill)
    }

    /// The last lines of what it logged.
    pub(super) fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}

impl Drop for Node {
    /// Whatever way the demonstration ends, no process is left behind.
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // An error says that it is gone already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
