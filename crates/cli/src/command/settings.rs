//! `quillet config`: settings and where they come from.

use crate::args::Settings;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::terminal;

pub(crate) fn run(command: &Settings, config: &Config) -> Result<(), Failure> {
    match command {
        Settings::Show { origin } => Ok(terminal::result(&config.show(*origin))?),
        Settings::Path => {
            let paths: String = config
                .files
                .iter()
                .map(|path| format!("{}\n", path.display()))
                .collect();
            terminal::result(&paths)?;
            if paths.is_empty() {
                let user = config::user_file()
                    .map_or_else(String::new, |path| format!(" or {}", path.display()));
                terminal::note(&format!(
                    "no configuration file is there; write quillet.toml{user}"
                ));
            }
            Ok(())
        }
    }
}
