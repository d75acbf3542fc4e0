//! Row of Go's text/template.

use super::super::{ROW, Row};

fn deep(depth: usize) -> String {
    format!("{{{{{}1{}}}}}", "(".repeat(depth), ")".repeat(depth))
}

pub(super) const GO: Row = Row {
    format: "go",
    hello: "Hi {{.x}}, {{.m.k}}!",
    print: "{{.x}}",
    ten: r#"{{echo "0"}}{{echo "1"}}{{echo "2"}}{{echo "3"}}{{echo "4"}}{{echo "5"}}{{echo "6"}}{{echo "7"}}{{echo "8"}}{{echo "9"}}"#,
    chain: Some("{{plus (plus (plus .x))}}"),
    turns: Some("{{range .l}}{{.}}{{end}}"),
    partial: Some([
        ("main", "a text of {{template \"other\" .}}"),
        ("other", "{{.x}}"),
    ]),
    fails: "text\n\n  {{crash 1}}{{echo 2}}",
    fails_at: 5,
    mistake: Some(("text\n  {{if}}", 7)),
    unknown: Some("{{ehco 1}}"),
    missing: "{{.nothing}}",
    decisions: &[
        ("{{if no}}{{wrong}}{{end}}", ""),
        ("{{if not yes}}{{wrong}}{{end}}", ""),
        ("{{if yes}}y{{else}}{{wrong}}{{end}}", "y"),
        ("{{if yes}}y{{else if wrong}}{{end}}", "y"),
        ("{{and no wrong}}", "false"),
        ("{{or yes wrong}}", "true"),
        ("{{with person}}{{.name}}{{else}}{{wrong}}{{end}}", "Ann"),
        ("{{range pair}}{{.}}{{else}}{{wrong}}{{end}}", "12"),
        ("{{if eq three 4}}{{wrong}}{{end}}", ""),
        ("{{if gt (len pair) 2}}{{wrong}}{{end}}", ""),
        (
            "{{with no}}{{wrong}}{{else with person}}{{.name}}{{else}}{{wrong}}{{end}}",
            "Ann",
        ),
        (
            "{{range $i, $e := pair}}{{if eq $i (len pair)}}{{wrong}}{{end}}{{$e}}{{end}}",
            "12",
        ),
        ("{{if and (or no yes) (not yes)}}{{wrong}}{{end}}", ""),
        ("{{if ne (echo \"a\") \"a\"}}{{wrong}}{{end}}", ""),
        ("{{ternary \"y\" \"n\" (yes)}}", "y"),
        ("{{$a := no}}{{if $a}}{{wrong}}{{end}}", ""),
        ("{{index person.tags 0}}", "a"),
        ("{{no | not | printf \"%v\"}}", "true"),
    ],
    deep: Some(deep),
    builds: Some(r#"{{len (printf "%20000d" 1)}}"#),
    recursion: Some([
        ("main", "{{template \"other\"}}"),
        ("other", "{{template \"other\"}}"),
    ]),
    ..ROW
};
