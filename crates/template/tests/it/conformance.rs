//! Runs the published vectors and checks the required pass rates. `conformance/known/` lists the
//! remaining differences by id, with a reason for each.

use std::path::Path;

use crate::vectors;
use crate::vectors::report::{Outcome, Report};

fn report(file: &str) -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let report = vectors::run(&folder.join(file)).expect("the vectors are there");
    // The differences are printed before an assertion below can fail.
    report.print_differences();
    report.print_summary();
    assert_eq!(report.stale(), [""; 0], "listed as known differences");
    assert_eq!(
        report.unexplained(),
        [""; 0],
        "neither passed nor explained"
    );
    report
}

fn at_least(percent: f64, bar: f64, what: &str) {
    assert!(percent >= bar, "{what}: {percent:.2} %, the bar is {bar} %");
}

#[test]
fn go_templates_give_what_go_gives() {
    let report = report("go-template.json");
    let tier = |name: &'static str| report.score(move |outcome: &Outcome| outcome.tier == name);
    at_least(tier("core").class.percent(), 100.0, "core");
    at_least(tier("core").reason.percent(), 98.0, "reasons in core");
    at_least(tier("core").message.percent(), 95.0, "messages in core");
    at_least(tier("format").class.percent(), 99.0, "format");
    at_least(tier("exotic").class.percent(), 80.0, "exotic");
    // The render of these templates only has to end on the stack of a test thread.
    assert!(tier("robust").class.all > 0);
}

#[test]
fn sprig_functions_give_what_sprig_gives() {
    let report = report("go-template-sprig.json");
    let score = report.score(|outcome| outcome.ranked).class;
    assert!(score.all > 300, "{score}");
    at_least(score.percent(), 97.0, "functions that prompts use");
}

#[test]
fn sprig_functions_give_what_the_library_of_go_gives() {
    let score = report("go-sprig-library.json").score(|_| true);
    at_least(
        score.message.percent(),
        100.0,
        "output, or the full message",
    );
}

#[test]
fn jinja_templates_give_what_jinja_gives() {
    let score = report("jinja2.json").score(|_| true).class;
    at_least(score.percent(), 98.0, "jinja2");
}

#[test]
fn jinja_templates_that_once_differed_give_what_jinja_gives() {
    let score = report("jinja2-differential.json").score(|_| true).class;
    assert!(score.all > 150, "{score}");
    at_least(score.percent(), 90.0, "found by random templates");
}

#[test]
fn jinja_templates_of_semantic_kernel_give_what_it_gives() {
    let score = report("sk-jinja2.json").score(|_| true).class;
    at_least(score.percent(), 97.0, "sk-jinja2");
}

#[test]
fn format_strings_give_what_python_gives() {
    let report = report("f-string.json");
    let rendered = report.score(|outcome| outcome.tier != "langchain").class;
    at_least(rendered.percent(), 99.0, "f-string");
    let verdicts = report.score(|outcome| outcome.tier == "langchain").class;
    assert_eq!(verdicts.all, rendered.all);
    at_least(verdicts.percent(), 100.0, "LangChain's verdicts");
}

#[test]
fn semantic_kernel_templates_give_what_semantic_kernel_gives() {
    let report = report("semantic-kernel.json");
    let python = report.score(|outcome| outcome.tier == "python").class;
    let dot_net = report.score(|outcome| outcome.tier != "python").class;
    assert!(
        python.all == 133 && dot_net.all == 133,
        "{python} {dot_net}"
    );
    at_least(dot_net.percent(), 99.0, "what .NET gives");
    at_least(python.percent(), 99.0, "what Python gives");
}

#[test]
fn chat_prompts_become_what_semantic_kernel_makes_of_them() {
    let score = report("sk-chat-prompt.json").score(|_| true).class;
    assert_eq!(score.all, 60, "both languages");
    at_least(score.percent(), 100.0, "chat prompts");
}

#[test]
fn handlebars_templates_give_what_handlebars_js_gives() {
    let score = report("handlebars.json").score(|_| true).class;
    at_least(score.percent(), 99.0, "handlebars");
}

#[test]
fn handlebars_templates_of_semantic_kernel_give_what_it_gives() {
    let score = report("sk-handlebars.json").score(|_| true).class;
    at_least(score.percent(), 97.0, "sk-handlebars");
}

#[test]
fn mustache_templates_give_what_mustache_js_gives() {
    let score = report("mustache.json").score(|_| true).class;
    at_least(score.percent(), 99.0, "mustache");
}

#[test]
fn mustache_gives_what_its_specification_says() {
    let Some(report) = of_others("mustache-spec.json") else {
        return;
    };
    let score = report.score(|_| true).class;
    assert_eq!((score.right, score.all), (136, 136));
}

#[test]
fn liquid_templates_give_what_ruby_gives() {
    let score = report("liquid.json").score(|_| true).class;
    assert!(score.all >= 150, "{score}");
    at_least(score.percent(), 96.0, "liquid");
}

#[test]
fn liquid_gives_what_the_shared_vectors_say() {
    let Some(report) = of_others("liquid.json") else {
        return;
    };
    let score = report.score(|_| true).class;
    assert_eq!((score.right, score.all), (132, 132));
}

/// Runs third-party vectors, which are stored outside the project.
fn of_others(file: &str) -> Option<Report> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let path = folder.join(file);
    if !path.exists() {
        println!("{file} is not there, and left out");
        return None;
    }
    let report = vectors::run(&path).expect("they can be run");
    report.print_differences();
    Some(report)
}
