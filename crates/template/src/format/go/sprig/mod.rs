//! Sprig's functions for prompts, and those that Helm adds.
//!
//! Arguments, results and errors match Go's. `docs/formats/sprig.md` lists the functions and their
//! differences. Some functions are omitted for safety: those that inspect the host (`env`,
//! `expandenv`, `getHostByName`), that make keys or password hashes, or that evaluate text as a
//! template (`tpl`).
//!
//! Every function charges for its work in advance, see `cost`.

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

/// Functions by family. The table is built only once, instead of for each template.
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
