//! Arguments of the commands for versions and labels.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use quillet_core::history::PRODUCTION;
use quillet_core::store::EntryKind;

use super::StoreArgs;

/// Commands on versions of definitions.
#[derive(Debug, Subcommand)]
pub(crate) enum Versions {
    /// Write the definitions of a folder, or single files, to the store as new versions.
    Push(Push),
    /// Write definitions of the store as files into a folder.
    Pull(Pull),
    /// List the versions of a definition, or who did what in the store.
    Log(LogArgs),
    /// Print a version of a definition.
    Show(Show),
    /// Show what differs between two versions.
    Diff(Diff),
    /// Set a label on a version, in shares on several, or take it away.
    Label(Label),
    /// List the labels of a definition.
    Labels(Labels),
    /// Move production to a version.
    Promote(Promote),
    /// Move production to the version before.
    Rollback(Rollback),
    /// Remove a definition with its labels; its versions stay.
    Rm(Remove),
    /// Drop old versions that no label names.
    Gc(Collect),
    /// Write whole histories as lines of JSON.
    Export(ExportArgs),
    /// Bring whole histories in that were exported.
    Import(ImportArgs),
}

impl Versions {
    /// Which store it works on.
    pub(crate) fn store(&self) -> &StoreArgs {
        match self {
            Versions::Push(args) => &args.which.store,
            Versions::Pull(args) => &args.which.store,
            Versions::Log(args) => &args.which.store,
            Versions::Show(args) => &args.which.store,
            Versions::Diff(args) => &args.which.store,
            Versions::Label(args) => &args.which.store,
            Versions::Labels(args) => &args.which.store,
            Versions::Promote(args) => &args.which.store,
            Versions::Rollback(args) => &args.which.store,
            Versions::Rm(args) => &args.which.store,
            Versions::Gc(args) => &args.which.store,
            Versions::Export(args) => &args.which.store,
            Versions::Import(args) => &args.store,
        }
    }
}

/// Definitions of which kind, in which store.
#[derive(Debug, Default, Args)]
pub(crate) struct KindArgs {
    /// The kind of the definition: a prompt, unless it is said otherwise.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<EntryKind>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl KindArgs {
    /// The kind of the definition that is named.
    pub(crate) fn kind(&self) -> EntryKind {
        self.kind.unwrap_or(EntryKind::Prompt)
    }

    /// The kinds that are meant where no definition is named.
    pub(crate) fn kinds(&self) -> Vec<EntryKind> {
        let all = EntryKind::ALL
            .into_iter()
            .filter(|kind| kind.has_versions());
        self.kind.map_or_else(|| all.collect(), |kind| vec![kind])
    }
}

/// Kinds of definitions by their names.
fn kinds() -> impl TypedValueParser<Value = EntryKind> {
    let kinds = || {
        EntryKind::ALL
            .into_iter()
            .filter(|kind| kind.has_versions())
    };
    let names = kinds().map(|kind| PossibleValue::new(kind.word()));
    PossibleValuesParser::new(names).try_map(move |name| {
        let mut kinds = kinds();
        kinds.find(|kind| kind.word() == name).ok_or("no kind")
    })
}

/// Why something is done.
#[derive(Debug, Default, Args)]
pub(crate) struct MessageArgs {
    /// Why, for the log.
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) message: String,
}

/// Writes definitions to a store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet push prompts-repo -m \"Answer shorter\" -s redis://127.0.0.1
  quillet push prompts-repo --dry-run           what would change
  quillet push hello.prompt --id greet.hello    one file
  quillet push prompts-repo --label staging     and move a label to what was pushed

A folder is read as a store is: prompts/, tools/, extensions/, agents/, databases/. Everything is
checked before anything is written; what is the same already is left alone, so a push that broke off
is begun again.")]
pub(crate) struct Push {
    /// Folders that are laid out as a store, and files of single definitions.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    /// A label that is moved to each version that is pushed. May be given several times.
    #[arg(long = "label", value_name = "NAME")]
    pub(crate) labels: Vec<String>,
    /// Say what would change, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write what is broken, too.
    #[arg(long)]
    pub(crate) broken: bool,
    /// Remove from the store what the folder does not have, of each kind that it has a folder for.
    #[arg(long)]
    pub(crate) prune: bool,
    /// The id of a single file, in place of its name without the ending.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Writes definitions as files.
#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// The folder, which is laid out as a store is.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Ids, in place of all definitions.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// The versions that a label points at; without it what stands in the store.
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    pub(crate) label: Option<String>,
    /// The version of a mark: a label, a number, sha256:DIGITS.
    #[arg(long, value_name = "MARK", requires = "ids")]
    pub(crate) at: Option<String>,
    /// Replace files whose content is no version of the definition.
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Lists versions, or the log of the store.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The definition; without it the log of the store.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// How many lines, from the newest.
    #[arg(short = 'n', long = "number", value_name = "N", default_value = "20",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) most: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Prints a version.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The definition; without a mark what production is, and else what stands in the store.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) id: String,
    /// Print JSON: the version, its labels and its text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Compares two versions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet diff greet.hello                 production against latest
  quillet diff greet.hello@3               version 3 against latest
  quillet diff greet.hello@3 @staging      version 3 against staging
  quillet diff greet.hello -D name=Ada     the texts that both render, too")]
pub(crate) struct Diff {
    /// One version: production, unless a mark says otherwise.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) old: String,
    /// The other version, or its mark alone: latest, unless it is given.
    #[arg(value_name = "ID[@MARK]|@MARK")]
    pub(crate) new: Option<String>,
    /// A variable to render both with: name=text, name=@file, name:=json.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// A file of variables to render both with: JSON, YAML or TOML.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Moves a label.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet label greet.hello@4 staging
  quillet label greet.hello production --split 3=90,4=10 --by user
  quillet label greet.hello staging --remove")]
pub(crate) struct Label {
    /// The definition; without a mark what stands in the store.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) id: String,
    /// The label.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Take it away.
    #[arg(long, conflicts_with_all = ["split", "by"])]
    pub(crate) remove: bool,
    /// Versions with their weights, in place of one version.
    #[arg(long, value_name = "NUMBER=WEIGHT,…", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// What of a request decides which version it gets: user, session, or the name of a variable.
    /// Without it each request is drawn by itself.
    #[arg(long, value_name = "NAME", requires = "split")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Lists labels.
#[derive(Debug, Args)]
pub(crate) struct Labels {
    /// The definition.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON, as it is stored.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Moves production.
#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// The definition; without a mark what stands in the store.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) id: String,
    /// The label that moves.
    #[arg(long, value_name = "NAME", default_value = PRODUCTION)]
    pub(crate) to: String,
    /// The label whose version it moves to, in place of a mark.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Goes back.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The definition.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The label that goes back: production. Where the definition has no such label and none is
    /// named, the definition before becomes the newest version.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// The version to go back to, in place of the one before: a label, a number, sha256:DIGITS.
    #[arg(long, value_name = "MARK")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Removes a definition.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The definition.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Drops old versions.
#[derive(Debug, Args)]
pub(crate) struct Collect {
    /// Ids, in place of all definitions.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// How many of the newest versions of each definition stay.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
    /// Say what would be dropped, and drop nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Writes histories.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Ids, in place of all definitions.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Where to write them; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Brings histories in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet import prompts.jsonl        what `quillet export` has written
  quillet import openai saved.json    prompts that were saved from OpenAI (docs/openai.md)

What is here already is gone on with, so an import that broke off is begun again.")]
pub(crate) struct ImportArgs {
    /// A file that `quillet export` has written; - is standard input. Or openai, and then a file of
    /// prompts that were saved from OpenAI.
    #[arg(value_name = "FILE|openai")]
    pub(crate) first: String,
    /// The file, behind openai.
    #[arg(value_name = "FILE")]
    pub(crate) second: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
