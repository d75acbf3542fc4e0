//! Tests of the script language in which only the model is scripted.

// In tests, the panic of a failed `unwrap` shows its location.
#![allow(clippy::unwrap_used)]

mod answer;
mod argument;
mod budgets;
mod call;
mod call_form;
mod call_models;
mod call_tools;
mod cases;
mod cases_published;
mod conditions;
mod dialogue;
mod directives_page;
mod editor;
mod editor_schema;
mod editor_tokens;
mod expression;
mod expression_data;
mod expression_engine;
mod format;
mod hostile;
mod inventory;
mod js;
mod js_modules;
mod js_node;
mod js_process;
mod js_waiting;
mod library;
mod library_check;
mod library_import;
mod library_inherit;
mod misspelt;
mod names;
mod parse_blocks;
mod parts;
mod pattern;
mod pattern_regex;
mod permissions;
mod python;
mod quickjs;
mod reader;
mod reader_findings;
mod reader_properties;
mod review;
mod safety;
mod seed_samples;
mod text_data;
mod text_holes;
mod text_templates;
mod wasm;
