//! Conversions of short examples.

use quillet_template::convert::{ConvertOptions, Language, VariableType};

use super::converted;
use Language::{Dotprompt, Go, Handlebars, Jinja, JinjaPlain, Mustache};

fn kinds(declared: &[(&str, &str)]) -> ConvertOptions {
    let mut shapes = VariableType::Unknown;
    for (path, kind) in declared {
        shapes.declare(path, VariableType::of_name(kind).expect("it is a kind"));
    }
    ConvertOptions {
        shapes,
        assume_text: true,
        ..ConvertOptions::default()
    }
}

#[test]
fn what_has_a_counterpart() {
    let cases = [
        (Go, Jinja, "Hello {{.name}}!", "Hello {{ name }}!"),
        (
            Go,
            Jinja,
            "{{if .a}}x{{else if not .b}}y{{else}}z{{end}}",
            "{% if a %}x{% elif b %}z{% else %}y{% endif %}",
        ),
        (
            Go,
            Jinja,
            "{{range $i, $x := .l}}{{$x.t}}{{end}}",
            "{% for x in l %}{{ x.t }}{% endfor %}",
        ),
        (
            Jinja,
            Go,
            "{% for x in l %}{{ loop.index0 }}{{ x }}{% if not loop.first %}, {% endif %}{% endfor %}",
            "{{range $i, $x := .l}}{{$i}}{{.}}{{if $i}}, {{end}}{{end}}",
        ),
        (
            Go,
            Dotprompt,
            "{{range $i, $x := .l}}{{if not $i}}a{{end}}{{range .m}}{{$i}}{{end}}{{end}}",
            "{{#each l}}{{#if @first}}a{{/if}}{{#each m}}{{@../index}}{{/each}}{{/each}}",
        ),
        (
            Handlebars,
            Jinja,
            "{{#each l}}{{@first}}{{#unless @last}}, {{/unless}}{{/each}}",
            "{% for item in l %}{% if loop.first %}true{% else %}false{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}",
        ),
        (
            Jinja,
            JinjaPlain,
            "{% for x in l %}{{ loop.index }}{% endfor %}",
            "{% for x in l %}{{ loop.index }}{% endfor %}",
        ),
        (
            Jinja,
            Go,
            "{% if x == 'a' %}1{% elif 'b' != x %}2{% else %}3{% endif %}",
            "{{if eq .x \"a\"}}1{{else if eq .x \"b\"}}3{{else}}2{{end}}",
        ),
        (
            Go,
            Dotprompt,
            "{{if ne .x \"a\"}}1{{else if not (eq \"b\" .x)}}2{{end}}",
            "{{#ifEquals x \"a\"}}{{#unlessEquals x \"b\"}}2{{/unlessEquals}}{{else}}1{{/ifEquals}}",
        ),
        (
            Dotprompt,
            Jinja,
            "{{#ifEquals x \"a\"}}1{{else}}2{{/ifEquals}}",
            "{% if x == \"a\" %}1{% else %}2{% endif %}",
        ),
        (
            Go,
            Jinja,
            "{{with .user}}{{.name}}{{$.x}}{{end}}",
            "{% if user %}{{ user.name }}{{ x }}{% endif %}",
        ),
        (Go, Jinja, "{{/* why */ -}}  a", "{# why #}a"),
        (Go, Jinja, "{{$u := .user}}{{$u.name}}", "{{ user.name }}"),
        (
            Go,
            Jinja,
            "{{.x | translate \"de\"}}",
            "{{ translate(\"de\", x) }}",
        ),
        (Go, JinjaPlain, "a\n", "a\n\n"),
        (
            Jinja,
            Go,
            "{% for x in l %}\n  {{ x }}{{ y }}\n{% endfor %}\n",
            "{{range .l}}  {{.}}{{$.y}}\n{{end}}",
        ),
        (
            Jinja,
            Go,
            "{% for a in l %}{% for b in a.m %}{{ a.n }}{{ b }}{% endfor %}{% endfor %}",
            "{{range $a := .l}}{{range .m}}{{$a.n}}{{.}}{{end}}{{end}}",
        ),
        (
            Jinja,
            Go,
            "{{ '{{' }} {% raw %}{{ x }}{% endraw %}",
            "{{\"{{\"}} {{\"{{\"}} x }}",
        ),
        (Jinja, Go, "{{ f(x, 'a', 1) }}", "{{f .x \"a\" 1}}"),
        (
            Jinja,
            JinjaPlain,
            "{% if x %}\na\n{% endif %}\n",
            "{% if x %}a\n{% endif %}",
        ),
        (
            JinjaPlain,
            Jinja,
            "{% if x %}\n a\n  {% endif %}b",
            "{% if x %}\n\n a\n  {%+ endif %}b",
        ),
        (
            Go,
            Jinja,
            "{{range .items}}{{.items}}{{end}}",
            "{% for item in items %}{{ item[\"items\"] }}{% endfor %}",
        ),
    ];
    for (from, to, text, expected) in cases {
        let got = converted(text, from, to, &kinds(&[]));
        assert_eq!(got, expected, "{} to {}: {text}", from.name(), to.name());
    }
}

#[test]
fn what_has_none_is_refused_with_its_place_all_at_once() {
    let cases = [
        (
            Jinja,
            Go,
            "{{ x | upper }}\n{% set a = 1 %}{{ a[0] }} {{ loop }}",
            "! t:1:4: the filter upper has no exact counterpart in other formats\n\
             ! t:2:1: the tag set has no exact counterpart in other formats\n\
             ! t:2:19: an index has no exact counterpart in other formats",
        ),
        (
            Jinja,
            Go,
            "{% for x in l if x %}{{ loop.depth }}{% endfor %}{{ f(a=x) }}",
            "! t:1:18: the condition of a loop has no exact counterpart in other formats\n\
             ! t:1:25: loop.depth has no exact counterpart in other formats\n\
             ! t:1:50: go has no named arguments such as a",
        ),
        (
            Go,
            Jinja,
            "{{printf \"%d\" .x}}{{template \"a\" .}}{{range .l}}{{break}}{{end}}{{if eq .x 1}}{{end}}",
            "! t:1:3: the function printf of go has no exact counterpart in other formats\n\
             ! t:1:30: the call of the template \"a\" has no counterpart (replace the call with the template's text)\n\
             ! t:1:51: break and continue have no counterpart\n\
             ! t:1:73: a comparison with a value other than text has no exact counterpart in other formats",
        ),
        (
            Jinja,
            Handlebars,
            "{% for x in l %}{{ loop.index }}{% if x == 'a' or x == 1 %}{% endif %}{% if x == 'a' %}{% endif %}{% endfor %}",
            "! t:1:17: handlebars counts the items of a loop from 0, not from 1\n! t:1:39: or has no exact counterpart in other formats\n! t:1:71: handlebars has no comparisons",
        ),
        (
            Dotprompt,
            Go,
            "{{#each l}}{{#if @last}}{{@index.x}}{{/if}}{{#with @index}}{{/with}}{{/each}}{{@index}}",
            "! t:1:12: go cannot test whether an item is the last\n! t:1:27: @index.x has no exact counterpart in other formats\n! t:1:44: a field of a loop variable has no exact counterpart in other formats\n! t:1:80: @index has no exact counterpart in other formats",
        ),
        (
            Go,
            Jinja,
            "{{range $i, $x := .l}}{{$i.x}}{{with $i}}{{.x}}{{end}}{{with eq $x \"a\"}}{{end}}{{range $x}}{{$i}}{{end}}{{end}}",
            "! t:1:25: a field of an index has no exact counterpart in other formats\n! t:1:38: with on a value other than a variable has no exact counterpart in other formats\n! t:1:62: with on a value other than a variable has no exact counterpart in other formats\n! t:1:62: the item is compared with text, but is not text (formats compare only text in the same way)\n! t:1:94: jinja exposes only the innermost loop",
        ),
        (
            Go,
            Jinja,
            "{{.}}{{.for}}",
            "! t:1:3: the set of all variables has no exact counterpart in other formats\n! t:1:8: jinja has no variable named \"for\"",
        ),
        (
            Go,
            Language::FString,
            "{{range .l}}{{.x}}{{end}}",
            "! t:1:9: f-string has no loops\n! t:1:15: f-string templates cannot refer to x",
        ),
    ];
    for (from, to, text, expected) in cases {
        let got = converted(text, from, to, &kinds(&[]));
        assert_eq!(got, expected, "{} to {}: {text}", from.name(), to.name());
    }
}

#[test]
fn what_a_loop_runs_over_is_a_list_without_a_word() {
    let goes_in = |path: &str, column: usize| {
        format!("! t:1:{column}: {path} is a list or an object, which a mustache section enters")
    };
    let in_loop = "{% for a in rows %}{% if a.xs %}H:{% for x in a.xs %}{{ x }}{% endfor %}{% endif %}{% endfor %}";
    let cases = [
        (
            "{% if xs %}H:{% for x in xs %}{{ x }}{% endfor %}{% endif %}",
            goes_in("xs", 1),
        ),
        (
            "{% for x in u.xs %}{{ x }}{% endfor %}{% if u.xs %}H{% endif %}",
            goes_in("u.xs", 39),
        ),
        (in_loop, goes_in("item.xs", 20)),
        // A section that tests for an empty list does not enter the list.
        (
            "{% for x in xs %}{{ x }}{% endfor %}{% if not xs %}none{% endif %}",
            "{{#xs}}{{.}}{{/xs}}{{^xs}}none{{/xs}}".to_owned(),
        ),
        // A field with the same name in another list can have any kind.
        (
            "{% for a in rows %}{% for x in a.xs %}{{ x }}{% endfor %}{% endfor %}{% for b in cols %}{% if b.xs %}H{% endif %}{% endfor %}",
            "{{#rows}}{{#xs}}{{.}}{{/xs}}{{/rows}}{{#cols}}{{#xs}}H{{/xs}}{{/cols}}".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        let got = converted(text, Jinja, Mustache, &kinds(&[]));
        let got = got.split("\nnote ").next().unwrap_or_default();
        assert_eq!(got, expected, "{text}");
    }
    // Printing the list is also rejected, because Go prints lists differently.
    let printed = "{% for x in xs %}{{ x }}{% endfor %}{{ xs }}";
    let expected = "! t:1:37: xs is a list, which go prints differently from jinja (print its items or fields one by one)";
    assert_eq!(converted(printed, Jinja, Go, &kinds(&[])), expected);
}

#[test]
fn kinds_decide_what_is_exact() {
    let text = "{{.a}} {{.b}}{{.a}}";
    let undeclared = ConvertOptions::default();
    let declared = ConvertOptions {
        assume_text: false,
        ..kinds(&[("a", "boolean"), ("b", "text")])
    };
    let strict = ConvertOptions {
        strict: true,
        ..ConvertOptions::default()
    };
    let note = "t:1:3: exact only if these are text or whole numbers: a, b (true prints true in go and True in jinja) (declare their kinds, or pass --assume-text)";
    let cases = [
        (&undeclared, format!("{{{{ a }}}} {{{{ b }}}}{{{{ a }}}}\nnote {note}")),
        (&strict, format!("! {note}")),
        (
            &declared,
            "{% if a %}true{% else %}false{% endif %} {{ b }}{% if a %}true{% else %}false{% endif %}".to_owned(),
        ),
        (
            &kinds(&[("b", "list")]),
            "! t:1:10: b is a list, which jinja prints differently from go (print its items or fields one by one)".to_owned(),
        ),
        (
            &kinds(&[("a", "number")]),
            "{{ a }} {{ b }}{{ a }}\n\
             note t:1:3: a is a number: numbers such as 1.0 or 1e21 print differently in go and jinja (declare it as an integer or as text)\n\
             note t:1:16: a is a number: numbers such as 1.0 or 1e21 print differently in go and jinja (declare it as an integer or as text)".to_owned(),
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(converted(text, Go, Jinja, options), expected, "{options:?}");
    }
}

#[test]
fn hostile_sources_end_with_findings() {
    let chain = "{% elif x %}a".repeat(30_000);
    let arms = "{{else if x}}a".repeat(30_000);
    let cases = [
        (Jinja, format!("{{% if x %}}{chain}{{% endif %}}")),
        (Handlebars, format!("{{{{#if x}}}}{arms}{{{{/if}}}}")),
        (Jinja, "{{ x | upper }}".repeat(30_000)),
        (
            Go,
            format!("{{{{range .x}}}}{}{{{{end}}}}", "{{break}}".repeat(30_000)),
        ),
        (Go, "{{define \"a\"}}x{{end}}".to_owned()),
        (Mustache, "{{#a}}x{{/a}}".repeat(30_000)),
    ];
    for (from, text) in cases {
        let got = converted(&text, from, JinjaPlain, &kinds(&[]));
        assert!(got.starts_with("! "), "{}: {}", from.name(), &text[..40]);
        assert!(got.lines().count() <= 100, "{}", from.name());
    }
    let names: String = (0..30_000).map(|n| format!("{{{{.x{n}}}}}")).collect();
    let got = converted(&names, Go, Jinja, &ConvertOptions::default());
    assert!(got.contains("{{ x29999 }}\nnote t:1:3: exact"));
}
