//! `quillet push|pull|log|show|diff|label|labels|promote|rollback|rm|gc|export|import`: versions and
//! labels of the definitions of a store.

pub(crate) mod checked;
mod collect;
mod diff;
mod file;
mod label;
mod log;
mod move_production;
mod openai;
mod pull;
mod push;
mod show;
mod shown;
mod transfer;
pub(crate) mod work;

use quillet::settings::Settings;
use work::Work;

use crate::args::Versions;
use crate::failure::Failure;

pub(crate) async fn run(command: &Versions, config: &Settings) -> Result<(), Failure> {
    let work = Work::open(config).await?;
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
        Versions::Import(args) => match (args.first.as_str(), &args.second) {
            (file, None) => transfer::import(file, &work).await,
            ("openai", Some(file)) => openai::import(file, &work).await,
            (form, Some(_)) => Err(Failure::Usage(format!(
                "{form:?} is no form of files that are imported: openai is, and the lines of `quillet export` are without a word"
            ))),
        },
    }
}
