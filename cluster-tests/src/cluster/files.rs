//! What stands on the disk before a node is started: secrets, configurations, and the places of data and logs.
//!
//! Written as a user would write them; the contract of the configuration is the product's.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Options;
use crate::ports::Held;

/// The file of the admin token.
pub(super) const TOKEN: &str = "admin.token";
const SECRET: &str = "cluster.secret";

/// Where everything of one node is.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) api: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) configuration: PathBuf,
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    /// Where the offset of its clock stands, if it can be moved.
    pub(super) clock: PathBuf,
    /// Until the first start.
    held: Vec<Held>,
}

impl Place {
    /// Lets go of the ports, for the node to take.
    pub(super) fn release_ports(&mut self) {
        self.held.drain(..).for_each(Held::release);
    }
}

pub(super) fn write(folder: &Path, options: &Options, token: &str) -> Vec<Place> {
    put(&folder.join(TOKEN), token);
    put(&folder.join(SECRET), &format!("secret-of-the-cluster-{}", options.seed.0));
    let places: Vec<Place> = (1..=options.nodes).map(|node| place(folder, node)).collect();
    let peers: Vec<String> = places.iter().map(|place| place.peer.to_string()).collect();
    for place in &places {
        let mut table = configuration(folder, place, &peers, options);
        lay_over(&mut table, &options.extra);
        put(&place.configuration, &table.to_string());
    }
    places
}

fn place(folder: &Path, node: usize) -> Place {
    let held = vec![Held::take(), Held::take()];
    Place {
        api: held[0].address,
        peer: held[1].address,
        configuration: folder.join(format!("node-{node}.toml")),
        data: folder.join(format!("node-{node}.data")),
        log: folder.join(format!("node-{node}.log")),
        clock: folder.join(format!("node-{node}.clock")),
        held,
    }
}

fn configuration(folder: &Path, place: &Place, peers: &[String], options: &Options) -> Table {
    let Place { api, peer, data, .. } = place;
    let (token, secret) = (folder.join(TOKEN), folder.join(SECRET));
    let [heartbeat, election_min, election_max] = options.raft;
    let table = serde_json::json!({
        "data_dir": data,
        "api": { "listen": api, "advertise": format!("http://{api}"), "token_file": token },
        "peer": { "listen": peer, "advertise": peer, "secret_file": secret },
        "cluster": { "name": "tested", "peers": peers },
        "raft": { "heartbeat": heartbeat, "election_min": election_min, "election_max": election_max },
        // The receivers of the tests are on loopback.
        "egress": { "allow": ["127.0.0.0/8"] },
    });
    Table::try_from(table).expect("texts, lists and tables are TOML")
}

/// What is in `over` wins; tables are merged.
fn lay_over(table: &mut Table, over: &Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

fn put(file: &Path, text: &str) {
    fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
