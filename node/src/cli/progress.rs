//! A bar for people, in the last line of a terminal. It is talk: nothing of it stands in the data, and a pipe never sees it.

use super::Io;

/// How wide the bar is, in characters.
const WIDTH: usize = 30;

/// A bar that is drawn again and again.
#[derive(Debug, Default)]
pub(super) struct Progress {
    drawn: bool,
}

impl Progress {
    /// Draws how far it is, between 0 and 1, with a few words behind it.
    pub(super) fn draw(&mut self, io: &mut Io<'_>, done: f64, words: &str) {
        // What goes into a file has its bar all the same, where the talk is seen.
        if !(io.terminal || io.color) {
            return;
        }
        let done = done.clamp(0.0, 1.0);
        let full = (done * WIDTH as f64) as usize;
        let bar: String = (0..WIDTH).map(|place| if place < full { '#' } else { '.' }).collect();
        let line = format!("\r\x1b[2K[{bar}] {:3.0} %  {words}", done * 100.0);
        // Talk that cannot be heard is no failure.
        let _ = io.err.write_all(line.as_bytes()).and_then(|()| io.err.flush());
        self.drawn = true;
    }

    /// Takes the bar away.
    pub(super) fn clear(self, io: &mut Io<'_>) {
        if self.drawn {
            let _ = io.err.write_all(b"\r\x1b[2K").and_then(|()| io.err.flush());
        }
    }
}
