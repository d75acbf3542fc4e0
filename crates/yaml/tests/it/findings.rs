//! What is wrong, where, and how to fix it.

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
                "t:1:5: not YAML: mapping values are not allowed in this context (put a text that holds `: ` in quotes)",
            ],
        ),
        (
            "user: [[@file(x)]]",
            &[
                "t:1:7: a text that begins with `[[` needs quotes (write \"[[…\", or '[[…' if it holds double quotes)",
            ],
        ),
        (
            "user: [[A]] and more",
            &[
                "t:1:7: a text that begins with `[[` needs quotes (write \"[[…\", or '[[…' if it holds double quotes)",
            ],
        ),
        (
            "user: {{x}}",
            &[
                "t:1:7: a text that begins with `{{` needs quotes (write \"{{…\", or '{{…' if it holds double quotes)",
            ],
        ),
        (
            "a: 1\nuser: {{x}} {{y}}\nb: 2",
            &[
                "t:2:7: a text that begins with `{{` needs quotes (write \"{{…\", or '{{…' if it holds double quotes)",
            ],
        ),
        (
            "- {% if a %}x{% endif %}",
            &[
                "t:1:3: a text that begins with `{%` needs quotes (write \"{%…\", or '{%…' if it holds double quotes)",
            ],
        ),
        (
            "user: @dobby hi",
            &["t:1:7: a text cannot begin with `@` (put the text in quotes)"],
        ),
        (
            "user: `x`",
            &["t:1:7: a text cannot begin with ``` (put the text in quotes)"],
        ),
        (
            "user: %x",
            &["t:1:7: a text cannot begin with `%` (put the text in quotes)"],
        ),
        (
            "a:\n\tb: 1",
            &[
                "t:2:2: not YAML: tabs disallowed within this context (block indentation) (indent with spaces, not with tabs)",
            ],
        ),
        (
            "a: \"x",
            &["t:1:4: the quote that opens here is never closed"],
        ),
        (
            "a: 'x",
            &["t:1:4: the quote that opens here is never closed"],
        ),
        (
            "a: [1, 2",
            &[
                "t:1:4: not YAML: unclosed bracket '[' (close it, or put a text that begins with a bracket in quotes)",
            ],
        ),
        (
            "a: {b: 1",
            &[
                "t:1:4: not YAML: unclosed bracket '{' (close it, or put a text that begins with a bracket in quotes)",
            ],
        ),
        (
            "a: 'x' y",
            &[
                "t:1:8: not YAML: invalid trailing content after single-quoted scalar (put the whole text in quotes, not a part of it)",
            ],
        ),
        (
            "a: \"\\d\"",
            &[
                "t:1:4: not YAML: while parsing a quoted scalar, found unknown escape character (write `\\\\` for a backslash, or take single quotes)",
            ],
        ),
        (
            "a: 1\nb\nc: 2",
            &[
                "t:2:1: not YAML: simple key expected ':' (every line of a mapping is `key: value`; indent a text that goes on)",
            ],
        ),
        (
            "a: 1\n b: 2",
            &[
                "t:2:3: not YAML: mapping values are not allowed in this context (put a text that holds `: ` in quotes)",
            ],
        ),
        (
            "a: 1\na: 2",
            &["t:2:1: the key `a` stands twice: first on line 1"],
        ),
        (
            "a: *x",
            &[
                "t:1:4: no anchor `&x` stands before this (put a text that begins with `*` in quotes)",
            ],
        ),
        (
            "&a [*a]",
            &["t:1:5: an anchor cannot hold itself (put a text that begins with `*` in quotes)"],
        ),
        (
            "<<: 1",
            &["t:1:5: `<<` takes an object, or a list of objects, to merge in"],
        ),
        (
            "[1]: 2",
            &[
                "t:1:1: a key must be a name, not a list (put a key that begins with a bracket in quotes)",
            ],
        ),
        ("a: !!int x", &["t:1:10: this is not of the type `!!int`"]),
        (
            "a: !!python/name:os.system x",
            &[
                "t:1:4: the tag `!!python/name:os.system` is not known here (put a text that begins with `!` in quotes)",
            ],
        ),
        (
            "a: !<tag:x> x",
            &[
                "t:1:4: the tag `!<tag:x>` is not known here (put a text that begins with `!` in quotes)",
            ],
        ),
        (
            "a: 1\n---\nb: 2",
            &[
                "t:2:1: a second document begins here (one text is one document: take `---` or `...` away)",
            ],
        ),
        (
            "a: |x\n  y",
            &[
                "t:1:4: not YAML: while scanning a block scalar, did not find expected comment or line break (put a text that begins with `|` or `>` in quotes)",
            ],
        ),
        (
            "user: line\nmore",
            &[
                "t:2:1: not YAML: simple key expected ':' (every line of a mapping is `key: value`; indent a text that goes on)",
            ],
        ),
        (
            "a: \"x\ny\"",
            &[
                "t:2:1: not YAML: invalid indentation in multiline quoted scalar (indent the lines of a quoted text deeper than its key)",
            ],
        ),
        (
            "a: -",
            &[
                "t:1:4: not YAML: block sequence entries are not allowed in this context (put a text that begins with this in quotes)",
            ],
        ),
        (
            "a: ]",
            &["t:1:4: not YAML: misplaced bracket (put a text that begins with this in quotes)"],
        ),
        (
            "a: }",
            &["t:1:4: not YAML: misplaced bracket (put a text that begins with this in quotes)"],
        ),
        (
            "%foo",
            &["t:1:1: a text cannot begin with `%` (put the text in quotes)"],
        ),
    ];
    for (text, expected) in table {
        assert_eq!(errors(text), *expected, "{text}");
    }
}
