//! `campanile ledger export -o segments`: the whole ledger of one node as one file, judged while it arrives.

use std::time::{Duration, Instant};

use crate::cli::Io;
use crate::cli::failure::Failure;
use crate::cli::progress::Progress;
use crate::client::{Call, Client};
use crate::export::Judge;

/// How often the bar is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// Writes the file to standard output. A download that broke off, or that is not what was written, is a failure.
pub(super) async fn export(client: &Client, io: &mut Io<'_>) -> Result<(), Failure> {
    if io.terminal {
        return Err(Failure::usage(
            "an export in segments is no text for a terminal",
            "send it to a file: campanile ledger export -o segments > ledger.archive",
        ));
    }
    let mut download = client.download(&Call::get("/v1/ledger/export")).await?;
    let judge = Judge::start()?;
    let (mut progress, mut drawn) = (Progress::default(), None::<Instant>);
    let ended = loop {
        let piece = match download.piece().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        io.out.write_all(&piece)?;
        if !judge.feed(piece) {
            break Ok(());
        }
        if drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY) {
            let (share, rows) = judge.progress();
            progress.draw(io, share, &format!("{rows} facts"));
            drawn = Some(Instant::now());
        }
    };
    progress.clear(io);
    io.out.flush()?;
    let judged = judge.end();
    ended?;
    let whole = judged.map_err(|flaw| Failure::failed(format!("the export is not whole: {flaw}"), HINT))?;
    let end = whole.end.map(|end| format!(" up to {end}")).unwrap_or_default();
    io.say(&format!("{} facts{end}, whole", whole.rows));
    if let Some(head) = whole.head {
        io.say(&format!("keep its head where the file is not, and check it with --head {head}"));
    }
    Ok(())
}

const HINT: &str = "what was written is of no use; ask again, or another node";
