//! The real binary as a node: real ports and disks, and a process that ends with its test.
#![allow(clippy::unwrap_used, dead_code, missing_docs, unreachable_pub)]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub fn campanile() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_campanile"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAMPANILE_")) {
        command.env_remove(name);
    }
    command
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A configuration of one node; further lines stand above its first section.
pub fn config(dir: &Path, data: &Path, api: u16, peer: u16) -> PathBuf {
    let path = dir.join("node.toml");
    let text = format!(
        "data_dir = {data:?}\n[api]\nlisten = \"127.0.0.1:{api}\"\n[peer]\nlisten = \"127.0.0.1:{peer}\"\n",
    );
    fs::write(&path, text).unwrap();
    path
}

pub fn serve(config: &Path) -> Command {
    let mut command = campanile();
    command.args(["serve", "--log", "warn", "--config"]).arg(config);
    command
}

/// A node that runs until it is dropped.
pub struct Running(pub Child);

impl Running {
    pub fn start(config: &Path, api: u16) -> Self {
        let mut node = Self(serve(config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_ready(api) {
            assert!(node.0.try_wait().unwrap().is_none(), "the node ended");
            assert!(Instant::now() < deadline, "the node is not ready in time");
            std::thread::yield_now();
        }
        node
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_ready(api: u16) -> bool {
    let asked = campanile()
        .args(["health", "--endpoint", &format!("http://127.0.0.1:{api}"), "--timeout", "2s"])
        .output()
        .unwrap();
    asked.status.success()
}
