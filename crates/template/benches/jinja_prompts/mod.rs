//! Four prompts, compiled and rendered by minijinja and by us. Both engines get the data in their
//! own value types and must produce the same text.

#[path = "../whole/mod.rs"]
mod whole;

use std::sync::Arc;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use quillet_core::json;
use quillet_template::format::jinja::JinjaFormat;
use quillet_template::{CompileOptions, CompiledTemplate, TemplateFormat, TemplateSource};
use serde_json::json;
use whole::execute;

struct Case {
    name: &'static str,
    template: String,
    data: serde_json::Value,
}

/// Passes every task to `measure`: its name, its prompt, and the functions that run it in minijinja
/// and in our engine.
pub(crate) fn each(mut measure: impl FnMut(&str, &str, &dyn Fn(), &dyn Fn())) {
    for case in [tiny(), chat(), nested(), big()] {
        let Case {
            name,
            template,
            data,
        } = case;
        let environment = environment();
        let theirs = environment.template_from_str(&template);
        let theirs = theirs.expect("minijinja compiles the template");
        let their_data = minijinja::Value::from(minijinja::value::Serde(&data));
        let ours = compile(&template);
        let our_data = json::parse(&data.to_string()).expect("the data is JSON");
        let our_data = our_data.as_map().expect("the data is an object");
        let their_text = theirs.render(their_data.clone());
        assert_eq!(
            their_text.expect("minijinja renders").as_bytes(),
            execute(&*ours, our_data),
            "{name}"
        );
        let their_compile = || {
            std::hint::black_box(environment.template_from_str(&template).ok());
        };
        let our_compile = || {
            std::hint::black_box(compile(&template));
        };
        measure("compile", name, &their_compile, &our_compile);
        let their_render = || {
            std::hint::black_box(theirs.render(their_data.clone()).ok());
        };
        let our_render = || {
            std::hint::black_box(execute(&*ours, our_data));
        };
        measure("render", name, &their_render, &our_render);
    }
}

/// Returns a minijinja environment with the settings of Hugging Face chat templates.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.expect("the usual marks are valid"));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment
}

fn compile(template: &str) -> Arc<dyn CompiledTemplate> {
    let sources = [TemplateSource::new("t", template)];
    let compiled = JinjaFormat::hugging_face().compile(&sources, &CompileOptions::default());
    compiled.expect("the template compiles")
}

/// A sentence with five variables.
fn tiny() -> Case {
    Case {
        name: "tiny",
        template: "You are {{ role }} at {{ company }}. Answer {{ user }} in {{ language }}, \
                   in the style of {{ style }}."
            .to_owned(),
        data: json!({"role": "a clerk", "company": "Acme", "user": "Ann", "language": "French",
                     "style": "a letter"}),
    }
}

/// A chat of 50 messages in ChatML.
fn chat() -> Case {
    let template = "\
{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) or message.role == 'assistant' and not message.tool_calls %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
";
    let message = |number: usize| {
        let role = match number % 5 {
            4 => "tool",
            n if n % 2 == 0 => "user",
            _ => "assistant",
        };
        json!({"role": role, "content": words(20, number)})
    };
    let messages: Vec<serde_json::Value> = (0..50).map(message).collect();
    Case {
        name: "chat50",
        template: template.to_owned(),
        data: json!({"messages": messages, "add_generation_prompt": true}),
    }
}

/// Nested conditions and loops with filters.
fn nested() -> Case {
    let template = "\
{% for group in groups %}
{% if group.active %}
## {{ group.name|upper }} ({{ group.members|length }})
{% for member in group.members %}
{% if member.age >= 18 and member.name %}
{{ loop.index }}. {{ member.name|trim }}{% if not loop.last %},{% else %}.{% endif %}
{% if member.tags %}
{% for tag in member.tags if tag != 'hidden' %}
  - {{ tag|replace('_', ' ') }}{{ ' *' if tag in favourites else '' }}
{% endfor %}
{% endif %}
{% elif member.age > 12 %}
{{ loop.index }}. ({{ member.name|default('nobody') }})
{% else %}
{% set years = 18 - member.age %}
{{ loop.index }}. {{ years }} years to go
{% endif %}
{% endfor %}
{% endif %}
{% endfor %}
";
    let member = |number: usize| {
        json!({"name": format!(" member {number}"), "age": 10 + number * 3,
               "tags": ["quick_wit", "hidden", "early_bird"]})
    };
    let group = |number: usize| {
        let members: Vec<serde_json::Value> = (0..6).map(member).collect();
        json!({"name": format!("group {number}"), "active": number != 2, "members": members})
    };
    let groups: Vec<serde_json::Value> = (0..4).map(group).collect();
    Case {
        name: "nested",
        template: template.to_owned(),
        data: json!({"groups": groups, "favourites": ["early_bird"]}),
    }
}

/// A text of 20 KB with 40 fields.
fn big() -> Case {
    let part = |number: usize| format!("{} {{{{ field{number} }}}} ", words(78, number));
    let field = |number: usize| (format!("field{number}"), json!(words(2, number)));
    Case {
        name: "big20k",
        template: (0..40).map(part).collect::<String>() + &words(78, 40),
        data: (0..40).map(field).collect::<serde_json::Map<_, _>>().into(),
    }
}

/// Returns `count` words, which depend on the seed.
fn words(count: usize, seed: usize) -> String {
    const WORDS: [&str; 11] = [
        "context", "token", "model", "prompt", "answer", "render", "value", "source", "policy",
        "report", "memory",
    ];
    let word = |number: usize| WORDS[(number * 7 + seed * 3 + number * number) % WORDS.len()];
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}
