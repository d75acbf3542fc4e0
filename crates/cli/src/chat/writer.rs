//! Text of a model on standard output: laid out and harmless where somebody looks at it, as it is
//! everywhere else.

use std::io;

use quillet::settings::{self, Settings};

use super::markdown::Markdown;
use super::sanitize;
use crate::terminal::{self, Stream};

/// Where a model's text goes.
#[derive(Debug)]
pub(crate) struct ProseWriter {
    /// Whether somebody looks at the text itself: then it must be harmless.
    is_looked_at: bool,
    /// What lays it out; nothing where it is shown as it is.
    markdown: Option<Markdown>,
    /// Whether text that is shown as it is stands without a new line.
    is_open: bool,
}

impl ProseWriter {
    /// Standard output. Markdown is laid out on a terminal with colours, unless `--raw` or the
    /// setting `terminal.raw` says otherwise.
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

    /// Whether somebody looks at it.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.is_looked_at
    }

    /// Whether it stands in the middle of a line.
    pub(crate) fn is_open(&self) -> bool {
        match &self.markdown {
            Some(markdown) => markdown.is_open(),
            None => self.is_open,
        }
    }

    /// Writes more of the text.
    ///
    /// # Errors
    /// The reader left.
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

    /// Writes what was held back, and ends the line. Another text may follow.
    ///
    /// # Errors
    /// The reader left.
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
    /// A text that was cut off is shown up to its end, too.
    fn drop(&mut self) {
        if let Some(markdown) = &mut self.markdown {
            // Nobody is left to whom it could be reported that nobody reads it.
            let _ = terminal::result(&markdown.end());
        }
    }
}
