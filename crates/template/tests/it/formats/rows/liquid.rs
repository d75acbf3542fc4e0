//! Rows of Liquid and of Semantic Kernel's Liquid.

use super::super::{ROW, Row};

fn deep(depth: usize) -> String {
    format!(
        "{}x{}",
        "{% if x %}".repeat(depth),
        "{% endif %}".repeat(depth)
    )
}

/// `call:` is needed because Liquid has a filter named `plus`.
const CHAIN: &str = "{{ x | call: 'plus' | call: 'plus' | call: 'plus' }}";

pub(super) const LIQUID: Row = Row {
    format: "liquid",
    hello: "Hi {{ x }}, {{ m.k }}!",
    print: "{{ x }}",
    ten: "{% for i in d %}{{ i | echo }}{% endfor %}",
    chain: Some(CHAIN),
    turns: Some("{% for i in l %}{{ i }}{% endfor %}"),
    partial: Some([
        ("main", "a text of {% render 'other', x: x %}"),
        ("other", "{{ x }}"),
    ]),
    fails: "text\n\n  {{ 1 | crash }}{{ 2 | echo }}",
    fails_at: 10,
    mistake: Some(("text\n  {{ x | }}", 10)),
    unknown: Some("{{ 1 | ehco }}"),
    missing: "{{ nothing }}",
    decisions: &[
        (
            "{% assign a = nil | no %}{% if a %}{{ nil | wrong }}{% endif %}",
            "",
        ),
        (
            "{% assign a = nil | yes %}{% unless a %}{{ nil | wrong }}{% endunless %}",
            "",
        ),
        (
            "{% assign a = nil | yes %}{% if a %}y{% else %}{{ nil | wrong }}{% endif %}",
            "y",
        ),
        (
            "{% assign a = nil | three %}{% case a %}{% when 3 %}t{% else %}{{ nil | wrong }}{% endcase %}",
            "t",
        ),
        (
            "{% assign a = nil | three %}{% if a > 3 or a == 4 %}{{ nil | wrong }}{% endif %}",
            "",
        ),
        (
            "{% assign a = nil | pair %}{% for i in a %}{{ i }}{% else %}{{ nil | wrong }}{% endfor %}",
            "12",
        ),
        (
            "{% assign a = nil | pair %}{% for i in l %}{% if i == a[1] %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "1",
        ),
        (
            "{% assign a = nil | person %}{% if a.name contains 'z' %}{{ nil | wrong }}{% endif %}{{ a.name }}",
            "Ann",
        ),
        (
            "{% capture a %}{{ nil | no }}{% endcapture %}{% if a == 'x' %}{{ nil | wrong }}{% endif %}{{ a }}",
            "false",
        ),
        (
            "{% assign s = nil | pair | size %}{% if s > 2 %}{{ nil | wrong }}{% endif %}",
            "",
        ),
        (
            "{% assign a = nil | no %}{% if a %}{% assign b = 1 %}{% endif %}{% if b %}{{ nil | wrong }}{% endif %}",
            "",
        ),
        (
            "{% assign a = nil | no %}{% if a %}{% increment c %}{% endif %}{% increment c %}",
            "0",
        ),
        (
            "{% assign a = nil | no %}{% for i in l %}{% if a %}{% cycle 'p', 'q' %}{% endif %}{% endfor %}{% cycle 'p', 'q' %}",
            "p",
        ),
        ("{{ nil | person | map: 'name' | first | upcase }}", "ANN"),
    ],
    deep: Some(deep),
    builds: Some(
        "{% capture a %}{% for i in (1..4000) %}12345{% endfor %}{% endcapture %}{{ a | size }}",
    ),
    recursion: Some([
        ("main", "{% render 'other' %}"),
        ("other", "{% render 'other' %}"),
    ]),
    ..ROW
};

pub(super) const SEMANTIC_KERNEL_LIQUID: Row = Row {
    format: "semantic-kernel-liquid",
    ..LIQUID
};
