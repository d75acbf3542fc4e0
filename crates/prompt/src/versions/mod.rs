//! Versions of prompts: resolution of version selectors and of labels.
//!
//! The catalogue builds the default version of each prompt: its label `production` if set, or else
//! the stored definition. Other versions are built when a request first needs them, either by a
//! selector (`greet.hello@next`, `@7`, `@sha256:…`) or through a weighted label. They are cached
//! for as long as the snapshot is current.

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
