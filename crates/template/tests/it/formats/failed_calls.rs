//! The result of a failed call is an empty value or the tool's default. Access inside it never ends
//! a render, in any format.

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{CallArguments, CallError, FunctionHost};

use super::{compile, generous, rows, run};

/// `bad` failed without a default. `dtext`, `dlist` and `dobj` failed and returned a text, a list
/// and an object as fallback values. `g` returns its argument as JSON.
struct Failed;

impl FunctionHost for Failed {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        vec!["bad", "dtext", "dlist", "dobj", "g"]
    }
    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        let names = if name == "g" {
            vec!["text".into()]
        } else {
            Vec::new()
        };
        Some(names)
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            let text = match name {
                "bad" => r#""""#,
                "dtext" => r#""n/a""#,
                "dlist" => r#"["p","q"]"#,
                "dobj" => r#"{"a":"A","b":{"c":"C"}}"#,
                _ => {
                    let first = arguments.positional.first().or(arguments.named.get("text"));
                    return Ok(first.map(json::to_string).unwrap_or_default().into());
                }
            };
            Ok(json::parse(text).expect("it is JSON").into_fallback())
        })
    }
}

type Look = (&'static str, &'static str);

const GO: &[Look] = &[
    ("{{bad}}|{{(bad)}}", "|"),
    ("{{(bad).a}}{{(bad).a.b.c}}", ""),
    ("{{$x := bad}}{{$x.a.b}}{{with $x}}w{{end}}", ""),
    (
        "{{range bad}}x{{else}}e{{end}}{{range (bad).items}}x{{end}}",
        "e",
    ),
    ("{{range $i, $e := bad}}x{{end}}", ""),
    (
        "{{index bad \"a\"}}{{index bad 0}}{{index (index bad \"a\") \"b\"}}",
        "",
    ),
    ("{{len bad}}{{len (bad).a}}{{slice bad 1 2}}", "00"),
    (
        "{{if bad}}y{{else}}n{{end}}{{if not (bad).ok}}n{{end}}",
        "nn",
    ),
    (
        "{{and bad 1}}{{or bad 1}}{{eq bad \"\"}}{{eq (bad).n 3}}{{lt (bad).n 3}}",
        "1true",
    ),
    (
        "{{printf \"%s/%v\" bad (bad).a}}{{print bad}}{{html bad}}",
        "/",
    ),
    ("{{bad | upper}}{{(bad).a | trim | quote}}", "\"\""),
    (
        "{{first (bad).a}}{{last bad}}{{keys bad}}{{join \",\" (bad).xs}}",
        "[]",
    ),
    (
        "{{default \"d\" bad}}{{bad | empty}}{{(bad).a | default \"e\"}}",
        "dtruee",
    ),
    (
        "{{add1 (bad).n}}{{mul 2 (bad).n}}{{toJson bad}}{{dict \"a\" (bad) | toJson}}",
        "10\"\"{\"a\":\"\"}",
    ),
    ("{{g bad}}{{g (bad).a}}{{g (list bad)}}", "\"\"\"\"[\"\"]"),
    (
        "{{define \"t\"}}{{.a.b}}{{end}}{{template \"t\" bad}}{{include \"t\" bad}}",
        "",
    ),
    (
        "{{dtext}}{{(dtext).a}}{{eq dtext \"n/a\"}}{{if dtext}}y{{end}}{{upper dtext}}{{len dtext}}",
        "n/atrueyN/A3",
    ),
    (
        "{{range dlist}}{{.}}{{end}}{{index dlist 1}}{{index dlist 7}}{{(dlist).a}}{{len dlist}}{{join \"-\" dlist}}",
        "pqq2p-q",
    ),
    (
        "{{(dobj).a}}{{(dobj).b.c}}{{(dobj).x.y}}{{(dobj).a.x}}{{index dobj \"x\"}}{{range $k, $v := dobj}}{{$k}}{{end}}",
        "ACab",
    ),
    (
        "{{g dtext}}{{g dlist}}{{g dobj}}",
        "\"n/a\"[\"p\",\"q\"]{\"a\":\"A\",\"b\":{\"c\":\"C\"}}",
    ),
];

const JINJA: &[Look] = &[
    ("{{ bad() }}{{ bad().a }}{{ bad().a.b['c'][0] }}", ""),
    ("{% set x = bad() %}{{ x.a.b }}{% if x.a %}y{% endif %}", ""),
    (
        "{% for x in bad() %}x{% else %}e{% endfor %}{% for x in bad()['items'] %}x{% endfor %}",
        "e",
    ),
    (
        "{% for k, v in bad().xs %}x{% endfor %}{% set a, b = bad() %}{{ a }}",
        "",
    ),
    (
        "{{ bad()|length }}{{ bad().a|length }}{{ bad()[1:2] }}",
        "00",
    ),
    (
        "{{ bad()|upper }}{{ bad().a|trim }}{{ bad()|join(',') }}{{ bad()|first }}",
        "",
    ),
    (
        "{{ bad()|default('d') }}{{ bad().a|default('e') }}{{ bad().a.upper() }}",
        "de",
    ),
    (
        "{{ bad() is defined }}{{ bad().a is undefined }}{{ dtext() is defined }}",
        "FalseTrueTrue",
    ),
    (
        "{{ bad() is mapping }}{{ bad() is string }}{{ bad().n is odd }}",
        "FalseTrueFalse",
    ),
    (
        "{{ bad().n + 1 }}{{ -bad() }}{{ bad() ~ 'x' }}{{ bad() + 'y' }}",
        "xy",
    ),
    (
        "{{ bad().n < 3 }}{{ bad() == '' }}{{ 'a' in bad() }}{{ not bad() }}",
        "FalseTrueFalseTrue",
    ),
    (
        "{{ bad()|tojson }}{{ [bad()]|tojson }}{{ g(bad()) }}{{ g([bad().a]) }}",
        "\"\"[\"\"]\"\"[\"\"]",
    ),
    ("{{ range(bad().n)|list|length }}{{ bad().f() }}", "0"),
    (
        "{% macro m(x) %}{{ x.a.b }}{% endmacro %}{{ m(bad()) }}",
        "",
    ),
    (
        "{{ dtext() }}{{ dtext().a }}{{ dtext() == 'n/a' }}{{ dtext()|upper }}{{ dtext().upper() }}",
        "n/aTrueN/AN/A",
    ),
    (
        "{% for x in dlist() %}{{ x }}{% endfor %}{{ dlist()[1] }}{{ dlist()[7] }}{{ dlist().a }}{{ dlist()|length }}",
        "pqq2",
    ),
    (
        "{{ dobj().a }}{{ dobj().b.c }}{{ dobj().x.y }}{{ dobj().a.x }}{{ dobj()['x'] }}{% for k in dobj() %}{{ k }}{% endfor %}",
        "ACab",
    ),
];

const HANDLEBARS: &[Look] = &[
    (
        "{{bad}}{{lookup (bad) 'a'}}{{lookup (lookup (bad) 'a') 'b'}}",
        "",
    ),
    (
        "{{#if (bad)}}y{{else}}n{{/if}}{{#unless (lookup (bad) 'a')}}u{{/unless}}",
        "nu",
    ),
    (
        "{{#with (bad)}}w{{else}}n{{/with}}{{#each (bad)}}x{{else}}e{{/each}}",
        "ne",
    ),
    ("{{#bad}}x{{else}}e{{/bad}}{{g (bad)}}", "e\"\""),
    (
        "{{#with (dobj)}}{{a}}{{b.c}}{{x.y}}{{a.x.z}}{{/with}}",
        "AC",
    ),
    (
        "{{#each (dlist)}}{{this}}{{/each}}{{#each (lookup (dlist) 'a')}}x{{/each}}{{lookup (dlist) '1'}}",
        "pqq",
    ),
    (
        "{{dtext}}{{lookup (dtext) 'a'}}{{#if (dtext)}}y{{/if}}",
        "n/ay",
    ),
];

const MUSTACHE: &[Look] = &[
    (
        "{{bad}}{{bad.a}}{{bad.a.b}}{{#bad}}x{{/bad}}{{^bad}}e{{/bad}}",
        "e",
    ),
    ("{{#bad.items}}x{{/bad.items}}{{^bad.ok}}n{{/bad.ok}}", "n"),
    (
        "{{dtext}}{{dtext.a}}{{#dlist}}{{.}}{{/dlist}}{{dlist.a}}",
        "n/apq",
    ),
    ("{{dobj.a}}{{dobj.b.c}}{{dobj.x.y}}{{dobj.a.x}}", "AC"),
];

const F_STRING: &[Look] = &[
    ("{bad}|{bad[a]}|{bad[a][0][b]}|{bad[0]}|{bad!r}", "||||''"),
    ("{bad:>3}|{bad[n]:.2f}|{bad[a]!s:>2}", "   ||  "),
    (
        "{dtext}{dtext[a]}{dlist[1]}{dlist[7]}{dobj[a]}{dobj[x][y]}{dobj[a][x]}",
        "n/aqA",
    ),
];

const LIQUID: &[Look] = &[
    (
        "{{ nil | bad }}{% assign b = nil | bad %}{{ b.a }}{{ b.a.b['c'][0].size }}",
        "0",
    ),
    (
        "{% assign b = nil | bad %}{% if b.a %}y{% endif %}{% if b == empty %}e{% endif %}{% if b.n > 3 %}y{% endif %}",
        "e",
    ),
    (
        "{% assign b = nil | bad %}{% for x in b %}x{% else %}e{% endfor %}{% for x in b.items %}x{% endfor %}",
        "e",
    ),
    (
        "{{ nil | bad | upcase }}{{ nil | bad | plus: 1 }}{{ nil | bad | first | upcase }}{{ nil | bad | sort: 'a' }}{{ nil | bad | map: 'x' | join }}",
        "1",
    ),
    (
        "{{ nil | bad | default: 'd' }}{% assign b = nil | bad %}{{ 'x' | append: b }}{{ nil | bad | date: '%Y' }}{{ nil | bad | slice: 'x' }}",
        "dx",
    ),
    (
        "{% assign b = nil | bad %}{{ b | g }}{{ b.a | g }}{% case b %}{% when '' %}w{% endcase %}",
        "\"\"\"\"w",
    ),
    (
        "{% assign t = nil | dtext %}{{ t }}{{ t.a }}{{ t.size }}{% if t == 'n/a' %}y{% endif %}{{ t | upcase }}",
        "n/a3yN/A",
    ),
    (
        "{% assign l = nil | dlist %}{% for x in l %}{{ x }}{% endfor %}{{ l[1] }}{{ l[7] }}{{ l.a }}{{ l.first }}{{ l.size }}{{ l | join: '-' }}",
        "pqqp2p-q",
    ),
    (
        "{% assign o = nil | dobj %}{{ o.a }}{{ o.b.c }}{{ o.x.y }}{{ o.a.x }}{{ o['x'] }}{% for k in o %}{{ k[0] }}{% endfor %}",
        "ACab",
    ),
];

fn looks(format: &str) -> &'static [Look] {
    match format {
        "go" => GO,
        "jinja" | "jinja-plain" | "semantic-kernel-jinja2" => JINJA,
        "handlebars" | "semantic-kernel-handlebars" | "dotprompt" => HANDLEBARS,
        "handlebars-html" => &[("{{bad}}{{#each (bad)}}x{{/each}}", "")],
        "mustache" => MUSTACHE,
        "mustache-html" => &[("{{bad}}{{bad.a.b}}", "")],
        "f-string" => F_STRING,
        "f-string-strict" => &[("{bad}|{dtext}", "|n/a")],
        "semantic-kernel" => &[("{{bad}}{{dtext}}", "n/a")],
        "liquid" | "semantic-kernel-liquid" => LIQUID,
        "brackets" => &[("[bad x][dtext x][g bad x]", "n/a\"\"")],
        other => panic!("{other} looks at nothing here"),
    }
}

#[tokio::test]
async fn looking_into_a_failed_call_finds_its_default_or_nothing() {
    let variables: Map = [("x", Value::from("X"))].into_iter().collect();
    let mut wrong = Vec::new();
    for (format, row) in rows() {
        for (text, expected) in looks(row.format) {
            let template = compile(&*format, text);
            let rendered = run(&*template, &variables, &Failed, &generous()).await;
            let found = rendered.map(|rendered| rendered.text(0));
            if found.as_deref().ok() != Some(*expected) {
                let found = found.map_err(|error| error.to_string());
                wrong.push(format!(
                    "{}: {text}\n  {found:?}, not {expected:?}",
                    row.format
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
