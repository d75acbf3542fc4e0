//! Arguments of the commands for versions and labels.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use quillet_core::history::PRODUCTION;
use quillet_core::store::EntryKind;

use super::StoreArgs;

/// Commands for version histories of definitions.
#[derive(Debug, Subcommand)]
pub(crate) enum Versions {
    /// Save definitions from folders or files to the store as new versions.
    Push(Push),
    /// Write stored definitions to files in a folder.
    Pull(Pull),
    /// List the versions of a definition, or the audit log of the store.
    Log(LogArgs),
    /// Print a version of a definition.
    Show(Show),
    /// Compare two versions.
    Diff(Diff),
    /// Set a label on a version, split it across versions, or remove it.
    Label(Label),
    /// List the labels of a definition.
    Labels(Labels),
    /// Move a label (production by default) to a version.
    Promote(Promote),
    /// Move a label (production by default) back to the previous version.
    Rollback(Rollback),
    /// Remove a definition and its labels; its versions remain.
    Rm(Remove),
    /// Delete old versions that no label points to.
    Gc(Collect),
    /// Export version histories in JSON Lines format.
    Export(ExportArgs),
    /// Import exported version histories.
    Import(ImportArgs),
}

impl Versions {
    /// Returns the options that select the store.
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

/// The `--kind` and `--store` options.
#[derive(Debug, Default, Args)]
pub(crate) struct KindArgs {
    /// Kind of the definition; prompt by default.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<EntryKind>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl KindArgs {
    /// Returns the kind of a named definition.
    pub(crate) fn kind(&self) -> EntryKind {
        self.kind.unwrap_or(EntryKind::Prompt)
    }

    /// Returns the kinds to work on if no definition is named.
    pub(crate) fn kinds(&self) -> Vec<EntryKind> {
        let all = EntryKind::ALL
            .into_iter()
            .filter(|kind| kind.has_versions());
        self.kind.map_or_else(|| all.collect(), |kind| vec![kind])
    }
}

/// Parser for kinds of definitions that have versions.
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

/// The `--message` option.
#[derive(Debug, Default, Args)]
pub(crate) struct MessageArgs {
    /// Reason for the change, for the audit log.
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) message: String,
}

/// Save definitions to a store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet push prompts-repo -m \"Answer shorter\" -s redis://127.0.0.1
  quillet push prompts-repo --dry-run           preview the changes
  quillet push hello.prompt --id greet.hello    push one file
  quillet push prompts-repo --label staging     push and move a label

A folder has the layout of a store: prompts/, tools/, extensions/, agents/, databases/.
All definitions are checked before the first write. Unchanged definitions are skipped, so you
can rerun an interrupted push.")]
pub(crate) struct Push {
    /// Folders that have the layout of a store, or files that each contain one definition.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    /// Label to move to each pushed version; repeatable.
    #[arg(long = "label", value_name = "NAME")]
    pub(crate) labels: Vec<String>,
    /// Show the changes without writing them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also save invalid definitions.
    #[arg(long)]
    pub(crate) broken: bool,
    /// Remove stored definitions that are not in the folder; kinds without a subfolder are not
    /// affected.
    #[arg(long)]
    pub(crate) prune: bool,
    /// Id of the definition in a single file; by default the file name without its extension.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Write definitions to files.
#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// Folder to write to; it gets the layout of a store.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Ids of definitions; all by default.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Label of the versions to write; by default the current definitions are written.
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    pub(crate) label: Option<String>,
    /// Version to write: a label, a number or sha256:DIGITS.
    #[arg(long, value_name = "MARK", requires = "ids")]
    pub(crate) at: Option<String>,
    /// Replace files even if their content matches no version of the definition.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the files that would be written, without writing them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// List versions, or the audit log of the store.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Id of the definition; if omitted, the audit log of the store is listed.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Maximum number of entries, newest first.
    #[arg(short = 'n', long = "number", value_name = "N", default_value = "20",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) most: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Print a version.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Definition and version; by default production, or the current definition.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) id: String,
    /// Print JSON with the version, its labels and its text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Compare two versions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet diff greet.hello                 production against latest
  quillet diff greet.hello@3               version 3 against latest
  quillet diff greet.hello@3 @staging      version 3 against staging
  quillet diff greet.hello -D name=Ada     also compare the rendered output")]
pub(crate) struct Diff {
    /// First version; production by default.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) old: String,
    /// Second version; @MARK refers to the same definition; latest by default.
    #[arg(value_name = "ID[@MARK]|@MARK")]
    pub(crate) new: Option<String>,
    /// Variable for rendering both versions, as name=text, name=@file or name:=json; repeatable.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// JSON, YAML or TOML file that contains variables for rendering both versions.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Move a label.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet label greet.hello@4 staging
  quillet label greet.hello production --split 3=90,4=10 --by user
  quillet label greet.hello staging --remove")]
pub(crate) struct Label {
    /// Definition and version; the current definition by default.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) id: String,
    /// Name of the label.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Remove the label.
    #[arg(long, conflicts_with_all = ["split", "by"])]
    pub(crate) remove: bool,
    /// Numbers and weights of several versions, to split the label across them.
    #[arg(long, value_name = "NUMBER=WEIGHT,…", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// Request field whose value determines the version: user, session or a variable name; by
    /// default each request gets a random version.
    #[arg(long, value_name = "NAME", requires = "split")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// List labels.
#[derive(Debug, Args)]
pub(crate) struct Labels {
    /// Id of the definition.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print the stored JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Move a label (production by default).
#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// Definition and version; the current definition by default.
    #[arg(value_name = "ID[@MARK]")]
    pub(crate) id: String,
    /// Label to move.
    #[arg(long, value_name = "NAME", default_value = PRODUCTION)]
    pub(crate) to: String,
    /// Label to take the version from; cannot be combined with @MARK.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Move a label back.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// Id of the definition.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Label to move back (production by default); if the label does not exist, the previous
    /// definition becomes the newest version.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Version to return to: a label, a number or sha256:DIGITS; by default the previous one.
    #[arg(long, value_name = "MARK")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Remove a definition.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Id of the definition.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) why: MessageArgs,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Delete old versions.
#[derive(Debug, Args)]
pub(crate) struct Collect {
    /// Ids of definitions; all by default.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Number of newest versions to keep for each definition.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
    /// List the versions that would be deleted, without deleting them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Export histories.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Ids of definitions; all by default.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Output file; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) which: KindArgs,
}

/// Import histories.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  quillet import prompts.jsonl

Existing histories are continued, so you can rerun an interrupted import.")]
pub(crate) struct ImportArgs {
    /// File written by `quillet export`, or - for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
