//! Expected tokens of each format.

use super::shown;

fn check(format: &str, table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(shown(format, text), *expected, "{format}: {text}");
    }
}

#[test]
fn go() {
    check(
        "go",
        &[
            ("a {{ .x }}", "d:{{ v:.x d:}}"),
            ("{{- .user.name -}} b", "d:{{- v:.user p:.name d:-}}"),
            (
                "{{ $x := .a | printf \"%d\" }}{{ $x.b }}{{ $.c.d }}",
                "d:{{ v:$x o::= v:.a o:| f:printf s:\"%d\" d:}} d:{{ v:$x p:.b d:}} d:{{ v:$ v:.c p:.d d:}}",
            ),
            (
                "{{ if and .a (not true) }}b{{ else if .c }}{{ end }}",
                "d:{{ k:if f:and v:.a o:( f:not k:true o:) d:}} d:{{ k:else k:if v:.c d:}} d:{{ k:end d:}}",
            ),
            (
                "{{/* c */}}{{- /* c */ -}}x",
                "c:{{/* c */}} c:{{- /* c */ -}}",
            ),
            (
                "{{ range $i, $e := .l }}{{ . }}{{ end }}",
                "d:{{ k:range v:$i o:, v:$e o::= v:.l d:}} d:{{ v:. d:}} d:{{ k:end d:}}",
            ),
            (
                "{{ index .m `k` 1.5 'c' nil }}",
                "d:{{ f:index v:.m s:`k` n:1.5 s:'c' k:nil d:}}",
            ),
            (
                "{{ template \"t\" (f .x).y }}",
                "d:{{ k:template s:\"t\" o:( f:f v:.x o:) p:.y d:}}",
            ),
            ("{{ .a ! }} {{ .b", "d:{{ v:.a o:! d:}} d:{{ v:.b"),
            (
                "{{ \"open }} {{ .b }}\n{{ .c }}",
                "d:{{ d:{{ v:.b d:}} d:{{ v:.c d:}}",
            ),
            ("{{ .é }}é{{ f.g }}", "d:{{ v:.é d:}} d:{{ f:f p:.g d:}}"),
        ],
    );
}

#[test]
fn jinja() {
    check(
        "jinja",
        &[
            ("a {{ x }}", "d:{{ v:x d:}}"),
            (
                "{{- user.name|upper -}}  b",
                "d:{{- v:user o:. p:name o:| f:upper d:-}}",
            ),
            (
                "{% for k, v in d.items() recursive %}{{ loop.index }}{% endfor %}",
                "d:{% k:for v:k o:, v:v k:in v:d o:. f:items o:( o:) k:recursive d:%} d:{{ v:loop o:. p:index d:}} d:{% k:endfor d:%}",
            ),
            (
                "{%- set x = f(a, b=1.5) + 'c' -%}\n",
                "d:{%- k:set v:x o:= f:f o:( v:a o:, p:b o:= n:1.5 o:) o:+ s:'c' d:-%}",
            ),
            (
                "{% if x is not none and y is divisibleby 3 %}{% else %}{% endif %}",
                "d:{% k:if v:x k:is k:not f:none k:and v:y k:is f:divisibleby n:3 d:%} d:{% k:else d:%} d:{% k:endif d:%}",
            ),
            (
                "{#- c -#}{% raw -%} {{ x }} {%- endraw %}",
                "c:{#- c -#} d:{% k:raw d:-%} d:{%- k:endraw d:%}",
            ),
            (
                "{% macro m(a, b=true) %}{% endmacro %}{{ m({'k': [1]}) }}",
                "d:{% k:macro f:m o:( v:a o:, p:b o:= k:true o:) d:%} d:{% k:endmacro d:%} d:{{ f:m o:( o:{ s:'k' o:: o:[ n:1 o:] o:} o:) d:}}",
            ),
            (
                "{% from 'x' import y as z with context %}",
                "d:{% k:from s:'x' k:import v:y k:as v:z k:with k:context d:%}",
            ),
            ("{{ a ? }} {{ b", "d:{{ v:a d:{{ v:b"),
            ("{{ 'open }} {{ b }}", "d:{{ d:{{ v:b d:}}"),
            (
                "{% filter upper %}{% generation %}{{ as }}",
                "d:{% k:filter f:upper d:%} d:{% k:generation d:%} d:{{ v:as d:}}",
            ),
        ],
    );
    check(
        "jinja-script",
        &[("{{ x|tool(1) }}", "d:{{ v:x o:| f:tool o:( n:1 o:) d:}}")],
    );
    check(
        "semantic-kernel-jinja2",
        &[(
            "{{ plugin.f(x) }}{{ plugin_f(x) }}",
            "d:{{ v:plugin o:. f:f o:( v:x o:) d:}} d:{{ f:plugin_f o:( v:x o:) d:}}",
        )],
    );
}

#[test]
fn handlebars() {
    check(
        "handlebars",
        &[
            (
                "a {{x}} {{{user.name}}} {{&y}}",
                "d:{{ v:x d:}} d:{{{ v:user o:. p:name d:}}} d:{{& v:y d:}}",
            ),
            (
                "{{#if a}}b{{else if c}}d{{else}}e{{/if}}",
                "d:{{# k:if v:a d:}} d:{{ k:else k:if v:c d:}} d:{{ k:else d:}} d:{{/ k:if d:}}",
            ),
            (
                "{{#each list as |item i|}}{{item.x}}{{@index}}{{../y}}{{this.z}}{{/each}}",
                "d:{{# k:each v:list k:as o:| v:item v:i o:| d:}} d:{{ v:item o:. p:x d:}} d:{{ v:@index d:}} d:{{ v:.. o:/ v:y d:}} d:{{ v:this o:. v:z d:}} d:{{/ k:each d:}}",
            ),
            (
                "{{~f x (g 1) k=\"v\"~}}",
                "d:{{~ f:f v:x o:( f:g n:1 o:) p:k o:= s:\"v\" d:~}}",
            ),
            (
                "{{!-- c --}}{{! d }}{{> part ctx a=1}}",
                "c:{{!-- c --}} c:{{! d }} d:{{> f:part v:ctx p:a o:= n:1 d:}}",
            ),
            (
                "{{#list}}x{{^}}y{{/list}}{{#f true null}}{{/f}}",
                "d:{{# v:list d:}} d:{{^}} d:{{/ v:list d:}} d:{{# f:f k:true k:null d:}} d:{{/ f:f d:}}",
            ),
            (
                "{{{{raw}}}} {{x}} {{{{/raw}}}}",
                "d:{{{{ v:raw d:}}}} d:{{{{/ v:raw d:}}}}",
            ),
            (
                "{{#*inline \"p\"}}{{/inline}}\\{{x}} {{[a b].c}} {{@root.d}}",
                "d:{{#* k:inline s:\"p\" d:}} d:{{/ k:inline d:}} d:{{ v:[a b] o:. p:c d:}} d:{{ v:@root o:. v:d d:}}",
            ),
            (
                "{{x % y}} {{z}} {{w",
                "d:{{ v:x d:}} d:{{ v:z d:}} d:{{ v:w",
            ),
            ("{{#if x", "d:{{# k:if v:x"),
        ],
    );
    check(
        "dotprompt",
        &[(
            "{{role \"system\"}}{{json x indent=2}}",
            "d:{{ f:role s:\"system\" d:}} d:{{ f:json v:x p:indent o:= n:2 d:}}",
        )],
    );
    check(
        "semantic-kernel-handlebars",
        &[(
            "{{plugin-f x}}{{set \"a\" 1}}{{json a}}",
            "d:{{ f:plugin-f v:x d:}} d:{{ f:set s:\"a\" n:1 d:}} d:{{ f:json v:a d:}}",
        )],
    );
}

#[test]
fn mustache() {
    check(
        "mustache",
        &[
            (
                "a {{x}} {{{ y }}} {{& z }}",
                "d:{{ v:x d:}} d:{{{ v:y d:}}} d:{{& v:z d:}}",
            ),
            (
                "{{#user.name}}{{.}}{{/user.name}}{{^ none }}{{/ none }}",
                "d:{{# v:user o:. p:name d:}} d:{{ v:. d:}} d:{{/ v:user o:. p:name d:}} d:{{^ v:none d:}} d:{{/ v:none d:}}",
            ),
            ("{{! c }}{{> part }}", "c:{{! c }} d:{{> f:part d:}}"),
            (
                "{{=<% %>=}}<% x %>{{y}}<%={{ }}=%>{{z}}",
                "d:{{=<% %>=}} d:<% v:x d:%> d:<%={{ }}=%> d:{{ v:z d:}}",
            ),
            ("{{ x }} {{ y", "d:{{ v:x d:}} d:{{ v:y"),
            ("{{ x and {{ y }}", "d:{{ v:x and {{ y d:}}"),
            ("{{! open", "d:{{"),
        ],
    );
}

#[test]
fn liquid() {
    check(
        "liquid",
        &[
            ("a {{ x }}", "d:{{ v:x d:}}"),
            (
                "{{- user.name | upcase | truncate: 5, 'x' -}}",
                "d:{{- v:user o:. p:name o:| f:upcase o:| f:truncate o:: n:5 o:, s:'x' d:-}}",
            ),
            (
                "{% if a == 1 and b contains 'c' %}{% elsif x %}{% endif %}",
                "d:{% k:if v:a o:== n:1 k:and v:b k:contains s:'c' d:%} d:{% k:elsif v:x d:%} d:{% k:endif d:%}",
            ),
            (
                "{%- for i in (1..n) reversed limit: 2 -%}{{ forloop.index }}{% endfor %}",
                "d:{%- k:for v:i k:in o:( n:1 o:.. v:n o:) k:reversed p:limit o:: n:2 d:-%} d:{{ v:forloop o:. p:index d:}} d:{% k:endfor d:%}",
            ),
            (
                "{% assign x = y | call: tool: nil %}{% # c %}",
                "d:{% k:assign v:x o:= v:y o:| f:call o:: p:tool o:: k:nil d:%} c:{% # c %}",
            ),
            (
                "{% comment %} {{ x }} {% if %} {% endcomment %}{{ y }}",
                "d:{% k:comment d:%} c:  c:{{ x }} c:  c:{% if %} c:  d:{% k:endcomment d:%} d:{{ v:y d:}}",
            ),
            (
                "{% raw %} {{ x }} {%- endraw -%}{{ y }}",
                "d:{% k:raw d:%} d:{%- k:endraw d:-%} d:{{ v:y d:}}",
            ),
            (
                "{% liquid\n assign a = 1\n # c\n echo a | plus: 2\n%}",
                "d:{% k:liquid k:assign v:a o:= n:1 c:# c k:echo v:a o:| f:plus o:: n:2 d:%}",
            ),
            (
                "{% render 'p' with x as y, k: v %}{% cycle 'a', b %}",
                "d:{% k:render s:'p' k:with v:x k:as v:y o:, p:k o:: v:v d:%} d:{% k:cycle s:'a' o:, v:b d:%}",
            ),
            (
                "{{ a & b }} {{ c[0]['d'] }} {{ e",
                "d:{{ v:a v:b d:}} d:{{ v:c o:[ n:0 o:] o:[ s:'d' o:] d:}} d:{{ v:e",
            ),
            (
                "{% case x %}{% when 1, nil or blank %}{% tablerow i in l cols: 2 %}",
                "d:{% k:case v:x d:%} d:{% k:when n:1 o:, k:nil k:or k:blank d:%} d:{% k:tablerow v:i k:in v:l p:cols o:: n:2 d:%}",
            ),
        ],
    );
}

#[test]
fn semantic_kernel() {
    check(
        "semantic-kernel",
        &[
            ("a {{$x}} {{ $y }}", "d:{{ v:$x d:}} d:{{ v:$y d:}}"),
            (
                "{{plugin.f}} {{f $x}} {{f 'v'}}",
                "d:{{ f:plugin.f d:}} d:{{ f:f v:$x d:}} d:{{ f:f s:'v' d:}}",
            ),
            (
                "{{f $x a='b' c=$d}}",
                "d:{{ f:f v:$x p:a o:= s:'b' p:c o:= v:$d d:}}",
            ),
            (
                "{{'text'}}{{ }}{{{$x}}}",
                "d:{{ s:'text' d:}} d:{{ v:$x d:}}",
            ),
            ("{{$x.y}} {{$z}}", "d:{{ d:}} d:{{ v:$z d:}}"),
            ("{{f $x a=b}} {{$z}}", "d:{{ f:f v:$x d:}} d:{{ v:$z d:}}"),
            ("{{f 'open }} {{$z}}", ""),
            ("{{f a=$", "d:{{ f:f v:$"),
        ],
    );
    check(
        "semantic-kernel-liquid",
        &[("{{ x | f }}", "d:{{ v:x o:| f:f d:}}")],
    );
}

#[test]
fn format_strings() {
    check(
        "f-string",
        &[
            ("a {x} {{y}}", "d:{ v:x d:}"),
            (
                "{price:,.2f}{row[0]!r:>{width}}",
                "d:{ v:price o:: s:,.2f d:} d:{ v:row o:[ n:0 o:] o:! k:r o:: s:> d:{ v:width d:} d:}",
            ),
            (
                "{a[key].b}{c!s}",
                "d:{ v:a o:[ p:key o:] o:. p:b d:} d:{ v:c o:! k:s d:}",
            ),
            ("{0} { } {x", "d:{ n:0 d:} d:{ v:  d:} d:{ v:x"),
            ("} {x} {y {z}", "d:{ v:x d:} d:{ v:y d:{ v:z d:}"),
            ("{\"a\": 1} {z}", "d:{ v:\"a\" o:: s: 1 d:} d:{ v:z d:}"),
        ],
    );
    check("f-string-strict", &[("{x}", "d:{ v:x d:}")]);
}

#[test]
fn third_parties_have_none_until_they_say_some() {
    let format = crate::custom_format::Brackets;
    let limits = quillet_template::CompileLimits::default();
    assert_eq!(
        quillet_template::editor::tokens(&format, "<<x>>", &limits),
        []
    );
}
