//! Properties of the render loop, the same in every format.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_core::{BoxFuture, Map, Value};
use quillet_template::{
    Arguments, CallError, CompileOptions, Functions, Limits, Render, RenderError, Rendered, Source,
    Template, TemplateFactory, render,
};
use tokio::sync::Barrier;

use crate::custom::Custom;

/// One template for each property, in one format.
struct Dialect {
    format: &'static str,
    /// Prints ten independent calls of `meet`.
    ten: &'static str,
}

const DIALECTS: &[Dialect] = &[Dialect {
    format: "custom",
    ten: "(meet 0)(meet 1)(meet 2)(meet 3)(meet 4)(meet 5)(meet 6)(meet 7)(meet 8)(meet 9)",
}];

fn factory() -> TemplateFactory {
    TemplateFactory::new().with(Custom)
}

fn compile(format: &str, text: &str) -> Arc<dyn Template> {
    let source = Source::new("main", text);
    let compiled = factory().compile(format, &[source], &CompileOptions::default());
    compiled.unwrap_or_else(|error| panic!("{format}: {text}: {error}"))
}

async fn run(
    template: &dyn Template,
    functions: &dyn Functions,
    limits: &Limits,
) -> Result<Rendered, Box<RenderError>> {
    let variables = Map::default();
    render(&Render {
        template,
        entries: &["main"],
        variables: &variables,
        functions,
        limits,
    })
    .await
}

fn generous() -> Limits {
    Limits {
        time: std::time::Duration::from_secs(20),
        ..Limits::default()
    }
}

/// Lets calls of `meet` go only when `all` of them wait at the same time.
struct Meeting {
    gate: Barrier,
    calls: AtomicUsize,
}

impl Functions for Meeting {
    fn contains(&self, name: &str) -> bool {
        name == "meet"
    }
    fn names(&self) -> Vec<&str> {
        vec!["meet"]
    }
    fn call<'a>(
        &'a self,
        _: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            self.gate.wait().await;
            Ok(arguments.positional.into_iter().next().unwrap_or_default())
        })
    }
}

#[tokio::test]
async fn independent_calls_run_at_the_same_time() {
    for dialect in DIALECTS {
        let meeting = Meeting {
            gate: Barrier::new(10),
            calls: AtomicUsize::new(0),
        };
        let template = compile(dialect.format, dialect.ten);
        let rendered = run(&*template, &meeting, &generous()).await.unwrap();
        assert_eq!(rendered.text(0), "0123456789", "{}", dialect.format);
        assert_eq!(rendered.passes, 2, "{}", dialect.format);
        assert_eq!(meeting.calls.load(Ordering::SeqCst), 10);
    }
}
