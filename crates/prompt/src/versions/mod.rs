//! Versions of prompts: which one an id with a mark names, and which one labels give to a request.
//!
//! The catalogue builds what readers get who name no version: the label `production` where a prompt
//! has it, else what stands in the store. What a request asks for with a mark (`greet.hello@next`,
//! `@7`, `@sha256:…`), or what a label in shares draws for it, is put together when it is asked for
//! first, and kept as long as the snapshot is the current one.

mod labelled;
mod marked;
mod number;
mod read;
mod resolve;
mod version;
mod view;

pub(crate) use labelled::LabelledVersions;
pub(crate) use marked::VersionCache;
pub(crate) use number::VersionNumbers;
pub(crate) use read::fetch;
pub(crate) use version::{VersionPin, VersionedPrompt};
