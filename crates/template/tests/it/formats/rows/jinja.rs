//! Rows of Jinja: with the settings of Hugging Face, without settings, and as Semantic Kernel uses
//! it.

use super::super::{ROW, Row};

const DECISIONS: &[(&str, &str)] = &[
    ("{% if no() %}{{ wrong() }}{% endif %}", ""),
    ("{% if not yes() %}{{ wrong() }}{% endif %}", ""),
    ("{% if yes() %}y{% else %}{{ wrong() }}{% endif %}", "y"),
    ("{% if yes() %}y{% elif wrong() %}{% endif %}", "y"),
    ("{% if no() and wrong() %}{% endif %}", ""),
    ("{% if yes() or wrong() %}y{% endif %}", "y"),
    ("{% if yes() is none %}{{ wrong() }}{% endif %}", ""),
    (
        "{% if three() is integer %}i{% else %}{{ wrong() }}{% endif %}",
        "i",
    ),
    (
        "{% if three() is defined %}d{% else %}{{ wrong() }}{% endif %}",
        "d",
    ),
    (
        "{% if echo('a') is string %}s{% else %}{{ wrong() }}{% endif %}",
        "s",
    ),
    (
        "{% if person() is mapping %}m{% else %}{{ wrong() }}{% endif %}",
        "m",
    ),
    ("{% if echo('b') in ['a'] %}{{ wrong() }}{% endif %}", ""),
    ("{% if 'z' in pair() %}{{ wrong() }}{% endif %}", ""),
    ("{% if none == three() %}{{ wrong() }}{% endif %}", ""),
    (
        "{% if three() == 3.0 %}e{% else %}{{ wrong() }}{% endif %}",
        "e",
    ),
    ("{% if three() != 3 %}{{ wrong() }}{% endif %}", ""),
    ("{% if three() > 3 %}{{ wrong() }}{% endif %}", ""),
    ("{% if three() + 1 < 4 %}{{ wrong() }}{% endif %}", ""),
    ("{% if echo('') %}{{ wrong() }}{% endif %}", ""),
    ("{% if pair()|length > 2 %}{{ wrong() }}{% endif %}", ""),
    (
        "{% if person().name == 'Bob' %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "{% if person()['tags'][0] != 'a' %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "{% if echo('a') ~ 'b' == 'c' %}{{ wrong() }}{% endif %}",
        "",
    ),
    ("{{ wrong() if no() else 'n' }}", "n"),
    (
        "{% for i in pair() %}{{ i }}{% else %}{{ wrong() }}{% endfor %}",
        "12",
    ),
    (
        "{% for i in l if i > three() %}{{ wrong() }}{% endfor %}",
        "",
    ),
    ("{% set a = no() %}{% if a %}{{ wrong() }}{% endif %}", ""),
    (
        "{% set a %}{{ no() }}{% endset %}{% if a == 'x' %}{{ wrong() }}{% endif %}{{ a }}",
        "False",
    ),
    (
        "{% macro m() %}{{ no() }}{% endmacro %}{% if m() == 'x' %}{{ wrong() }}{% endif %}{{ m() }}",
        "False",
    ),
    ("{% filter upper %}{{ echo('a') }}{% endfilter %}", "A"),
    (
        "{{ (no() and wrong()) }}|{{ yes() or wrong() }}",
        "False|True",
    ),
];

fn deep(depth: usize) -> String {
    format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth))
}

pub(super) const JINJA: Row = Row {
    format: "jinja",
    hello: "Hi {{ x }}, {{ m.k }}!",
    print: "{{ x }}",
    ten: "{% for i in '0123456789' %}{{ echo(i) }}{% endfor %}",
    chain: Some("{{ plus(plus(plus(x))) }}"),
    turns: Some("{% for i in l %}{{ i }}{% endfor %}"),
    partial: Some([
        ("main", "a text of {% include 'other' %}"),
        ("other", "{{ x }}"),
    ]),
    fails: "text\n\n  {{ crash(1) }}{{ echo(2) }}",
    fails_at: 6,
    mistake: Some(("text\n  {{ x | }}", 10)),
    unknown: Some("{{ ehco(1) }}"),
    missing: "{{ nothing }}",
    decisions: DECISIONS,
    deep: Some(deep),
    builds: Some("{{ ('x' * 20000)|length }}"),
    recursion: Some([
        ("main", "{% include 'other' %}"),
        ("other", "{% include 'other' %}"),
    ]),
    ..ROW
};

pub(super) const JINJA_PLAIN: Row = Row {
    format: "jinja-plain",
    ..JINJA
};

pub(super) const SEMANTIC_KERNEL_JINJA2: Row = Row {
    format: "semantic-kernel-jinja2",
    ..JINJA
};
