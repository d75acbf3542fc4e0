//! Regression tests for differences that the comparison of random templates with real Go
//! (`scripts/differential-go`) has found.

use futures_util::FutureExt;
use quillet_core::json;
use quillet_template::format::go::GoFormat;
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFormat, TemplateSource, render,
};

fn outcome(template: &str) -> String {
    let data = json::parse(r#"{"s":"hello","n":1,"nul":null}"#).expect("the data is JSON");
    let sources = [TemplateSource::new("t", template)];
    let compiled = GoFormat::new().compile(&sources, &CompileOptions::default());
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => return error.message,
    };
    let rendered = render(&Render {
        template: compiled.as_ref(),
        entries: &["t"],
        variables: data.as_map().expect("the data is an object"),
        functions: &NoFunctions,
        limits: &RenderLimits::default(),
    })
    .now_or_never();
    match rendered.expect("there is nothing to wait for") {
        Ok(rendered) => rendered.text(0),
        Err(error) => error.reason,
    }
}

#[test]
fn slice_takes_no_number_out_of_an_interface() {
    let refused = "error calling slice: cannot index slice/array with type interface {}";
    let nil = "error calling slice: cannot index slice/array with nil";
    let cases = [
        ("{{slice .s .n}}", refused),
        ("{{slice .s .nul}}", refused),
        ("{{slice .s .missing}}", nil),
        ("{{slice .s nil}}", nil),
        ("{{slice .s (.n)}}", "ello"),
        ("{{$n := .n}}{{slice .s $n}}", "ello"),
        ("{{.n | slice .s}}", "ello"),
    ];
    for (template, expected) in cases {
        assert_eq!(outcome(template), expected, "{template}");
    }
}
