//! The functions of Sprig that prompts use, and those of Helm that go with them.
//!
//! Arguments, results and errors are Go's; `docs/formats/sprig.md` says
//! which functions there are and where they differ. What is not here: whatever
//! lets a template's author look at the host (`env`, `expandenv`,
//! `getHostByName`), makes keys or password hashes, or runs text as a template
//! (`tpl`).
//!
//! Every function pays for its work before it does it, see `cost`.

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

/// The functions by family. A table of them is made once, not per template.
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
