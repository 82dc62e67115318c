//! Three nodes on loopback, from configurations that were written for three machines. Dropped, they are killed and removed.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use campanile_cluster_tests::binary::{Answer, campanile, says};
use serde_json::Value;
use tempfile::TempDir;
use toml::Table;

/// How long three processes may take until each has a leader; a healthy start takes about a second.
const READY_WITHIN: &str = "60s";

/// Running nodes, numbered from 1.
pub(crate) struct Nodes {
    processes: Vec<Child>,
    addresses: Vec<Addresses>,
    token: PathBuf,
    folder: TempDir,
}

#[derive(Clone, Copy)]
struct Addresses {
    api: SocketAddr,
    peer: SocketAddr,
}

impl Nodes {
    /// Starts one process for each configuration.
    pub(crate) fn start(configurations: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (token, secret) = write_secrets(folder.path());
        let addresses = free_addresses(configurations.len());
        let mut nodes = Self { processes: Vec::new(), addresses, token, folder };
        for (configuration, node) in configurations.iter().zip(1..) {
            let text = nodes.on_loopback(configuration, node, &secret);
            let file = nodes.place(node, "toml");
            fs::write(&file, text).unwrap();
            let log = File::create(nodes.place(node, "log")).unwrap();
            let mut command = campanile(["serve", "--config"]);
            command.arg(file).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
            nodes.processes.push(command.spawn().unwrap());
        }
        nodes
    }

    /// Waits until every node has a leader; shows what the nodes said when one has none in time.
    #[track_caller]
    pub(crate) fn assert_ready(&self) {
        let mut command = campanile(["health", "--wait", READY_WITHIN]);
        for addresses in &self.addresses {
            command.arg("--endpoint").arg(format!("http://{}", addresses.api));
        }
        let answer = says(command);
        assert_eq!(answer.code, Some(0), "{answer}\n{}", self.logs());
    }

    /// Runs a command of the command line against one node.
    pub(crate) fn ask(&self, node: usize, arguments: &[&str]) -> Answer {
        self.run(node, &[arguments, &["--token-file", self.token.to_str().unwrap()]].concat())
    }

    /// The same, from a user who has no token.
    pub(crate) fn ask_without_token(&self, node: usize, arguments: &[&str]) -> Answer {
        self.run(node, arguments)
    }

    /// Asks one node for data.
    #[track_caller]
    pub(crate) fn ask_json(&self, node: usize, arguments: &[&str]) -> Value {
        let answer = self.ask(node, &[arguments, &["-o", "json"]].concat());
        assert_eq!(answer.code, Some(0), "{arguments:?} of node {node}: {answer}\n{}", self.logs());
        serde_json::from_str(&answer.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {answer}"))
    }

    fn run(&self, node: usize, arguments: &[&str]) -> Answer {
        let mut command = campanile(arguments);
        command.arg("--endpoint").arg(format!("http://{}", self.addresses[node - 1].api));
        says(command)
    }

    /// The configuration with addresses and places of this machine; everything else stays as it was written.
    fn on_loopback(&self, configuration: &str, node: usize, secret: &Path) -> String {
        let mut table: Table = toml::from_str(configuration).unwrap();
        let own = self.addresses[node - 1];
        let peers: Vec<String> = self.addresses.iter().map(|addresses| addresses.peer.to_string()).collect();
        table.insert("data_dir".into(), text(self.place(node, "data").to_str().unwrap()));
        let mut set = |section: &str, key: &str, value: toml::Value| {
            let section = table[section].as_table_mut().unwrap();
            assert!(section.insert(key.into(), value).is_some(), "{key} is not in the file");
        };
        set("api", "listen", text(&own.api.to_string()));
        set("api", "advertise", text(&format!("http://{}", own.api)));
        set("api", "token_file", text(self.token.to_str().unwrap()));
        set("peer", "listen", text(&own.peer.to_string()));
        set("peer", "advertise", text(&own.peer.to_string()));
        set("peer", "secret_file", text(secret.to_str().unwrap()));
        set("cluster", "peers", peers.into());
        set("egress", "allow", vec!["127.0.0.0/8"].into());
        toml::to_string(&table).unwrap()
    }

    fn place(&self, node: usize, what: &str) -> PathBuf {
        self.folder.path().join(format!("node-{node}.{what}"))
    }

    fn logs(&self) -> String {
        let log = |node| fs::read_to_string(self.place(node, "log")).unwrap_or_default();
        (1..=self.processes.len()).map(|node| format!("--- node {node}\n{}", log(node))).collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // It may have ended by itself; then there is nothing to kill, and waiting returns at once.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The two secrets of a cluster, as files.
pub(crate) fn write_secrets(folder: &Path) -> (PathBuf, PathBuf) {
    let write = |name: &str| {
        let file = folder.join(name);
        fs::write(&file, format!("{name}-of-a-test-on-loopback\n")).unwrap();
        file
    };
    (write("admin.token"), write("cluster.secret"))
}

/// Ports that are free now: all held at once, so that they differ, and let go together.
fn free_addresses(nodes: usize) -> Vec<Addresses> {
    let listeners: Vec<TcpListener> =
        (0..nodes * 2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let address = |listener: &TcpListener| listener.local_addr().unwrap();
    listeners.chunks(2).map(|pair| Addresses { api: address(&pair[0]), peer: address(&pair[1]) }).collect()
}

fn text(value: &str) -> toml::Value {
    toml::Value::String(value.to_owned())
}
