//! Marks in a data directory that say that it is damaged: files with what was found, for whoever looks into the directory
//! that was moved aside.
//!
//! Found while the node ran, acted upon at its next start: the node starts empty, joins under a new id, and is given a peer's
//! image and ledger. Written whole beside, synced and renamed.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use campanile_storage::Trouble;
use campanile_storage::ledger::Ledger;

use crate::fatal::Fatal;
use crate::runtime::Process;
use crate::settings::Options;

/// The ledger is not that of the others.
pub const LEDGER_DIFFERS: &str = "ledger-differs";
/// The ledger does not read.
pub const LEDGER_DAMAGED: &str = "ledger-damaged";

/// So long a node that has found damage answers what it was asked: whoever verifies it is told which byte it is.
const ANSWERS_FOR: Duration = Duration::from_secs(1);

/// Makes a mark durable.
///
/// # Errors
/// When it cannot be written.
pub fn write(data: &Path, name: &str, said: &str) -> Result<(), Trouble> {
    let beside = data.join(format!("{name}.tmp"));
    let written = (|| {
        let mut file = File::create(&beside)?;
        writeln!(file, "{said}")?;
        file.sync_all()?;
        fs::rename(&beside, data.join(name))?;
        File::open(data)?.sync_all()
    })();
    written.map_err(|error| Trouble::while_doing("marking a damaged data directory", error))
}

/// Whether this data directory is marked.
///
/// # Errors
/// [`Trouble::Damaged`] with what the mark says.
pub fn refuse(data: &Path) -> Result<(), Trouble> {
    match [LEDGER_DIFFERS, LEDGER_DAMAGED].map(|name| data.join(name)).iter().find(|path| path.exists()) {
        None => Ok(()),
        Some(path) => {
            // What it says is for people; that it is there decides.
            let said = fs::read_to_string(path).unwrap_or_default();
            Err(Trouble::damaged(data, said.trim_end().to_owned()))
        }
    }
}

/// A node that meets damage in its ledger marks its directory and stops, since its peers have what it has lost, and it would
/// pass on what it cannot read. A node alone goes on: nobody could give it anything, and only what is damaged is lost.
pub(crate) fn watch(ledger: &Ledger, options: &Options, fatal: &Fatal) {
    let (data, fatal, is_alone) = (options.data.clone(), fatal.clone(), options.peers.len() == 1);
    let (process, tokio) = (Process::current(), tokio::runtime::Handle::current());
    ledger.on_damage(move |trouble| {
        if is_alone {
            return tracing::error!(%trouble, "a part of the ledger cannot be read, and there is no peer that has it: restore a backup");
        }
        let why = match write(&data, LEDGER_DAMAGED, &trouble.to_string()) {
            Ok(()) => format!("{trouble}: start it again, it does both by itself"),
            Err(unmarked) => format!("{trouble} ({unmarked})"),
        };
        tracing::error!(%trouble, "the ledger is damaged: this node stops, and is rebuilt from a peer at its next start");
        let fatal = fatal.clone();
        let stop = async move {
            tokio::time::sleep(ANSWERS_FOR).await;
            fatal.stop(why);
        };
        // Damage is met by threads too, which belong to no runtime.
        match &process {
            Some(process) => drop(process.spawn(stop)),
            None => drop(tokio.spawn(stop)),
        }
    });
}
