//! `quillet config`: settings and their sources.

use quillet::settings::{self, Settings};

use crate::args::ConfigCommand;
use crate::failure::CliError;
use crate::terminal;

pub(crate) fn run(command: &ConfigCommand, config: &Settings) -> Result<(), CliError> {
    match command {
        ConfigCommand::Show { origin } => Ok(terminal::result(&config.show(*origin))?),
        ConfigCommand::Path => {
            let paths: String = config
                .files()
                .iter()
                .map(|path| format!("{}\n", path.display()))
                .collect();
            terminal::result(&paths)?;
            if paths.is_empty() {
                let user = settings::user_file()
                    .map_or_else(String::new, |path| format!(" or {}", path.display()));
                terminal::note(&format!("no configuration file; create quillet.toml{user}"));
            }
            Ok(())
        }
    }
}
