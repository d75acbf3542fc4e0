//! `quillet render`.

use crate::Place;

const HELLO: &str = "Hello {{.name}}!";

#[test]
fn templates_from_files_and_standard_input() {
    let place = Place::new().with(&[
        ("hello.tmpl", HELLO),
        ("hello.j2", "Hello {{ name }}!"),
        ("plain", "{{len .items}} {{.n}}"),
        ("data.yaml", "name: Ada\n"),
        ("data.json", r#"{"name": "Ada", "n": 1000000, "items": [1, 2]}"#),
        ("data.toml", "name = 'Ada'\n"),
        ("name.txt", "Grace"),
        ("prompt.yaml", "messages:\n  - role: user\n    content: Hi {{.variables.name}}\n"),
        ("prompt.json", r#"{"userPrompt": "Hi {{.args.name}}", "parameters": [{"name": "name", "type": "string", "default": "you"}]}"#),
    ]);
    let cases: [(&[&str], &str, &str); 15] = [
        (&["hello.tmpl", "-D", "name=Ada"], "", "Hello Ada!"),
        (&["hello.tmpl", "-D", "name=@name.txt"], "", "Hello Grace!"),
        (&["hello.tmpl", "-D", "name:=[1,2]"], "", "Hello [1 2]!"),
        (&["hello.tmpl", "-d", "data.yaml"], "", "Hello Ada!"),
        (&["hello.tmpl", "-d", "data.toml"], "", "Hello Ada!"),
        (
            &["hello.tmpl", "-d", "-"],
            r#"{"name": "Linus"}"#,
            "Hello Linus!",
        ),
        (
            &["hello.tmpl", "-d", "data.yaml", "-D", "name=Grace"],
            "",
            "Hello Grace!",
        ),
        (&["hello.j2", "-D", "name=Ada"], "", "Hello Ada!"),
        (&["-", "-D", "name=Ada"], HELLO, "Hello Ada!"),
        (
            &["-", "-f", "jinja", "-D", "name=Ada"],
            "Hello {{ name }}!",
            "Hello Ada!",
        ),
        (
            &["-", "-D", "name=Ada"],
            "Hello {{.variables.name}}{{.args.name}}!",
            "Hello AdaAda!",
        ),
        (&["plain", "--data", "data.json"], "", "2 1000000"),
        (&["prompt.yaml", "-D", "name=Ada"], "", "[user]\nHi Ada\n"),
        (&["prompt.json"], "", "Hi you"),
        (&["hello.tmpl", "--lenient"], "", "Hello <no value>!"),
    ];
    for (args, input, expected) in cases {
        let args: Vec<&str> = ["render"].iter().chain(args).copied().collect();
        let done = place.run_with(&args, input, &[]);
        assert_eq!(
            (done.out.as_str(), done.err.as_str(), done.code),
            (expected, "", Some(0)),
            "{args:?}"
        );
    }
}

#[test]
fn json_says_what_kind_it_is() {
    let place = Place::new().with(&[
        ("t.tmpl", "a"),
        (
            "m.json",
            r#"{"messages": [{"role": "user", "content": "a"}]}"#,
        ),
    ]);
    let text: serde_json::Value =
        serde_json::from_str(&place.run(&["render", "t.tmpl", "--json"]).out).unwrap();
    assert_eq!(
        text,
        serde_json::json!({"kind": "prompt", "prompt": "a", "warnings": []})
    );
    let messages: serde_json::Value =
        serde_json::from_str(&place.run(&["render", "m.json", "--json"]).out).unwrap();
    assert_eq!(
        messages["messages"],
        serde_json::json!([{"role": "user", "content": "a"}])
    );
}

#[test]
fn a_missing_variable_has_a_caret_and_the_nearest_name() {
    let place = Place::new().with(&[("t.tmpl", "Hi\n  {{.nmae}} and {{.age}}")]);
    let done = place.run(&["render", "t.tmpl", "-D", "name=Ada"]);
    done.fails(
        3,
        &[
            "variable nmae is not set",
            "t.tmpl:2:",
            "name is set; check the spelling of both names",
            "^^^^",
            "variable age is not set",
        ],
    );
}

#[test]
fn every_failure_names_the_thing_and_has_its_code() {
    let place = Place::new().with(&[
        ("bad.tmpl", "a\n{{if .x}}"),
        ("unknown.tmpl", "{{translate .x}}"),
        ("fails.tmpl", "{{index .x 9}}"),
        ("bad.json", r#"{"userPrompt": 1}"#),
        ("broken.json", "{\"userPrompt\": }"),
        ("broken.yaml", "a: [1"),
        ("typed.json", r#"{"userPrompt": "{{.variables.n}}", "parameters": [{"name": "n", "type": "integer", "required": true}]}"#),
        ("quillet.toml", ""),
    ]);
    let cases: [(&[&str], i32, &[&str]); 14] = [
        (&["nothing.tmpl"], 1, &["no such file: \"nothing.tmpl\""]),
        (
            &["some.id"],
            1,
            &["no such file: \"some.id\"", "--store URL"],
        ),
        (&["bad.tmpl"], 3, &["bad.tmpl:2:", "unexpected EOF"]),
        (
            &["unknown.tmpl", "-D", "x=1"],
            3,
            &[
                "function \"translate\" is not defined",
                "unknown.tmpl:1:",
                "^^^^^^^^^",
            ],
        ),
        (
            &["fails.tmpl", "-D", "x:=[1]"],
            3,
            &["fails.tmpl:1:", "index out of range"],
        ),
        (&["bad.json"], 3, &["userPrompt must be a string"]),
        (&["broken.json"], 3, &["broken.json", "not JSON"]),
        (&["broken.yaml"], 3, &["broken.yaml", "not YAML"]),
        (&["typed.json", "-D", "n=x"], 3, &["invalid variables", "n"]),
        (
            &["bad.tmpl", "-D", "novalue"],
            2,
            &["-D \"novalue\" must be name=text"],
        ),
        (&["bad.tmpl", "-D", "x:=nope"], 2, &["-D x:= needs JSON"]),
        (
            &["bad.tmpl", "-D", "x=@nothing"],
            1,
            &["nothing: No such file"],
        ),
        (&["bad.tmpl", "-d", "broken.yaml"], 3, &["not YAML"]),
        (
            &["bad.tmpl", "-f", "jinjja"],
            3,
            &["jinjja", "did you mean jinja?"],
        ),
    ];
    for (args, code, words) in cases {
        let args: Vec<&str> = ["render"].iter().chain(args).copied().collect();
        place.run(&args).fails(code, words);
    }
}

#[test]
fn stored_prompts_render_by_their_id() {
    let place = Place::new().with(&[
        (
            "s/prompts/greet/hello.gotmpl",
            "Hello {{.variables.name}} in {{.vscode.lang}}",
        ),
        ("s/environs/vscode/lang.json", "\"go\""),
    ]);
    place
        .run(&["render", "greet.hello", "-s", "dir:s", "-D", "name=Ada"])
        .gives("Hello Ada in go");
    let done = place.run(&["render", "greet.helo", "-s", "dir:s"]);
    done.fails(
        1,
        &[
            "prompt \"greet.helo\" does not exist",
            "did you mean \"greet.hello\"?",
        ],
    );
    let done = place.run(&["render", "greet.hello", "-s", "dir:s"]);
    done.fails(
        3,
        &["variable variables.name is not set", "hello.gotmpl", ":1:"],
    );
    let with_store = place.run_with(&["render", "-", "-s", "dir:s"], "{{.vscode.lang}}", &[]);
    with_store.gives("go");
}

#[test]
fn schemas_that_prompt_files_name_are_given() {
    let recipe =
        r#"{"type": "object", "properties": {"dish": {"type": "string"}}, "required": ["dish"]}"#;
    let prompt = "---\nmodel: mock\ninput:\n  schema: RecipeRequest\noutput:\n  schema:\n    first: Recipe, the best\n---\nCook {{dish}}";
    let place = Place::new().with(&[
        ("recipe.prompt", prompt),
        ("request.json", recipe),
        (
            "recipe.yaml",
            "type: object\nproperties:\n  title: {type: string}\n",
        ),
        ("list.json", "[]"),
    ]);
    let given = [
        "--schema",
        "RecipeRequest=request.json",
        "--schema",
        "Recipe=recipe.yaml",
    ];
    let with = |args: &[&'static str]| [args, &given[..]].concat();
    place
        .run(&with(&["render", "recipe.prompt", "-D", "dish=soup"]))
        .gives("Cook soup");
    // The type of a variable must match the schema.
    place
        .run(&with(&["render", "recipe.prompt", "-D", "dish:=7"]))
        .fails(3, &["dish"]);
    let checked = place.run(&with(&["check", "recipe.prompt"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let dry = place.run(&with(&[
        "run",
        "recipe.prompt",
        "-D",
        "dish=soup",
        "--dry-run",
    ]));
    assert!(dry.out.contains("Cook soup"), "{}", dry.out);
    let why = "unknown type or schema \"RecipeRequest\"";
    let done = place.run(&["render", "recipe.prompt"]);
    done.fails(3, &[why, "--schema RecipeRequest=FILE"]);
    let checked = place.run(&["check", "recipe.prompt"]);
    assert!(checked.out.contains(why), "{checked:?}");
    let wrong = place.run(&["render", "recipe.prompt", "--schema", "Recipe"]);
    wrong.fails(2, &["must be NAME=FILE"]);
    let wrong = place.run(&["render", "recipe.prompt", "--schema", "Recipe=list.json"]);
    wrong.fails(2, &["must be a JSON Schema object, not an array"]);
    // Settings provide the defaults for every command, and the command line overrides them.
    let settings =
        "[prompts.schemas]\nRecipeRequest = \"request.json\"\nRecipe = \"recipe.yaml\"\n";
    let place = place.with(&[("quillet.toml", settings), ("any.json", "{}")]);
    let render = ["render", "recipe.prompt", "-D", "dish:=7"];
    place.run(&render).fails(3, &["dish"]);
    place
        .run(&[&render[..], &["--schema", "RecipeRequest=any.json"]].concat())
        .gives("Cook 7");
    let checked = place.run(&["check", "recipe.prompt"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let place = place.with(&[(
        "quillet.toml",
        "[prompts.schemas]\nRecipe = \"nothing.json\"\n",
    )]);
    place
        .run(&render)
        .fails(1, &["prompts.schemas.Recipe", "nothing.json"]);
    let shown = place.run(&["config", "show"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
}

#[test]
fn the_ending_names_the_format() {
    let config = r#"{"schema": 1, "input_variables": [{"name": "x", "default": "none"}]}"#;
    let prompty = "---\nname: p\nmodel: m\ninputs:\n  x: string\n---\nuser:\n{{x}}\n";
    let place = Place::new().with(&[
        ("a.tmpl", "{{.x}}"),
        ("a.j2", "{{ x }}"),
        ("a.hbs", "{{#if x}}{{x}}{{/if}}"),
        ("a.handlebars", "{{x}}"),
        ("a.mustache", "{{#x}}{{.}}{{/x}}"),
        ("a.liquid", "{% if x %}{{ x }}{% endif %}"),
        ("a.sk", "{{$x}}"),
        ("a.fstring", "{x}"),
        ("joke/skprompt.txt", "{{$x}}"),
        ("joke/config.json", config),
        (
            "a.yaml",
            "template: '{{$x}}'\ntemplate_format: semantic-kernel\n",
        ),
        ("a.prompt", "---\nmodel: m\n---\n{{x}}"),
        ("a.prompty", prompty),
        ("broken.prompt", "---\nmodel: m\n---\n{{#if x}}"),
        ("plain.txt", "{x}"),
    ]);
    let files = [
        "a.tmpl",
        "a.j2",
        "a.hbs",
        "a.handlebars",
        "a.mustache",
        "a.liquid",
        "a.sk",
        "a.fstring",
        "joke/skprompt.txt",
        "a.yaml",
        "a.prompt",
    ];
    for file in files {
        place.run(&["render", file, "-D", "x=X"]).gives("X");
    }
    place.run(&["render", "joke/skprompt.txt"]).gives("none");
    place
        .run(&["render", "a.prompty", "-D", "x=X"])
        .gives("[user]\nX\n");
    let asked = ["render", "plain.txt", "--format", "python", "-D", "x=X"];
    place.run(&asked).gives("X");
    // Locations refer to lines of the prompt file.
    let broken = place.run(&["render", "broken.prompt"]);
    broken.fails(3, &["broken.prompt:4:1", "{{#if x}}"]);
}
