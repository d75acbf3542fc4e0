//! Properties that every format must have. Each property is written once, and a row defines its
//! templates in one format. A registered format without a row fails the tests, including a
//! third-party format added here.

mod calls;
mod compile;
mod data;
mod failed_calls;
mod limits;
mod rows;
mod segments;
mod sequential;
mod side_by_side;
pub(crate) mod tools;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use quillet_core::{Map, json};
use quillet_template::{
    CompileOptions, CompiledTemplate, FunctionHost, MessageSyntax, Missing, Render, RenderError,
    RenderLimits, RenderedTemplate, TemplateFactory, TemplateFormat, TemplateSource, render,
};

use crate::custom_format::Brackets;

/// Templates of one format. They use the variables of [`variables`] and the functions of
/// [`tools::NAMES`]. A field is `None` or empty if the language lacks the feature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) format: &'static str,
    /// Prints `Hi X, K!` from text, the variable `x`, and `k` in the object `m`. Prints `Hi X!` in
    /// languages without paths.
    pub(crate) hello: &'static str,
    /// Whether the language has paths.
    pub(crate) paths: bool,
    /// Prints the variable `x` and nothing else.
    pub(crate) print: &'static str,
    /// Prints `echo` of each digit, in ten independent calls.
    pub(crate) ten: &'static str,
    /// Functions that [`Row::ten`] names.
    pub(crate) ten_names: &'static [&'static str],
    /// Makes three calls of `plus`, each with the result of the previous one, starting with `x`.
    pub(crate) chain: Option<&'static str>,
    /// Prints the elements of `l`.
    pub(crate) turns: Option<&'static str>,
    /// Two sources; the first prints `a text of X` using the second.
    pub(crate) partial: Option<[(&'static str, &'static str); 2]>,
    /// Calls `crash` and then another function in the third line.
    pub(crate) fails: &'static str,
    /// The column where the failure of that call is reported.
    pub(crate) fails_at: usize,
    /// A template with a syntax error in the second line, and the column where it is reported.
    pub(crate) mistake: Option<(&'static str, usize)>,
    /// Calls a function that does not exist: `ehco`.
    pub(crate) unknown: Option<&'static str>,
    /// Prints the variable `nothing`, which does not exist.
    pub(crate) missing: &'static str,
    /// Templates that test the result of a call, with their output. `wrong` is in branches that a
    /// sequential render never reaches.
    pub(crate) decisions: &'static [(&'static str, &'static str)],
    /// Returns a template with this nesting depth.
    pub(crate) deep: Option<fn(usize) -> String>,
    /// Builds 20,000 bytes, of which only a part is printed.
    pub(crate) builds: Option<&'static str>,
    /// Two sources; the first calls the second, which calls itself.
    pub(crate) recursion: Option<[(&'static str, &'static str); 2]>,
    /// Returns the printed form of a value.
    pub(crate) shown: fn(&str) -> String,
    /// Whether message tags in the template can be structure.
    pub(crate) elements: bool,
    /// Whether the format can escape any text.
    pub(crate) escapes: bool,
}

/// Default values of most rows.
const ROW: Row = Row {
    format: "",
    hello: "",
    paths: true,
    print: "",
    ten: "",
    ten_names: &["echo"],
    chain: None,
    turns: None,
    partial: None,
    fails: "",
    fails_at: 0,
    mistake: None,
    unknown: None,
    missing: "",
    decisions: &[],
    deep: None,
    builds: None,
    recursion: None,
    shown: str::to_owned,
    elements: true,
    escapes: true,
};

fn factory() -> TemplateFactory {
    TemplateFactory::standard().with(Brackets)
}

/// Returns every format with its row, in the order of the factory.
fn rows() -> Vec<(Arc<dyn TemplateFormat>, Row)> {
    let row = |format: &Arc<dyn TemplateFormat>| {
        let row = rows::all().find(|row| row.format == format.name());
        let row = row.unwrap_or_else(|| panic!("{} has no row in formats/rows", format.name()));
        (format.clone(), row)
    };
    factory().formats().iter().map(row).collect()
}

#[test]
fn every_format_has_a_row_and_every_row_a_format() {
    let formats: Vec<&str> = rows().iter().map(|(_, row)| row.format).collect();
    let named: Vec<&str> = rows::all().map(|row| row.format).collect();
    assert_eq!(formats, named);
}

/// A third-party format must be short to write.
#[test]
fn the_example_takes_under_100_lines() {
    let text = include_str!("../../../../../examples/custom_format.rs");
    let (format, _) = text.split_once("// The program").expect("it is marked");
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ")
    };
    let lines = format.lines().filter(is_code).count();
    assert!(lines < 100, "{lines}");
}

#[test]
fn no_name_means_two_formats() {
    let factory = factory();
    for format in factory.formats() {
        for name in [format.name()].iter().chain(format.aliases()) {
            let found = factory.format(name).map(|found| found.name());
            assert_eq!(found, Some(format.name()), "{name}");
        }
    }
}

static VARIABLES: LazyLock<Map> = LazyLock::new(|| {
    let text = r#"{"x":"X","m":{"k":"K"},"l":[1,2,3],"d":["0","1","2","3","4","5","6","7","8","9"],
        "n0":"0","n1":"1","n2":"2","n3":"3","n4":"4","n5":"5","n6":"6","n7":"7","n8":"8","n9":"9"}"#;
    let value = json::parse(text).expect("it is JSON");
    value.as_map().cloned().expect("it is an object")
});

/// Returns the variables of the templates.
fn variables() -> &'static Map {
    &VARIABLES
}

/// Returns the variables with another value of `x`.
fn with_x(x: &str) -> Map {
    let mut table = variables().to_table();
    table.insert("x".into(), x.into());
    Map::new(table)
}

fn strict() -> CompileOptions {
    CompileOptions {
        missing: Missing::Strict,
        ..CompileOptions::default()
    }
}

fn with_messages() -> CompileOptions {
    CompileOptions {
        messages: MessageSyntax::Elements,
        ..strict()
    }
}

fn generous() -> RenderLimits {
    RenderLimits {
        time: Duration::from_secs(20),
        ..RenderLimits::default()
    }
}

fn compile(format: &dyn TemplateFormat, text: &str) -> Arc<dyn CompiledTemplate> {
    compile_all(format, &[("main", text)])
}

/// Compiles sources: the first is the entry, the others are libraries.
fn compile_all(format: &dyn TemplateFormat, texts: &[(&str, &str)]) -> Arc<dyn CompiledTemplate> {
    let sources: Vec<TemplateSource<'_>> = texts
        .iter()
        .enumerate()
        .map(|(index, (name, text))| match index {
            0 => TemplateSource::new(name, text),
            _ => TemplateSource::library(name, text),
        })
        .collect();
    let compiled = format.compile(&sources, &strict());
    compiled.unwrap_or_else(|error| panic!("{}: {texts:?}: {error}", format.name()))
}

/// Renders `main` with these variables.
async fn run(
    template: &dyn CompiledTemplate,
    variables: &Map,
    functions: &dyn FunctionHost,
    limits: &RenderLimits,
) -> Result<RenderedTemplate, Box<RenderError>> {
    render(&Render {
        template,
        entries: &["main"],
        variables,
        functions,
        limits,
    })
    .await
}
