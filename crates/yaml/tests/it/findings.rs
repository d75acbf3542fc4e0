//! What is wrong, where, and how to mend it.

use quillet_core::Span;
use quillet_yaml::{Options, Tags, parse};

fn errors(text: &str) -> Vec<String> {
    let options = Options {
        tags: Tags::Keep,
        ..Options::default()
    };
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let (_, findings) = parse("t", text, whole, &options);
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn findings_have_a_place_and_a_mend() {
    let table: &[(&str, &str)] = &[
        ("a: b: c", ""),
        ("user: [[@file(x)]]", ""),
        ("user: [[A]] and more", ""),
        ("user: {{x}}", ""),
        ("a: 1\nuser: {{x}} {{y}}\nb: 2", ""),
        ("- {% if a %}x{% endif %}", ""),
        ("user: @dobby hi", ""),
        ("user: `x`", ""),
        ("user: %x", ""),
        ("a:\n\tb: 1", ""),
        ("a: \"x", ""),
        ("a: 'x", ""),
        ("a: [1, 2", ""),
        ("a: {b: 1", ""),
        ("a: 'x' y", ""),
        ("a: \"\\d\"", ""),
        ("a: 1\nb\nc: 2", ""),
        ("a: 1\n b: 2", ""),
        ("a: 1\na: 2", ""),
        ("a: *x", ""),
        ("&a [*a]", ""),
        ("<<: 1", ""),
        ("[1]: 2", ""),
        ("a: !!int x", ""),
        ("a: !!python/name:os.system x", ""),
        ("a: !<tag:x> x", ""),
        ("a: 1\n---\nb: 2", ""),
        ("a: |x\n  y", ""),
        ("$print(\"a: b\")", ""),
        ("user: line\nmore", ""),
        ("a: \"x\ny\"", ""),
        ("a: -", ""),
        ("a: ]", ""),
        ("a: }", ""),
        ("%foo", ""),
    ];
    for (text, expected) in table {
        println!("({text:?}, {:?}),", errors(text));
        let _ = expected;
    }
}
