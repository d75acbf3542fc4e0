//! Rows of all formats, in the order of the factory.

mod custom;
mod go;
mod handlebars;
mod jinja;
mod liquid;
mod semantic_kernel;
mod values;

use super::Row;

const ALL: &[Row] = &[
    go::GO,
    jinja::JINJA,
    jinja::JINJA_PLAIN,
    semantic_kernel::SEMANTIC_KERNEL,
    handlebars::SEMANTIC_KERNEL_HANDLEBARS,
    jinja::SEMANTIC_KERNEL_JINJA2,
    handlebars::HANDLEBARS,
    handlebars::HANDLEBARS_HTML,
    values::MUSTACHE,
    values::MUSTACHE_HTML,
    values::F_STRING,
    values::F_STRING_STRICT,
    handlebars::DOTPROMPT,
    liquid::LIQUID,
    liquid::SEMANTIC_KERNEL_LIQUID,
    custom::BRACKETS,
];

pub(super) fn all() -> impl Iterator<Item = Row> {
    ALL.iter().copied()
}
