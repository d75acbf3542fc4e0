//! CPU time and allocations of the `go` format on four typical prompts, and
//! the time of ten tool calls in one template.
//!
//! `benches/run` runs this beside real Go and prints the ratios. Each line is
//! `what TAB prompt TAB nanoseconds TAB allocations TAB bytes`.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use quillet_core::json::{Numbers, parse_with};
use quillet_core::{BoxFuture, Map, Value};
use quillet_template::format::go::{
    Context, FunctionError, GoFormat, GoFunction, GoList, GoMap, GoType, GoValue, fmt,
};
use quillet_template::{
    Arguments, CallError, CompileOptions, Functions, Limits, NoFunctions, Render, Source, Template,
    TemplateFormat, render,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How long each figure is measured; the best of all rounds counts, since
/// everything that disturbs makes it worse.
const ROUNDS: usize = 20;
const ROUND: Duration = Duration::from_millis(20);

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

fn main() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benches/go-template");
    let text = fs::read_to_string(folder.join("cases.json")).expect("cases.json is there");
    let file: File = serde_json::from_str(&text).expect("cases.json is as it should be");
    for case in &file.cases {
        let expected = folder
            .join("expected")
            .join(&case.name)
            .with_extension("txt");
        let expected = fs::read_to_string(expected).expect("the expected text is there");
        measure_case(case, &expected);
    }
    println!("calls\tten of 50 ms\t{}", ten_calls().as_nanos());
}

fn measure_case(case: &Case, expected: &str) {
    let format = GoFormat::new().with_functions(TOOLS);
    let data = parse_with(case.data.get(), Numbers::Float).expect("the data is JSON");
    let variables = data.as_map().expect("the data is an object");
    let template = compile(&format, case);
    assert_eq!(execute(&template, variables), expected.as_bytes());
    report("parse", case, || {
        black_box(compile(&format, case));
    });
    report("execute", case, || {
        black_box(execute(&template, variables));
    });
}

fn compile(format: &GoFormat, case: &Case) -> Arc<dyn Template> {
    let sources = [Source::new("t", &case.template)];
    let compiled = format.compile(&sources, &CompileOptions::default());
    compiled.expect("the template compiles")
}

/// One whole render, as a server makes it.
fn execute(template: &Arc<dyn Template>, variables: &Map) -> Vec<u8> {
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &["t"],
        variables,
        functions: &NoFunctions,
        limits: &Limits::default(),
    })
    .now_or_never();
    let rendered = rendered.expect("there is nothing to wait for");
    rendered.expect("it renders").texts.swap_remove(0)
}

fn report(what: &str, case: &Case, work: impl Fn()) {
    let allocations = allocation_counter::measure(&work);
    println!(
        "{what}\t{}\t{}\t{}\t{}",
        case.name,
        nanoseconds(&work),
        allocations.count_total,
        allocations.bytes_total
    );
}

/// CPU nanoseconds of one piece of work, in the best round.
fn nanoseconds(work: impl Fn()) -> u64 {
    let round = || {
        let (begin, start, mut count) = (cpu(), Instant::now(), 0);
        while start.elapsed() < ROUND {
            for _ in 0..10 {
                work();
            }
            count += 10;
        }
        (cpu() - begin) / count
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

/// CPU nanoseconds that this thread has used, where Linux tells; else the wall's.
fn cpu() -> u64 {
    let used = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = used.and_then(|text| text.split(' ').next()?.parse().ok());
    used.unwrap_or_else(|| {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    })
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

fn tool_d(_: &mut Context<'_, '_>, arguments: &[GoValue]) -> Result<GoValue, FunctionError> {
    let items = vec![arguments[0].clone(), "two".into(), "three".into()];
    let map = GoMap::new();
    map.insert("title".into(), joined("T ", &arguments[..1], "")?)?;
    map.insert("items".into(), GoValue::List(GoList::new(items)))?;
    Ok(GoValue::Map(map))
}

/// A tool that takes 50 ms.
struct Slow;

impl Functions for Slow {
    fn contains(&self, name: &str) -> bool {
        name == "slow"
    }
    fn names(&self) -> Vec<&str> {
        vec!["slow"]
    }
    fn call<'a>(&'a self, _: &'a str, _: Arguments) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok("done".into())
        })
    }
}

/// Wall time of a template with ten calls that do not need each other.
fn ten_calls() -> Duration {
    let text: String = (0..10).map(|n| format!("{{{{slow {n}}}}}\n")).collect();
    let sources = [Source::new("t", &text)];
    let template = GoFormat::new().compile(&sources, &CompileOptions::default());
    let template = template.expect("the template compiles");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let start = Instant::now();
    let rendered = runtime.block_on(render(&Render {
        template: template.as_ref(),
        entries: &["t"],
        variables: &Map::default(),
        functions: &Slow,
        limits: &Limits::default(),
    }));
    assert_eq!(rendered.expect("it renders").text(0), "done\n".repeat(10));
    start.elapsed()
}
