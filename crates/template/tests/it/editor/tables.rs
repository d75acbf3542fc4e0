//! Tokens of each format, as they are read.

use super::shown;

fn check(format: &str, table: &[(&str, &str)]) {
    for (text, expected) in table {
        println!("@@ {format} @@ {text:?} @@ {:?}", shown(format, text)); let _ = expected;
    }
}

#[test]
fn go() {
    check("go", &[
        ("a {{ .x }}", ""),
        ("{{- .user.name -}} b", ""),
        ("{{ $x := .a | printf \"%d\" }}{{ $x.b }}{{ $.c.d }}", ""),
        ("{{ if and .a (not true) }}b{{ else if .c }}{{ end }}", ""),
        ("{{/* c */}}{{- /* c */ -}}x", ""),
        ("{{ range $i, $e := .l }}{{ . }}{{ end }}", ""),
        ("{{ index .m `k` 1.5 'c' nil }}", ""),
        ("{{ template \"t\" (f .x).y }}", ""),
        ("{{ .a ! }} {{ .b", ""),
        ("{{ \"open }} {{ .b }}\n{{ .c }}", ""),
        ("{{ .é }}é{{ f.g }}", ""),
    ]);
}

#[test]
fn jinja() {
    check("jinja", &[
        ("a {{ x }}", ""),
        ("{{- user.name|upper -}}  b", ""),
        ("{% for k, v in d.items() recursive %}{{ loop.index }}{% endfor %}", ""),
        ("{%- set x = f(a, b=1.5) + 'c' -%}\n", ""),
        ("{% if x is not none and y is divisibleby 3 %}{% else %}{% endif %}", ""),
        ("{#- c -#}{% raw -%} {{ x }} {%- endraw %}", ""),
        ("{% macro m(a, b=true) %}{% endmacro %}{{ m({'k': [1]}) }}", ""),
        ("{% from 'x' import y as z with context %}", ""),
        ("{{ a ? }} {{ b", ""),
        ("{{ 'open }} {{ b }}", ""),
        ("{% filter upper %}{% generation %}{{ as }}", ""),
    ]);
    check("jinja-script", &[("{{ x|tool(1) }}", "")]);
    check("semantic-kernel-jinja2", &[("{{ plugin.f(x) }}{{ plugin_f(x) }}", "")]);
}

#[test]
fn handlebars() {
    check("handlebars", &[
        ("a {{x}} {{{user.name}}} {{&y}}", ""),
        ("{{#if a}}b{{else if c}}d{{else}}e{{/if}}", ""),
        ("{{#each list as |item i|}}{{item.x}}{{@index}}{{../y}}{{this.z}}{{/each}}", ""),
        ("{{~f x (g 1) k=\"v\"~}}", ""),
        ("{{!-- c --}}{{! d }}{{> part ctx a=1}}", ""),
        ("{{#list}}x{{^}}y{{/list}}{{#f true null}}{{/f}}", ""),
        ("{{{{raw}}}} {{x}} {{{{/raw}}}}", ""),
        ("{{#*inline \"p\"}}{{/inline}}\\{{x}} {{[a b].c}} {{@root.d}}", ""),
        ("{{x % y}} {{z}} {{w", ""),
        ("{{#if x", ""),
    ]);
    check("dotprompt", &[("{{role \"system\"}}{{json x indent=2}}", "")]);
    check("semantic-kernel-handlebars", &[("{{plugin-f x}}{{set \"a\" 1}}{{json a}}", "")]);
}

#[test]
fn mustache() {
    check("mustache", &[
        ("a {{x}} {{{ y }}} {{& z }}", ""),
        ("{{#user.name}}{{.}}{{/user.name}}{{^ none }}{{/ none }}", ""),
        ("{{! c }}{{> part }}", ""),
        ("{{=<% %>=}}<% x %>{{y}}<%={{ }}=%>{{z}}", ""),
        ("{{ x }} {{ y", ""),
        ("{{ x and {{ y }}", ""),
        ("{{! open", ""),
    ]);
}

#[test]
fn liquid() {
    check("liquid", &[
        ("a {{ x }}", ""),
        ("{{- user.name | upcase | truncate: 5, 'x' -}}", ""),
        ("{% if a == 1 and b contains 'c' %}{% elsif x %}{% endif %}", ""),
        ("{%- for i in (1..n) reversed limit: 2 -%}{{ forloop.index }}{% endfor %}", ""),
        ("{% assign x = y | call: tool: nil %}{% # c %}", ""),
        ("{% comment %} {{ x }} {% if %} {% endcomment %}{{ y }}", ""),
        ("{% raw %} {{ x }} {%- endraw -%}{{ y }}", ""),
        ("{% liquid\n assign a = 1\n # c\n echo a | plus: 2\n%}", ""),
        ("{% render 'p' with x as y, k: v %}{% cycle 'a', b %}", ""),
        ("{{ a & b }} {{ c[0]['d'] }} {{ e", ""),
        ("{% case x %}{% when 1, nil or blank %}{% tablerow i in l cols: 2 %}", ""),
    ]);
}

#[test]
fn semantic_kernel() {
    check("semantic-kernel", &[
        ("a {{$x}} {{ $y }}", ""),
        ("{{plugin.f}} {{f $x}} {{f 'v'}}", ""),
        ("{{f $x a='b' c=$d}}", ""),
        ("{{'text'}}{{ }}{{{$x}}}", ""),
        ("{{$x.y}} {{$z}}", ""),
        ("{{f $x a=b}} {{$z}}", ""),
        ("{{f 'open }} {{$z}}", ""),
        ("{{f a=$", ""),
    ]);
    check("semantic-kernel-liquid", &[("{{ x | f }}", "")]);
}

#[test]
fn format_strings() {
    check("f-string", &[
        ("a {x} {{y}}", ""),
        ("{price:,.2f}{row[0]!r:>{width}}", ""),
        ("{a[key].b}{c!s}", ""),
        ("{0} { } {x", ""),
        ("} {x} {y {z}", ""),
        ("{\"a\": 1} {z}", ""),
    ]);
    check("f-string-strict", &[("{x}", "")]);
}

#[test]
fn third_parties_have_none_until_they_say_some() {
    let format = crate::custom_format::Brackets;
    let limits = quillet_template::CompileLimits::default();
    assert_eq!(quillet_template::editor::tokens(&format, "<<x>>", &limits), []);
}
