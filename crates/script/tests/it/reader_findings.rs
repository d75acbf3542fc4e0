//! Errors in scripts: problem, location and fix.

use crate::reader::{read_text, show};

#[test]
fn every_error_has_a_place_and_a_mend() {
    let table: &[(&str, &[&str])] = &[
        (
            "---\ninput: [a]\nuser: hi",
            &[
                "s:1:1: possibly unclosed front matter: these lines are read as messages (close it with the line `---`)",
            ],
        ),
        (
            "user: [[@file(x)]]",
            &[
                "s:1:7: a string that begins with `[[` needs quotes (write \"[[…\", or '[[…' if it contains double quotes)",
            ],
        ), //
        (
            "user: [[A]]",
            &["s:1:7: a string that begins with `[[` needs quotes (write \"[[…]]\")"],
        ), //
        (
            "[[A]]",
            &["s:1:1: a string that begins with `[[` needs quotes (write \"[[…]]\")"],
        ), //
        (
            "user: {{x}}\nuser: ok",
            &[
                "s:1:7: a string that begins with `{{` needs quotes (write \"{{…\", or '{{…' if it contains double quotes)",
            ],
        ),
        (
            "a\nuser: b: c\nd\nuser: @x",
            &[
                "s:2:8: not YAML: mapping values are not allowed in this context (quote a string that contains `: `)",
                "s:4:7: a string without quotes cannot begin with `@` (quote the string)",
            ],
        ),
        (
            "@dobby hi",
            &["s:1:1: a string without quotes cannot begin with `@` (quote the string)"],
        ), //
        (
            "- a: 1\n  b: 2",
            &[
                "s:2:3: `a` and `b` are in the same list item, which has neither a directive nor a `role` (start each message with its role at the left edge, or with `- `)",
            ],
        ), //
        (
            "- user: a\n  templateFromat: golang",
            &[
                "s:2:3: `user` and `templateFromat` are in the same list item, which has neither a directive nor a `role` (did you mean `templateFormat`?)",
            ],
        ), //
        (
            "- role: [1]\n  content: a",
            &["s:1:9: a role must be a name, not a list"],
        ), //
        (
            "- name: a\n  private: true",
            &["s:1:3: this message has no role and no content"],
        ), //
        ("{}", &["s:1:1: invalid instruction: empty object"]), //
        (
            "- $a: 1\n  $b: 2",
            &["s:2:3: `$b` and `$a` are in the same list item (start each instruction with `- `)"],
        ),
        (
            "$: 1",
            &["s:1:1: unknown directive `$` (write `$name` or `$name(arguments)`)"],
        ), //
        (
            "$a b: 1",
            &["s:1:1: unknown directive `$a b` (write `$name` or `$name(arguments)`)"],
        ), //
        (
            "$print(a: b",
            &["s:1:1: YAML reads part of this call as a key (quote the whole call)"],
        ), //
        (
            "$if: x\n  then:\n    - $print(\"a # b\")",
            &["s:3:7: unclosed call (quote the whole call: YAML ends a string at ` #`)"],
        ),
        (
            "-> ",
            &[
                "s:1:3: missing name of a link in the chain (write a chain as `-> script(name=value) -> $directive`)",
            ],
        ), //
        (
            "-> a b",
            &[
                "s:1:4: the name of a script cannot contain spaces (write a chain as `-> script(name=value) -> $directive`)",
            ],
        ), //
        (
            "-> a -> ",
            &[
                "s:1:8: missing name of a link in the chain (write a chain as `-> script(name=value) -> $directive`)",
            ],
        ), //
        (
            "-> $a b",
            &[
                "s:1:4: invalid link in the chain: expected a call (write a chain as `-> script(name=value) -> $directive`)",
            ],
        ), //
        (
            "-> a(x",
            &[
                "s:1:4: invalid link in the chain: expected a call (write a chain as `-> script(name=value) -> $directive`)",
            ],
        ), //
        (
            "!fn |-\n  (x) { }",
            &["s:1:1: missing name of the function (write `name(arguments) { … }`)"],
        ), //
        (
            "!fn",
            &[
                "s:1:4: missing code of the function (write `!fn |-` and the code below it, indented)",
            ],
        ), //
        (
            "!fn {a: 1}",
            &[
                "s:1:5: a function must be a string of code, not an object (write `!fn |-` and the code below it)",
            ],
        ), //
        (
            "!foo x",
            &["s:1:6: unknown tag `!foo` (use `!fn` or `!fn#` for functions)"],
        ), //
        (
            "!fn a() {}\n!fn a() {}",
            &["s:2:1: function `a` is declared twice: first on line 1"],
        ), //
        (
            "---\n- a\n---\n",
            &["s:2:1: front matter must be `key: value` lines, not a list"],
        ), //
        (
            "---\na: 1\na: 2\n---\n",
            &["s:3:1: duplicate key `a`: first on line 2"],
        ), //
        (
            "---\na: [\n---\nuser: x",
            &[
                "s:2:4: not YAML: unclosed bracket '[' (close it, or quote a string that begins with a bracket)",
            ],
        ),
        (
            "user: \"x\ny\"",
            &[
                "s:2:1: not YAML: invalid indentation in multiline quoted scalar (indent the lines of a quoted string more than its key)",
            ],
        ),
        (
            "user:\n\tx: 1",
            &[
                "s:2:2: not YAML: tabs disallowed within this context (block indentation) (indent with spaces, not with tabs)",
            ],
        ), //
        (
            "...",
            &["s:1:1: YAML reads this as the end of the text (put it in quotes)"],
        ), //
        (
            "> a",
            &[
                "s:1:1: not YAML: while scanning a block scalar, did not find expected comment or line break (quote a string that begins with `|` or `>`)",
            ],
        ), //
        (
            "| a",
            &[
                "s:1:1: not YAML: while scanning a block scalar, did not find expected comment or line break (quote a string that begins with `|` or `>`)",
            ],
        ), //
        (
            "%a",
            &["s:1:1: a string without quotes cannot begin with `%` (quote the string)"],
        ), //
        (
            "user: &a x\nuser: *b",
            &["s:2:7: undefined anchor `&b` (quote a string that begins with `*`)"],
        ),
        (
            "$for: 3\n  as: x\n do: y",
            &[
                "s:3:4: not YAML: mapping values are not allowed in this context (quote a string that contains `: `)",
            ],
        ), //
    ];
    for (text, expected) in table {
        let read = read_text(text);
        let found: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn what_is_right_beside_an_error_is_still_read() {
    let read = read_text("a\nuser: b: c\n-> \n$print(x)\n- [[A]]\nuser: d\n");
    assert_eq!(show(&read.script.body), r#" "a"; $print(x); user "d""#);
    let lines: Vec<usize> = read
        .diagnostics
        .iter()
        .map(|found| found.position.unwrap().line)
        .collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn at_most_a_hundred_findings_are_kept() {
    let read = read_text(&"user: b: c\n".repeat(10_000));
    assert_eq!(read.diagnostics.len(), 100);
}

#[test]
fn a_script_that_holds_too_much_is_refused_at_the_place() {
    let read = read_text(&"- a\n".repeat(200_001));
    assert_eq!(read.diagnostics.len(), 1);
    let found = read.diagnostics[0].to_string();
    assert!(found.contains("more than 200000 values"), "{found}");
}
