//! Inheritance of scripts.

use std::sync::Arc;

use quillet_core::Value;
use quillet_script::ScriptError;
use quillet_script::library::{
    BuiltinLibrary, LayeredLibrary, Library, Memory, ResolvedScript, resolve,
};

async fn resolved(files: &[(&str, &str)]) -> Result<ResolvedScript, ScriptError> {
    let own = Memory::new(files.iter().copied());
    let layers: Vec<Arc<dyn Library>> = vec![Arc::new(own), Arc::new(BuiltinLibrary)];
    let library = LayeredLibrary::new(layers);
    let main = library.find("main", None).await?.unwrap();
    resolve(main, &library).await
}

fn json(value: &str) -> Value {
    quillet_core::json::parse(value).unwrap()
}

#[tokio::test]
async fn bodies_and_functions_come_from_the_eldest_to_the_child() {
    let found = resolved(&[
        ("base.ai.yaml", "---\n_id: root\ntype: type\ntitle: the type\nlang: de\n---\nsystem: base\n!fn |-\n  hi(x) { return 1 }\n!fn |-\n  both() { return 1 }\n"),
        ("mix.ai.yaml", "---\nlang: fr\ntitle: mix\n---\nsystem: mix\n"),
        ("main.ai.yaml", "---\ntype: root\nextends: [mix]\nname: main\n---\nuser: main\n!fn |-\n  both() { return 2 }\n"),
    ])
    .await
    .unwrap();
    assert_eq!(found.id, "main");
    assert_eq!(found.lineage, ["root", "mix", "main"]);
    let functions: Vec<(&str, &str)> = found
        .functions
        .iter()
        .map(|(script, index)| {
            (
                script.source.name.as_str(),
                script.functions[*index].name.as_str(),
            )
        })
        .collect();
    assert_eq!(
        functions,
        [("base.ai.yaml", "hi"), ("main.ai.yaml", "both")]
    );
    let expected =
        json(r#"{"type":"root","extends":["mix"],"name":"main","lang":"fr","title":"mix"}"#);
    assert_eq!(Value::Map(found.config), expected);
}

#[tokio::test]
async fn tables_of_named_things_are_merged_by_their_names() {
    let table = [
        (
            "input: [{name: {required: true}}, description]",
            "input: [{name: {index: 0}}, extra]",
            r#"{"input":[{"name":{"index":0,"required":true}},"description","extra"]}"#,
        ),
        (
            "input: [a]",
            "input: {b: {type: number}}",
            r#"{"input":{"a":null,"b":{"type":"number"}}}"#,
        ),
        (
            "tools: [weather, {id: now, title: time}]",
            "tools: [{id: now, title: clock}, search]",
            r#"{"tools":["weather",{"id":"now","title":"clock"},"search"]}"#,
        ),
        (
            "tools: [weather]",
            "tools: {weather: {title: w}}",
            r#"{"tools":{"weather":{"title":"w"}}}"#,
        ),
        (
            "roles: {a: x, b: y}",
            "roles: {b: z}",
            r#"{"roles":{"a":"x","b":"z"}}"#,
        ),
        (
            "tools: [weather]",
            "tools: ['@inheritMerge(false)', search]",
            r#"{"tools":["search"]}"#,
        ),
        (
            "prompt: {messages: [{role: system, content: a}], x: 1}\nstop: [a]",
            "prompt: {messages: [{role: user, content: b}]}\nstop: ['@inheritMerge(.end)', b]",
            r#"{"prompt":{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}],"x":1},"stop":["b","a"]}"#,
        ),
    ];
    for (parent, child, expected) in table {
        let files = [
            ("base.ai.yaml", format!("---\n{parent}\n---\n")),
            (
                "main.ai.yaml",
                format!("---\nextends: base\n{child}\n---\n"),
            ),
        ];
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        let found = resolved(&files).await.unwrap();
        let mut config = found.config.to_table();
        config.shift_remove("extends");
        assert_eq!(
            Value::Map(quillet_core::Map::new(config)),
            json(expected),
            "{parent} / {child}"
        );
    }
}

#[tokio::test]
async fn characters_take_the_nearest_type_char_or_ours() {
    let main = (
        "main.ai.yaml",
        "---\ntype: char\nname: Dobby\n---\nuser: who?\n",
    );
    let ours = resolved(&[main]).await.unwrap();
    assert_eq!(ours.lineage, ["char", "main"]);
    assert_eq!(ours.bodies[0].source.name, "builtin/char.ai.yaml");
    assert_eq!(ours.config.get("title"), None);
    let near = ("char.ai.yaml", "---\ntype: type\n---\nsystem: near\n");
    assert_eq!(
        resolved(&[main, near]).await.unwrap().bodies[0].source.name,
        "char.ai.yaml"
    );
    // A script with this name that is not a type is only a character.
    let other = ("char.ai.yaml", "---\ntype: char\n---\nsystem: x\n");
    assert_eq!(
        resolved(&[main, other]).await.unwrap().bodies[0]
            .source
            .name,
        "builtin/char.ai.yaml"
    );
}

#[tokio::test]
async fn what_is_inherited_twice_is_there_once() {
    let found = resolved(&[
        ("root.ai.yaml", "system: root\n"),
        ("a.ai.yaml", "---\nextends: root\n---\n"),
        ("b.ai.yaml", "---\nextends: root\n---\n"),
        ("main.ai.yaml", "---\nextends: [a, b]\n---\n"),
    ])
    .await
    .unwrap();
    assert_eq!(found.lineage, ["root", "a", "b", "main"]);
}

#[tokio::test]
async fn what_cannot_be_inherited_is_an_error_with_its_place() {
    let main = "---\ntype: TYPE\n---\nuser: x\n";
    let table: [(&[(&str, &str)], &str); 7] = [
        (
            &[
                ("aa.ai.yaml", "---\nextends: bb\n---\n"),
                ("bb.ai.yaml", "---\nextends: aa\n---\n"),
                ("main.ai.yaml", "---\nextends: aa\n---\n"),
            ],
            "bb.ai.yaml:2:10: inheritance cycle: aa → bb → aa",
        ),
        (
            &[("main.ai.yaml", "---\nextends: main\n---\n")],
            "main.ai.yaml:2:10: inheritance cycle: main → main",
        ),
        (
            &[("main.ai.yaml", main), ("TYPO.ai.yaml", "user: x\n")],
            "main.ai.yaml:2:7: unknown script \"TYPE\" (did you mean TYPO?)",
        ),
        (
            &[("main.ai.yaml", main), ("TYPE.ai.yaml", "user: x\n")],
            "main.ai.yaml:2:7: \"TYPE\" is not a type (inherit from a script with `extends:`; a type declares `type: type`)",
        ),
        (
            &[("main.ai.yaml", "---\ntype: chr\n---\n")],
            "main.ai.yaml:2:7: unknown script \"chr\" (did you mean char?)",
        ),
        (
            &[("main.ai.yaml", "---\nextends: ../../etc/passwd\n---\n")],
            "main.ai.yaml:2:10: the name \"../../etc/passwd\" is outside of the script folders",
        ),
        (
            &[
                ("main.ai.yaml", "---\nextends: bad\n---\n"),
                ("bad.ai.yaml", "- user: \"x\n"),
            ],
            "bad.ai.yaml:2:1: not YAML",
        ),
    ];
    for (files, expected) in table {
        let error = resolved(files).await.unwrap_err();
        let told = error.diagnostics[0].to_string();
        assert!(told.starts_with(expected), "{told} instead of {expected}");
    }
    for plain in ["lib", "type", "script", "''"] {
        let text = format!("---\ntype: {plain}\n---\n");
        assert_eq!(
            resolved(&[("main.ai.yaml", &text)]).await.unwrap().lineage,
            ["main"]
        );
    }
}

#[tokio::test]
async fn a_lineage_has_an_end() {
    let mut files = vec![(
        "main.ai.yaml".to_owned(),
        "---\nextends: s0\n---\n".to_owned(),
    )];
    for number in 0..200 {
        let text = format!("---\nextends: s{}\n---\n", number + 1);
        files.push((format!("s{number}.ai.yaml"), text));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let error = resolved(&files).await.unwrap_err();
    assert_eq!(
        error.message(),
        "inheritance from too many scripts (limit 64)"
    );
}
