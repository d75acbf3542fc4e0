//! Sprig's functions for prompts, and Helm's additions to them.
//!
//! Arguments, results and errors match Go's; `docs/formats/sprig.md` lists the functions and their
//! differences. Functions are omitted that let a template's author inspect the host (`env`,
//! `expandenv`, `getHostByName`), that make keys or password hashes, or that run text as a template
//! (`tpl`).
//!
//! Every function charges for its work before doing it, see `cost`.

mod args;
mod cast;
mod cost;
mod dates;
mod decimal;
mod dicts;
mod duration;
mod encoding;
mod flow;
mod json;
mod json_error;
mod layout;
mod lists;
mod math;
mod paths;
mod pattern;
mod random;
mod regexes;
mod semver;
mod strings;
mod text;
mod timetext;
mod types;
mod urls;
mod word_split;
mod yaml;

use super::GoFunction;

/// Returns the functions by family. Their table is built once, not per template.
pub const FAMILIES: [&[GoFunction]; 15] = [
    dates::FUNCTIONS,
    dicts::FUNCTIONS,
    encoding::FUNCTIONS,
    flow::FUNCTIONS,
    json::FUNCTIONS,
    lists::FUNCTIONS,
    math::FUNCTIONS,
    paths::FUNCTIONS,
    random::FUNCTIONS,
    regexes::FUNCTIONS,
    semver::FUNCTIONS,
    strings::FUNCTIONS,
    types::FUNCTIONS,
    urls::FUNCTIONS,
    yaml::FUNCTIONS,
];
