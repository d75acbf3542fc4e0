//! Conversions: supported parts, and rejected parts with their locations.

use quillet_prompt::convert::{ConvertTarget, FileOptions, convert};
use quillet_prompt::file::{self, NoEnvironment, PromptFile};
use quillet_template::TemplateFactory;

fn converted(name: &str, text: &str, target: ConvertTarget) -> Result<String, String> {
    converted_with(name, text, target, &FileOptions::default())
}

fn converted_with(
    name: &str,
    text: &str,
    target: ConvertTarget,
    options: &FileOptions,
) -> Result<String, String> {
    let file = PromptFile {
        id: file::stem(name),
        name,
        text,
        config: None,
    };
    convert(
        &file,
        target,
        &NoEnvironment,
        &TemplateFactory::standard(),
        options,
    )
    .map(|converted| converted.text)
    .map_err(|found| found.iter().map(|one| format!("{one}\n")).collect())
}

const PROMPTY: &str = "---
name: support
model:
  id: gpt-4o
  options: {temperature: 0.2, maxOutputTokens: 400}
inputs:
  - {name: customer, kind: string, default: friend}
  - {name: question, kind: string, required: true}
---
system:
You help {{ customer }}. Braces: {{ '{{' }}.

user:
{{ question }}
";

#[test]
fn a_prompty_file_becomes_a_function() {
    let function = converted("support.prompty", PROMPTY, ConvertTarget::SemanticKernel).unwrap();
    let template = r#"template: |-
  <message role="system">You help {{$customer}}. Braces: {{'{{'}}.</message>
  <message role="user">{{$question}}</message>
"#;
    assert!(function.contains(template), "{function}");
    let settings = "execution_settings:\n  default:\n    model_id: gpt-4o\n    temperature: 0.2\n    max_tokens: 400\n";
    assert!(function.ends_with(settings), "{function}");
}

#[test]
fn what_comes_back_says_the_same() {
    for target in [
        ConvertTarget::SemanticKernel,
        ConvertTarget::Definition,
        ConvertTarget::Dotprompt,
    ] {
        let name = match target {
            ConvertTarget::SemanticKernel => "support.yaml",
            ConvertTarget::Dotprompt => "support.prompt",
            _ => "support.json",
        };
        let there = converted("support.prompty", PROMPTY, target).unwrap();
        let back = converted(name, &there, ConvertTarget::Prompty).unwrap();
        assert!(
            back.contains("system:\nYou help {{ customer }}. Braces: "),
            "{back}"
        );
        assert!(back.ends_with("user:\n{{ question }}\n"), "{back}");
        let model =
            "\nmodel:\n  id: gpt-4o\n  options:\n    temperature: 0.2\n    maxOutputTokens: 400\n";
        assert!(back.contains(model), "{back}");
        let inputs = "\ninputs:\n  - name: customer\n    kind: string\n    default: friend\n  - name: question\n    kind: string\n    required: true\n";
        assert!(back.contains(inputs), "{back}");
    }
}

#[test]
fn deployment_data_is_left_out_where_that_is_asked() {
    let models = [
        "{id: m, provider: openai, apiType: chat, connection: {kind: key, apiKey: '${env:K}'}}",
        "{api: chat, configuration: {type: azure_openai, name: m}}",
    ];
    let drops = FileOptions {
        drop_deployment: true,
        ..FileOptions::default()
    };
    for model in models {
        let text = format!("---\nname: p\nmodel: {model}\n---\nuser:\nHi {{{{ x }}}}\n");
        for target in [
            ConvertTarget::Dotprompt,
            ConvertTarget::SemanticKernel,
            ConvertTarget::Definition,
        ] {
            let refused = converted("p.prompty", &text, target).unwrap_err();
            assert!(refused.contains("leaves it out"), "{refused}");
            let there = converted_with("p.prompty", &text, target, &drops).unwrap();
            assert!(there.contains(" m\n") || there.contains("\"m\""), "{there}");
            for gone in ["openai", "apiKey", "chat", "configuration"] {
                assert!(!there.contains(gone), "{gone}: {there}");
            }
        }
    }
    // An API type other than chat does not describe a deployment, so it is still rejected.
    let text = "---\nname: p\nmodel: {id: m, apiType: embedding}\n---\nuser:\nHi\n";
    let refused = converted_with("p.prompty", text, ConvertTarget::Dotprompt, &drops).unwrap_err();
    assert!(refused.contains("apiType has no counterpart"), "{refused}");
}

#[test]
fn conditions_and_loops_have_counterparts() {
    let text = "---\nname: p\ninputs:\n  - {name: x, kind: boolean}\n---\nuser:\n{% if x %}a{% endif %}b\n";
    let there = converted("p.prompty", text, ConvertTarget::Dotprompt).unwrap();
    assert!(there.ends_with("---\n{{#if x}}a{{/if}}b\n"), "{there}");
}

#[test]
fn what_has_no_counterpart_is_refused_where_it_stands() {
    let strict = "{\n \"userPrompt\": \"Hi {{.x}}\"\n}";
    let tools = PROMPTY.replace("model:\n", "tools:\n  - {name: a, kind: mcp}\nmodel:\n");
    let cases = [
        (
            "p.prompty",
            "---\nname: p\n---\nuser:\n{% set y = x %}a\n",
            ConvertTarget::Dotprompt,
            "p.prompty:5:1: ",
        ),
        (
            "p.prompty",
            "---\nname: p\n---\nuser:\nA {{ x | upper }}\n",
            ConvertTarget::SemanticKernel,
            "p.prompty:5:",
        ),
        (
            "p.prompty",
            "---\nname: p\n---\nuser[n=1]:\nA\n",
            ConvertTarget::Dotprompt,
            "p.prompty:5:1: metadata of a message",
        ),
        (
            "p.prompty",
            "---\nname: p\ninputs:\n  - {name: t, kind: thread}\n---\nuser:\n{{t}}\n",
            ConvertTarget::Dotprompt,
            "p.prompty:3:1: t is a conversation or media, not text",
        ),
        (
            "p.prompty",
            &tools,
            ConvertTarget::Dotprompt,
            "p.prompty:3:1: tools has no counterpart",
        ),
        (
            "p.prompty",
            "---\nname: p\n---\nuser:\n{{ a.b }}\n",
            ConvertTarget::SemanticKernel,
            "p.prompty:5:1: ",
        ),
        (
            "p.json",
            strict,
            ConvertTarget::Dotprompt,
            "p.json: a missing variable is an error in this prompt",
        ),
        (
            "p.yaml",
            "template: |\n  <message role=\"user\">a <b>c</b></message>\ntemplate_format: semantic-kernel\n",
            ConvertTarget::Dotprompt,
            "p.yaml:2:26: markup",
        ),
        (
            "p.yaml",
            "template: Hi\ninput_variables:\n  - name: a\n    allow_dangerously_set_content: true\n",
            ConvertTarget::Prompty,
            "p.yaml:4:5: a is trusted",
        ),
        (
            "p.prompt",
            "---\noutput: {schema: string}\n---\nHi",
            ConvertTarget::Prompty,
            "p.prompt:2:1: output",
        ),
        (
            "p.prompt",
            "{{role x}}Hi",
            ConvertTarget::Prompty,
            "p.prompt:1:1: a computed role",
        ),
        (
            "p.prompty",
            "system:\nHi\n{% for m in past %}\n{{ m.role }}:\n{{ m.text }}\n{% endfor %}",
            ConvertTarget::Dotprompt,
            "p.prompty:4:1: a computed role",
        ),
        (
            "p.prompt",
            "{{role \"user\"}}{{> head}}",
            ConvertTarget::Prompty,
            "p.prompt:1:16: ",
        ),
    ];
    for (name, text, target, expected) in cases {
        let refused = converted(name, text, target).unwrap_err();
        assert!(refused.starts_with(expected), "{text}: {refused}");
    }
}

#[test]
fn a_template_with_anything_in_it_stays_in_its_own_format() {
    let text = "---\nname: p\n---\nuser:\n{% if x %}a{% endif %}\n";
    let definition = converted("p.prompty", text, ConvertTarget::Definition).unwrap();
    assert!(
        definition.contains("\"format\": \"jinja-plain\""),
        "{definition}"
    );
    assert!(definition.contains("\"messageSyntax\": \"role-lines\""));
}

#[test]
fn conditions_and_loops_go_along() {
    let text = "---\nname: p\ninputs:\n  - {name: live, kind: boolean}\n---\nsystem:\n{% if live %}On: {{ live }}.{% else %}Off.{% endif %}\n\nuser:\n{% for x in rows %}- {{ x.title }}\n{% endfor %}";
    let there = converted("p.prompty", text, ConvertTarget::Dotprompt).unwrap();
    let template = "{{role \"system\"}}{{#if live}}On: {{#if live}}True{{else}}False{{/if}}.{{else}}Off.{{/if}}{{role \"user\"}}{{#each rows}}- {{title}}\n{{!}}{{/each}}";
    assert!(there.contains(template), "{there}");
    let back = converted("p.prompt", &there, ConvertTarget::Prompty).unwrap();
    assert!(
        back.contains("{% for item in rows %}- {{ item.title }}\n{% endfor %}"),
        "{back}"
    );
    let call = "user:\n{{ f(x) }}";
    let refused = converted("p.prompty", call, ConvertTarget::Dotprompt).unwrap_err();
    assert!(
        refused.starts_with("p.prompty:2:1: the call of f"),
        "{refused}"
    );
}
