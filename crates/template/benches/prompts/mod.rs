//! The four prompts of `benches/go-template/`, compiled and rendered.

#[path = "../whole/mod.rs"]
mod whole;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::json::{NumberMode, parse_with};
use quillet_template::format::go::{
    FunctionContext, FunctionError, GoFormat, GoFunction, GoList, GoMap, GoType, GoValue, fmt,
};
use quillet_template::{CompileOptions, CompiledTemplate, TemplateFormat, TemplateSource};
use serde::Deserialize;
use serde_json::value::RawValue;
use whole::execute;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    template: String,
    data: Box<RawValue>,
}

/// Passes every task to `measure`, with its name and its prompt.
pub(crate) fn each(mut measure: impl FnMut(&str, &str, &dyn Fn())) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benches/go-template");
    let text = fs::read_to_string(folder.join("cases.json")).expect("cases.json is there");
    let file: File = serde_json::from_str(&text).expect("cases.json is as it should be");
    let format = GoFormat::new().with_functions(TOOLS);
    for case in &file.cases {
        let expected = folder
            .join("expected")
            .join(&case.name)
            .with_extension("txt");
        let expected = fs::read(expected).expect("the expected text is there");
        let data = parse_with(case.data.get(), NumberMode::Float).expect("the data is JSON");
        let variables = data.as_map().expect("the data is an object");
        let template = compile(&format, case);
        assert_eq!(execute(&*template, variables), expected);
        measure("parse", &case.name, &|| {
            std::hint::black_box(compile(&format, case));
        });
        measure("execute", &case.name, &|| {
            std::hint::black_box(execute(&*template, variables));
        });
    }
}

fn compile(format: &GoFormat, case: &Case) -> Arc<dyn CompiledTemplate> {
    let sources = [TemplateSource::new("t", &case.template)];
    let compiled = format.compile(&sources, &CompileOptions::default());
    compiled.expect("the template compiles")
}

/// The tools of the prompts, as `cases.json` describes them.
const TOOLS: &[GoFunction] = &[
    GoFunction::variadic("tool_a", &[GoType::Any], |_, a| joined("a:", a, "")),
    GoFunction::variadic("tool_b", &[GoType::Any], |_, a| joined("b:", a, ":")),
    GoFunction::variadic("tool_c", &[GoType::Any], |_, a| joined("c:", a, "/")),
    GoFunction::variadic("tool_d", &[GoType::Any], tool_d),
    GoFunction::variadic("tool_e", &[GoType::Any], |_, a| Ok(a[0].is_true().into())),
];

fn joined(prefix: &str, arguments: &[GoValue], separator: &str) -> Result<GoValue, FunctionError> {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(prefix.as_bytes());
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(separator.as_bytes());
        }
        fmt::append_value(&mut out, 1 << 20, argument).map_err(|_| "too large")?;
    }
    Ok(out.into())
}

fn tool_d(
    _: &mut FunctionContext<'_, '_>,
    arguments: &[GoValue],
) -> Result<GoValue, FunctionError> {
    let items = vec![arguments[0].clone(), "two".into(), "three".into()];
    let map = GoMap::new();
    map.insert("title".into(), joined("T ", &arguments[..1], "")?)?;
    map.insert("items".into(), GoValue::List(GoList::new(items)))?;
    Ok(GoValue::Map(map))
}
