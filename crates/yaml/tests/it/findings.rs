//! Tests that diagnostics include the problem, its location and a fix.

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
    let table: &[(&str, &[&str])] = &[
        (
            "a: b: c",
            &[
                "t:1:5: not YAML: mapping values are not allowed in this context (quote a string that contains `: `)",
            ],
        ),
        (
            "user: [[@file(x)]]",
            &[
                "t:1:7: a string that begins with `[[` needs quotes (write \"[[…\", or '[[…' if it contains double quotes)",
            ],
        ),
        (
            "user: [[A]] and more",
            &[
                "t:1:7: a string that begins with `[[` needs quotes (write \"[[…\", or '[[…' if it contains double quotes)",
            ],
        ),
        (
            "user: {{x}}",
            &[
                "t:1:7: a string that begins with `{{` needs quotes (write \"{{…\", or '{{…' if it contains double quotes)",
            ],
        ),
        (
            "a: 1\nuser: {{x}} {{y}}\nb: 2",
            &[
                "t:2:7: a string that begins with `{{` needs quotes (write \"{{…\", or '{{…' if it contains double quotes)",
            ],
        ),
        (
            "- {% if a %}x{% endif %}",
            &[
                "t:1:3: a string that begins with `{%` needs quotes (write \"{%…\", or '{%…' if it contains double quotes)",
            ],
        ),
        (
            "user: @dobby hi",
            &["t:1:7: a string without quotes cannot begin with `@` (quote the string)"],
        ),
        (
            "user: `x`",
            &["t:1:7: a string without quotes cannot begin with ``` (quote the string)"],
        ),
        (
            "user: %x",
            &["t:1:7: a string without quotes cannot begin with `%` (quote the string)"],
        ),
        (
            "a:\n\tb: 1",
            &[
                "t:2:2: not YAML: tabs disallowed within this context (block indentation) (indent with spaces, not with tabs)",
            ],
        ),
        ("a: \"x", &["t:1:4: unclosed quote"]),
        ("a: 'x", &["t:1:4: unclosed quote"]),
        (
            "a: [1, 2",
            &[
                "t:1:4: not YAML: unclosed bracket '[' (close it, or quote a string that begins with a bracket)",
            ],
        ),
        (
            "a: {b: 1",
            &[
                "t:1:4: not YAML: unclosed bracket '{' (close it, or quote a string that begins with a bracket)",
            ],
        ),
        (
            "a: 'x' y",
            &[
                "t:1:8: not YAML: invalid trailing content after single-quoted scalar (quote the entire string, not only part of it)",
            ],
        ),
        (
            "a: \"\\d\"",
            &[
                "t:1:4: not YAML: while parsing a quoted scalar, found unknown escape character (write `\\\\` for a backslash, or use single quotes)",
            ],
        ),
        (
            "a: 1\nb\nc: 2",
            &[
                "t:2:1: not YAML: simple key expected ':' (every line of a mapping is `key: value`; indent continued text)",
            ],
        ),
        (
            "a: 1\n b: 2",
            &[
                "t:2:3: not YAML: mapping values are not allowed in this context (quote a string that contains `: `)",
            ],
        ),
        ("a: 1\na: 2", &["t:2:1: duplicate key `a`: first on line 1"]),
        (
            "a: *x",
            &["t:1:4: undefined anchor `&x` (quote a string that begins with `*`)"],
        ),
        (
            "&a [*a]",
            &["t:1:5: an anchor cannot contain itself (quote a string that begins with `*`)"],
        ),
        (
            "<<: 1",
            &["t:1:5: `<<` must be an object or a list of objects"],
        ),
        (
            "[1]: 2",
            &["t:1:1: a key must be a name, not a list (quote a key that begins with a bracket)"],
        ),
        (
            "a: !!int x",
            &["t:1:10: invalid value for the type `!!int`"],
        ),
        (
            "a: !!python/name:os.system x",
            &["t:1:4: unknown tag `!!python/name:os.system` (quote a string that begins with `!`)"],
        ),
        (
            "a: !<tag:x> x",
            &["t:1:4: unknown tag `!<tag:x>` (quote a string that begins with `!`)"],
        ),
        (
            "a: 1\n---\nb: 2",
            &[
                "t:2:1: unexpected second document (only one document is allowed: remove `---` or `...`)",
            ],
        ),
        (
            "a: |x\n  y",
            &[
                "t:1:4: not YAML: while scanning a block scalar, did not find expected comment or line break (quote a string that begins with `|` or `>`)",
            ],
        ),
        (
            "user: line\nmore",
            &[
                "t:2:1: not YAML: simple key expected ':' (every line of a mapping is `key: value`; indent continued text)",
            ],
        ),
        (
            "a: \"x\ny\"",
            &[
                "t:2:1: not YAML: invalid indentation in multiline quoted scalar (indent the lines of a quoted string more than its key)",
            ],
        ),
        (
            "a: -",
            &[
                "t:1:4: not YAML: block sequence entries are not allowed in this context (quote a string that begins with this)",
            ],
        ),
        (
            "a: ]",
            &["t:1:4: not YAML: misplaced bracket (quote a string that begins with this)"],
        ),
        (
            "a: }",
            &["t:1:4: not YAML: misplaced bracket (quote a string that begins with this)"],
        ),
        (
            "%foo",
            &["t:1:1: a string without quotes cannot begin with `%` (quote the string)"],
        ),
    ];
    for (text, expected) in table {
        assert_eq!(errors(text), *expected, "{text}");
    }
}
