//! Writes a model's text to standard output. On a terminal, the text is sanitised and formatted;
//! elsewhere it is unchanged.

use std::io;

use quillet::settings::{self, Settings};

use super::markdown::Markdown;
use super::sanitize;
use crate::terminal::{self, Stream};

/// Writer for a model's text.
#[derive(Debug)]
pub(crate) struct ProseWriter {
    /// Whether the output is a terminal, so that the text must be sanitised.
    is_looked_at: bool,
    /// Markdown formatter; `None` if the text is not formatted.
    markdown: Option<Markdown>,
    /// Whether unformatted text was written without a final new line.
    is_open: bool,
}

impl ProseWriter {
    /// Creates a writer for standard output. Markdown is formatted on terminals with colours,
    /// unless `--raw` or the setting `terminal.raw` is on.
    pub(crate) fn new(config: &Settings) -> Self {
        let is_looked_at = Stream::Out.is_terminal();
        let lays_out =
            is_looked_at && Stream::Out.has_colour() && !config.is_on(&settings::TERMINAL_RAW);
        ProseWriter {
            is_looked_at,
            markdown: lays_out.then(|| Markdown::new(terminal::width())),
            is_open: false,
        }
    }

    /// Whether the output is a terminal.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.is_looked_at
    }

    /// Whether the cursor is in the middle of a line.
    pub(crate) fn is_open(&self) -> bool {
        match &self.markdown {
            Some(markdown) => markdown.is_open(),
            None => self.is_open,
        }
    }

    /// Writes a part of the text.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn write_text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let Some(markdown) = &mut self.markdown else {
            self.is_open = !text.ends_with('\n');
            return if self.is_looked_at {
                terminal::result(&sanitize(text))
            } else {
                terminal::result(text)
            };
        };
        // The user may resize the terminal during an answer.
        markdown.set_width(terminal::width());
        let shown = markdown.push(text);
        if shown.is_empty() {
            Ok(())
        } else {
            terminal::result(&shown)
        }
    }

    /// Writes any withheld text and ends the line. Another text may follow.
    ///
    /// # Errors
    /// Standard output was closed by its reader.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let rest = match &mut self.markdown {
            Some(markdown) => markdown.end(),
            None if std::mem::take(&mut self.is_open) => "\n".to_owned(),
            None => String::new(),
        };
        if rest.is_empty() {
            Ok(())
        } else {
            terminal::result(&rest)
        }
    }
}

impl Drop for ProseWriter {
    /// Writes the withheld part of a text that was interrupted.
    fn drop(&mut self) {
        if let Some(markdown) = &mut self.markdown {
            // An error means that the reader is gone, and a drop cannot report it.
            let _ = terminal::result(&markdown.end());
        }
    }
}
