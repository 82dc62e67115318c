//! A port that nothing may come to, and a DNS that answers what it is told to.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use campanile::dispatch::egress::Lookup;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::stage::in_time;

/// A port on every address of this machine: connections are noted by the port that they come from, and let go.
pub(super) struct Trap {
    pub(super) port: u16,
    came: watch::Sender<Vec<u16>>,
}

impl Trap {
    pub(super) async fn set() -> Self {
        // Both families, where there are two.
        let listener = match TcpListener::bind("[::]:0").await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind("0.0.0.0:0").await.unwrap(),
        };
        let (port, came) = (listener.local_addr().unwrap().port(), watch::Sender::new(Vec::new()));
        let note = came.clone();
        tokio::spawn(async move {
            while let Ok((_, from)) = listener.accept().await {
                note.send_modify(|all| all.push(from.port()));
            }
        });
        Self { port, came }
    }

    /// How many connections came. They are taken in their order, so one made here is seen after all of them.
    pub(super) async fn came(&self) -> usize {
        let own = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let own = own.local_addr().unwrap().port();
        let mut came = self.came.subscribe();
        in_time(came.wait_for(|all| all.contains(&own))).await.unwrap().len() - 1
    }
}

/// A name has the addresses that stand here, and no other has any. Each answer is used once, the last for ever.
pub(super) fn names(table: &[(&str, &[&[&str]])]) -> Lookup {
    let answers = |all: &&[&[&str]]| -> Vec<Vec<IpAddr>> {
        all.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect()).collect()
    };
    let table: BTreeMap<String, Vec<Vec<IpAddr>>> =
        table.iter().map(|(name, all)| ((*name).to_owned(), answers(all))).collect();
    let table = Mutex::new(table);
    Arc::new(move |host| {
        let mut table = table.lock().unwrap();
        let answers = table.get_mut(host.trim_end_matches('.'));
        let found = answers.map(|all| if all.len() > 1 { all.remove(0) } else { all[0].clone() });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    })
}
