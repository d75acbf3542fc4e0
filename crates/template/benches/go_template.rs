//! CPU time of the `go` format on four typical prompts, and the time of ten
//! tool calls in one template.
//!
//! `benches/run` compares the times with those of real Go and prints the ratios. Each line is `task
//! TAB prompt TAB nanoseconds`.

mod measure;
mod prompts;

use std::time::{Duration, Instant};

use quillet_core::{BoxFuture, Map, Value};
use quillet_template::format::go::GoFormat;
use quillet_template::{
    CallArguments, CallError, CompileOptions, FunctionHost, Render, RenderLimits, TemplateFormat,
    TemplateSource, render,
};

fn main() {
    prompts::each(|what, name, work| {
        let [figure] = measure::nanoseconds([work]);
        println!("{what}\t{name}\t{figure}");
    });
    println!("calls\tten of 50 ms\t{}", calls(10, false).as_nanos());
    println!("calls\tten of 50 ms, read\t{}", calls(10, true).as_nanos());
    println!(
        "calls\tfifty of 50 ms, read\t{}",
        calls(50, true).as_nanos()
    );
}

/// A tool that takes 50 ms.
struct Slow;

impl FunctionHost for Slow {
    fn contains(&self, name: &str) -> bool {
        name == "slow"
    }
    fn names(&self) -> Vec<&str> {
        vec!["slow"]
    }
    fn call<'a>(&'a self, _: &'a str, _: CallArguments) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let fields: Map = [("result", Value::from("done"))].into_iter().collect();
            Ok(fields.with_display_key("result").into())
        })
    }
}

/// Returns the wall time of a template with `count` independent calls. With `read`, the template
/// reads a field of each result instead of printing the result.
fn calls(count: usize, read: bool) -> Duration {
    let one = |number: usize| {
        if read {
            format!("{{{{(slow {number}).result}}}}\n")
        } else {
            format!("{{{{slow {number}}}}}\n")
        }
    };
    let text: String = (0..count).map(one).collect();
    let sources = [TemplateSource::new("t", &text)];
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
        limits: &RenderLimits::default(),
    }));
    assert_eq!(
        rendered.expect("it renders").text(0),
        "done\n".repeat(count)
    );
    start.elapsed()
}
