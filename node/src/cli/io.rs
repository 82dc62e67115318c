//! The surroundings of a command as a value, so that a test can give it others.

use std::io::{self, BufWriter, IsTerminal, Read, Write};

use campanile_core::time::Timestamp;

use crate::clock::Clock;

/// Where a command reads and writes, and when it runs.
pub struct Io<'a> {
    /// Data.
    pub out: &'a mut dyn Write,
    /// Talk.
    pub err: &'a mut dyn Write,
    /// What `-` stands for.
    pub input: &'a mut dyn Read,
    /// Whether a person looks at `out`: cells are shortened then.
    pub terminal: bool,
    /// Whether `err` understands colours, and nobody asked for none (`NO_COLOR`).
    pub color: bool,
    /// The wall clock at the start of the command.
    pub now: Timestamp,
}

impl Io<'_> {
    /// Runs `act` in the surroundings of this process, and writes out what is left at its end.
    pub fn with_process<T>(act: impl FnOnce(&mut Io<'_>) -> T) -> T {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let color =
            io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let mut out = BufWriter::with_capacity(64 * 1024, stdout.lock());
        let done = act(&mut Io {
            out: &mut out,
            err: &mut io::stderr().lock(),
            input: &mut io::stdin().lock(),
            terminal,
            color,
            now: Clock::system().now(),
        });
        // The command has flushed and answered for it; dropping what a closed pipe left must not speak.
        let (_, _) = out.into_parts();
        done
    }

    /// Says something on standard error, after the data before it. Talk that cannot be heard is no failure; data that
    /// cannot be written is, and the next write or the flush at the end finds that out.
    pub(super) fn say(&mut self, text: &str) {
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{text}");
    }

    /// A word in colour, if colours are understood. `code` is an SGR parameter such as `31`.
    pub(super) fn paint(&self, code: &str, word: &str) -> String {
        if self.color { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
    }
}
