//! A real node with a token and a cluster secret: what it refuses to call, and that a receiver is shown neither.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const TOKEN: &str = "token-of-an-administrator";
const SECRET: &str = "secret-between-the-nodes";

fn campanile() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_campanile"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAMPANILE_")) {
        command.env_remove(name);
    }
    command
}

/// A node that runs until it is dropped.
struct Node {
    process: Child,
    dir: TempDir,
    api: u16,
    peer: u16,
}

impl Node {
    fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        // Held together, so that they differ.
        let held = [free(), free()];
        let [api, peer] = held.each_ref().map(|listener| listener.local_addr().unwrap().port());
        drop(held);
        let config = configuration(dir.path(), api, peer);
        let mut serve = campanile();
        serve.args(["serve", "--log", "error", "--config"]).arg(config);
        let process = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut node = Self { process, dir, api, peer };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !node.ask(&["health"]).status.success() {
            assert!(node.process.try_wait().unwrap().is_none(), "the node ended");
            assert!(Instant::now() < deadline, "the node is not ready in time");
        }
        node
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let mut command = campanile();
        command.args(arguments).args(["--endpoint", &format!("http://127.0.0.1:{}", self.api)]);
        command.arg("--token-file").arg(self.dir.path().join("token")).output().unwrap()
    }

    fn create(&self, name: &str, url: &str) -> Result<(), String> {
        let created = self.ask(&["schedule", "create", name, "--every", "1h", "--url", url]);
        if created.status.success() {
            return Ok(());
        }
        Err(String::from_utf8(created.stderr).unwrap())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn configuration(dir: &Path, api: u16, peer: u16) -> PathBuf {
    let place = |name: &str| dir.join(name).display().to_string();
    fs::write(place("token"), TOKEN).unwrap();
    fs::write(place("secret"), SECRET).unwrap();
    let text = format!(
        "data_dir = {:?}\n[api]\nlisten = \"127.0.0.1:{api}\"\ntoken_file = {:?}\n\
         [peer]\nlisten = \"127.0.0.1:{peer}\"\nsecret_file = {:?}\n[egress]\nallow = [\"127.0.0.0/8\"]\n",
        place("data"),
        place("token"),
        place("secret"),
    );
    let path = dir.join("node.toml");
    fs::write(&path, text).unwrap();
    path
}

/// Takes one request, answers it, and says what came.
fn receive(listener: &TcpListener) -> String {
    let (mut connection, _) = listener.accept().unwrap();
    let (mut seen, mut piece) = (Vec::new(), [0; 4_096]);
    while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = connection.read(&mut piece).unwrap();
        assert!(read > 0, "the request broke off");
        seen.extend_from_slice(&piece[..read]);
    }
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    String::from_utf8(seen).unwrap()
}

#[test]
fn b161_a_receiver_is_shown_no_credential_of_the_node_and_the_node_calls_neither_itself_nor_what_is_not_allowed()
 {
    let node = Node::start();
    for (url, why) in [
        ("http://10.1.2.3/".to_owned(), "10.1.2.3 is a private address"),
        (
            "http://169.254.169.254/latest/".to_owned(),
            "169.254.169.254 is a link-local address (cloud metadata)",
        ),
        (format!("http://127.0.0.1:{}/v1/whoami", node.api), "is a port of this cluster and is never called"),
        (format!("http://127.0.0.1:{}/", node.peer), "is a port of this cluster and is never called"),
        (format!("http://localhost:{}/", node.peer), "is a port of this cluster and is never called"),
    ] {
        let refused = node.create("refused", &url).unwrap_err();
        assert!(refused.contains(why), "{url}: {refused}");
    }

    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/hook", receiver.local_addr().unwrap().port());
    assert_eq!(node.create("called", &url), Ok(()));
    let triggered = node.ask(&["schedule", "trigger", "called"]);
    assert!(triggered.status.success(), "{triggered:?}");
    let request = receive(&receiver);
    assert!(
        request.starts_with("POST /hook HTTP/1.1\r\n") && request.contains("\r\nidempotency-key: frg_"),
        "{request}"
    );
    let lower = request.to_ascii_lowercase();
    for hidden in [TOKEN, SECRET, "\r\nauthorization:", "\r\ncookie:"] {
        assert!(!lower.contains(hidden), "{hidden:?} in {request}");
    }
}
