//! `quillet push|pull|log|show|diff|label|labels|promote|rollback|rm|gc|export|import`: versions
//! and labels of stored definitions.

pub(crate) mod checked;
mod collect;
mod diff;
mod file;
mod label;
mod log;
mod move_production;
mod print;
mod pull;
mod push;
mod show;
pub(crate) mod store_session;
mod transfer;

use quillet::settings::Settings;
use store_session::StoreSession;

use crate::args::Versions;
use crate::failure::CliError;

pub(crate) async fn run(command: &Versions, config: &Settings) -> Result<(), CliError> {
    let work = StoreSession::open(config).await?;
    match command {
        Versions::Push(args) => push::run(args, &work).await,
        Versions::Pull(args) => pull::run(args, &work).await,
        Versions::Log(args) => log::run(args, &work).await,
        Versions::Show(args) => show::run(args, &work).await,
        Versions::Diff(args) => diff::run(args, &work).await,
        Versions::Label(args) => label::set(args, &work).await,
        Versions::Labels(args) => label::list(args, &work).await,
        Versions::Promote(args) => move_production::promote(args, &work).await,
        Versions::Rollback(args) => move_production::back(args, &work).await,
        Versions::Rm(args) => collect::remove(args, &work).await,
        Versions::Gc(args) => collect::run(args, &work).await,
        Versions::Export(args) => transfer::export(args, &work).await,
        Versions::Import(args) => transfer::import(&args.file, &work).await,
    }
}
