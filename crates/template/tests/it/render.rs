//! Properties of the render loop that do not depend on a format. Properties of every format are in
//! [`crate::formats`].

use std::time::Duration;

use quillet_core::{BoxFuture, Map, Value};
use quillet_template::{
    CallArguments, CallError, CompileOptions, ErrorKind, FunctionHost, LimitKind, Render,
    RenderLimits, TemplateFactory, TemplateSource, render,
};

use crate::formats::tools::RecordedCalls;

fn generous() -> RenderLimits {
    RenderLimits {
        time: Duration::from_secs(20),
        ..RenderLimits::default()
    }
}

/// An idempotent `echo`, and other functions that are not idempotent.
struct Mixed(RecordedCalls);

impl FunctionHost for Mixed {
    fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }
    fn idempotent(&self, name: &str) -> bool {
        name == "echo"
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        self.0.call(name, arguments)
    }
}

#[tokio::test]
async fn shared_calls_do_not_disturb_the_order_of_the_others() {
    let text = "{{ echo('a') }}{{ plus('1') }}{{ echo('b') }}{{ plus('2') }}{% if echo('a') %}\
                {{ plus(plus('3')) }}{{ echo('c') }}{{ plus('1') }}{% endif %}{{ plus('4') }}{{ echo('c') }}";
    let mixed = Mixed(RecordedCalls::default());
    let sources = [TemplateSource::new("main", text)];
    let template = TemplateFactory::standard()
        .compile("jinja", &sources, &CompileOptions::default())
        .unwrap();
    let rendered = render(&Render {
        template: &*template,
        entries: &["main"],
        variables: &Map::default(),
        functions: &mixed,
        limits: &generous(),
    })
    .await
    .unwrap();
    assert_eq!(rendered.text(0), "a1+b2+3++c1+4+c");
    let count = |name: &str| mixed.0.calls().iter().filter(|call| *call == name).count();
    assert_eq!((count("echo"), count("plus")), (3, 6));
}

#[tokio::test]
async fn entries_share_calls_passes_and_the_limit_on_output() {
    let sources = [
        TemplateSource::new("system", "{{ echo('a') }}"),
        TemplateSource::new("user", "{{ echo('a') }}{{ plus(echo('b')) }}"),
    ];
    let template = TemplateFactory::standard()
        .compile("jinja", &sources, &CompileOptions::default())
        .unwrap();
    let noted = RecordedCalls {
        idempotent: true,
        ..RecordedCalls::default()
    };
    let variables = Map::default();
    let request = |limits| Render {
        template: &*template,
        entries: &["system", "user"],
        variables: &variables,
        functions: &noted,
        limits,
    };
    let limits = generous();
    let rendered = render(&request(&limits)).await.unwrap();
    assert_eq!((rendered.passes, noted.calls().len()), (3, 3));
    assert_eq!(rendered.into_texts(), ["a", "ab+"]);
    let limits = RenderLimits {
        output_bytes: 2,
        ..limits
    };
    let error = render(&request(&limits)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(LimitKind::OutputBytes));
}
