//! Finding scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quillet_core::{Map, Span, Value};
use quillet_script::host::{
    self, Grants, ModelHandle, ModelSource, NoObserver, NoTools, RunAccess,
};
use quillet_script::js::JsOptions;
use quillet_script::library::{
    BuiltinLibrary, Folders, LayeredLibrary, Library, Memory, check, demand, id, open, resolve,
};
use quillet_script::run::{self, ScriptEngine, ScriptInput};
use quillet_script::syntax::{ItemKind, ScriptSource};
use quillet_script::text::template::{TemplateJob, Templates};
use quillet_script::{ErrorKind, ScriptError};
use quillet_template::{NoFunctions, RenderLimits, TemplateFactory};

/// A temporary folder, deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-library-{}-{count}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&root).unwrap();
        Folder(root.canonicalize().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Creates a source as if it had been read from a folder.
fn source(path: &Path) -> ScriptSource {
    ScriptSource {
        name: path.display().to_string(),
        path: Some(path.to_owned()),
        text: "".into(),
    }
}

fn echo(text: &str) -> String {
    format!("$echo: {text}\n")
}

async fn found(library: &dyn Library, name: &str, from: Option<&ScriptSource>) -> Option<String> {
    let script = library.find(name, from).await.unwrap()?;
    Some(
        script
            .source
            .text
            .trim_start_matches("$echo: ")
            .trim()
            .to_owned(),
    )
}

#[tokio::test]
async fn a_name_is_looked_up_from_the_nearest_folder_outwards() {
    let folder = Folder::new(&[
        ("main/main.ai.yaml", &echo("main")),
        ("main/near.ai.yaml", &echo("near of main")),
        ("main/sub/child.ai.yml", &echo("child")),
        ("main/sub/near.ai.yaml", &echo("near of sub")),
        ("main/pack/pack.ai.yaml", &echo("entry")),
        ("main/pack/inner.ai.yaml", &echo("inner")),
        ("lib/near.ai.yaml", &echo("near of lib")),
        ("lib/far.ai.yaml", &echo("far")),
        ("lib/a/b/c/deep.ai.yaml", &echo("deep")),
        ("lib/a/b/c/d/e/deeper.ai.yaml", &echo("too deep")),
        ("lib/node_modules/x/hidden.ai.yaml", &echo("hidden")),
        ("lib/.git/secret.ai.yaml", &echo("hidden")),
        ("lib/other.ai.yaml", "---\n_id: by-id\n---\n$echo: other\n"),
    ]);
    let library = Folders::new(&[folder.path("main"), folder.path("lib")]).unwrap();
    let main = source(&folder.path("main/main.ai.yaml"));
    let child = source(&folder.path("main/sub/child.ai.yml"));
    let stranger = source(Path::new("/somewhere/else.ai.yaml"));
    let table = [
        ("near", Some(&main), Some("near of main")),
        ("near.ai.yaml", Some(&main), Some("near of main")),
        ("near", Some(&child), Some("near of sub")),
        ("../near", Some(&child), Some("near of main")),
        ("./near", Some(&child), Some("near of sub")),
        ("near", Some(&stranger), Some("near of main")),
        ("./near", Some(&stranger), None),
        ("near", None, Some("near of main")),
        ("child", Some(&main), Some("child")),
        ("sub/child", Some(&main), Some("child")),
        ("sub/child.ai.yml", Some(&child), Some("child")),
        ("pack", Some(&main), Some("entry")),
        ("./pack", Some(&main), Some("entry")),
        ("pack/", Some(&main), Some("entry")),
        ("pack/inner", Some(&main), Some("inner")),
        ("far", Some(&main), Some("far")),
        ("./far", Some(&main), None),
        ("deep", Some(&main), Some("deep")),
        ("deeper", Some(&main), None),
        ("hidden", Some(&main), None),
        ("secret", Some(&main), None),
        ("nothing", Some(&main), None),
    ];
    for (name, from, expected) in table {
        let got = found(&library, name, from).await;
        let from = from.map(|from| &from.name);
        assert_eq!(got.as_deref(), expected, "{name} from {from:?}");
    }
    let by_id = library.find("by-id", Some(&main)).await.unwrap().unwrap();
    assert!(by_id.source.name.ends_with("lib/other.ai.yaml"));
    assert_eq!(id(&by_id), "by-id");
    assert!(library.ids().contains(&"by-id".to_owned()));
}

#[tokio::test]
async fn a_changed_file_is_read_again_and_an_unchanged_one_is_not() {
    let folder = Folder::new(&[("a.ai.yaml", &echo("one"))]);
    let library = Folders::new(&[&folder.0]).unwrap();
    let first = library.find("a", None).await.unwrap().unwrap();
    let again = library.find("a", None).await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    fs::write(folder.path("a.ai.yaml"), echo("another")).unwrap();
    assert_eq!(found(&library, "a", None).await.as_deref(), Some("another"));
}

#[tokio::test]
async fn modules_are_read_beside_the_script() {
    let folder = Folder::new(&[
        ("lib/tools.js", "export const a = 1"),
        ("lib/x.ai.yaml", "user: x\n"),
        ("secret.js", "no"),
    ]);
    let library = Folders::new(&[folder.path("lib")]).unwrap();
    let script = source(&folder.path("lib/x.ai.yaml"));
    let bytes = library.file("./tools.js", Some(&script)).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"export const a = 1"[..]));
    assert_eq!(
        library.file("./none.js", Some(&script)).await.unwrap(),
        None
    );
    let error = library
        .file("../secret.js", Some(&script))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
}

#[tokio::test]
async fn a_missing_script_is_told_with_the_nearest_id_and_its_place() {
    let folder = Folder::new(&[("translator.ai.yaml", &echo("t"))]);
    let library = Folders::new(&[&folder.0]).unwrap();
    let text = "-> translater\n";
    let mut from = source(&folder.path("main.ai.yaml"));
    from.text = text.into();
    from.name = "main.ai.yaml".to_owned();
    let at = Span { start: 3, end: 13 };
    let error = demand(&library, "translater", &from, at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(
        error.diagnostics[0].to_string(),
        "main.ai.yaml:1:4: unknown script \"translater\" (did you mean translator?)"
    );
    let error = demand(&library, "../x", &from, at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(
        error.diagnostics[0]
            .to_string()
            .starts_with("main.ai.yaml:1:4: the name \"../x\" is outside")
    );
}

#[tokio::test]
async fn what_is_no_script_is_an_error_with_its_place() {
    let folder = Folder::new(&[("bad.ai.yaml", "- user: \"x\n")]);
    fs::write(folder.path("latin.ai.yaml"), b"user: caf\xe9\n").unwrap();
    let library = Folders::new(&[&folder.0]).unwrap();
    let error = library.find("bad", None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Script);
    assert!(error.diagnostics[0].position.is_some());
    let error = library.find("latin", None).await.unwrap_err();
    let found = error.diagnostics[0].to_string();
    assert!(
        found.contains("latin.ai.yaml:1:10: ") && found.contains("UTF-8"),
        "{found}"
    );
}

#[tokio::test]
async fn opening_takes_a_file_a_package_or_an_id() {
    let folder = Folder::new(&[
        ("one.ai.yaml", &echo("one")),
        ("plain.yaml", &echo("plain")),
        ("pack/pack.ai.yaml", &echo("entry")),
        ("search/other.ai.yaml", &echo("other")),
    ]);
    let search = [folder.path("search")];
    let full = |name: &str| folder.path(name).display().to_string();
    let table = [
        (full("one.ai.yaml"), Some("one")),
        (full("one"), Some("one")),
        (full("plain.yaml"), Some("plain")),
        (full("pack"), Some("entry")),
        (full("pack/"), Some("entry")),
        (full("pack/."), Some("entry")),
        ("other".to_owned(), Some("other")),
        ("nothing".to_owned(), None),
    ];
    for (what, expected) in table {
        let opened = open(&what, &search).await;
        let text = opened
            .as_ref()
            .ok()
            .map(|opened| opened.script.source.text.clone());
        let text = text
            .as_deref()
            .map(|text| text.trim_start_matches("$echo: ").trim());
        assert_eq!(text, expected, "{what}");
    }
    let opened = open(&full("one"), &search).await.unwrap();
    let from = &opened.script.source;
    assert_eq!(
        found(opened.library.as_ref(), "other", Some(from))
            .await
            .as_deref(),
        Some("other")
    );
    assert!(
        opened
            .library
            .find("char", Some(from))
            .await
            .unwrap()
            .is_some()
    );
    let error = open("othr", &search).await.unwrap_err();
    assert_eq!(error.message(), "unknown script \"othr\"");
    assert_eq!(
        error.diagnostics[0].help.as_deref(),
        Some("did you mean other?")
    );
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_leads_out_of_the_roots() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new(&[
        ("outside.ai.yaml", &echo("outside")),
        ("root/char-dobby.ai.yaml", &echo("dobby")),
        ("root/evaluator.evaluate_quality.ai.yaml", &echo("quality")),
        ("root/real/in.ai.yaml", &echo("in")),
        ("model.key.ai.yaml", &echo("key")),
    ]);
    let root = folder.path("root");
    symlink(
        folder.path("outside.ai.yaml"),
        root.join("symlink-out.ai.yaml"),
    )
    .unwrap();
    symlink(&folder.0, root.join("up")).unwrap();
    symlink("real", root.join("link")).unwrap();
    let library = Folders::new(&[&root]).unwrap();
    assert_eq!(
        found(&library, "link/in", None).await.as_deref(),
        Some("in")
    );
    let refused = [
        "",
        "..",
        "../outside",
        "real/../../outside",
        "/etc/passwd",
        "C:\\x",
        "c:x",
        "\\\\host\\x",
        "real\\..\\..\\outside",
        "a\0",
        "up/outside",
        "symlink-out",
        "%2e%2e/outside",
        "..%2Foutside",
    ];
    for name in refused {
        let error = library.find(name, None).await.map(|found| found.is_some());
        assert_eq!(kind(error), Some(ErrorKind::Denied), "{name:?}");
        let error = library.file(name, None).await.map(|found| found.is_some());
        let kind = kind(error);
        // The file `symlink-out` has no script extension, so it is not found.
        assert!(
            kind == Some(ErrorKind::Denied) || name == "symlink-out",
            "{name:?} {kind:?}"
        );
    }
    let Some(vectors) = vectors("hostile/paths.jsonl") else {
        return;
    };
    let mut run = 0;
    for line in vectors.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = vector["value"].as_str().unwrap();
        let result = library
            .find(name, None)
            .await
            .map(|script| script.is_some());
        let allowed = vector["expect"] == "allow";
        match (allowed, vector["where"] == "script_id") {
            (true, _) => assert!(matches!(result, Ok(true)), "{name:?} {result:?}"),
            (false, true) => assert_eq!(kind(result), Some(ErrorKind::Denied), "{name:?}"),
            // Ids of prompts and of the environment follow other rules. They must not be found as
            // names of scripts.
            (false, false) => assert!(!matches!(result, Ok(true)), "{name:?} {result:?}"),
        }
        run += 1;
    }
    assert_eq!(run, 15);
}

/// A host without models.
#[derive(Debug)]
struct NoModels;

impl ModelSource for NoModels {
    fn model(&self, _: Option<&str>) -> Result<ModelHandle, String> {
        Err("there is no model".to_owned())
    }
}

pub(crate) async fn ran(text: &str) -> Result<Option<Value>, ScriptError> {
    ran_beside(&[("main.ai.yaml", text), ("notes.txt", "remember")]).await
}

/// Runs `main.ai.yaml` together with these files.
pub(crate) async fn ran_beside(files: &[(&str, &str)]) -> Result<Option<Value>, ScriptError> {
    let folder = Folder::new(files);
    let opened = open(&folder.path("main.ai.yaml").display().to_string(), &[]).await?;
    let engine = ScriptEngine {
        models: Arc::new(NoModels),
        tools: Arc::new(NoTools),
        library: opened.library,
        templates: Arc::new(TemplateFactory::standard()),
        limits: host::ScriptLimits::default(),
        javascript: JsOptions::default(),
    };
    let job = run::ScriptRun {
        script: opened.script,
        arguments: ScriptInput::None,
        stream: false,
        parameters: Map::default(),
        history: Vec::new(),
        seed: Some(1),
        reach: RunAccess::Granted(Grants::default()),
        observer: Arc::new(NoObserver),
    };
    Ok(engine.run(job).await?.value)
}

#[tokio::test]
async fn the_script_file_reads_beside_whoever_calls_it_and_url_wants_a_grant() {
    let table = [
        ("-> file(path=\"notes.txt\")\n", Ok("remember")),
        (
            "- $exec: {id: file, args: {path: notes.txt}}\n",
            Ok("remember"),
        ),
        (
            "- $exec: {id: file, args: {path: ../../../../etc/passwd}}\n",
            Err(""),
        ),
        ("- $exec: {id: file, args: {path: /etc/passwd}}\n", Err("")),
        (
            "- $exec: {id: url, args: {url: \"http://localhost/\"}}\n",
            Err("http://localhost/"),
        ),
    ];
    for (text, expected) in table {
        match (ran(text).await, expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, Some(Value::from(expected)), "{text}"),
            (Err(error), Err(expected)) => assert!(error.message().contains(expected), "{error:?}"),
            (result, _) => panic!("{text}: {result:?}"),
        }
    }
}

/// Hostile script files: their names refer to nothing, and every file gets a result.
#[tokio::test]
async fn hostile_scripts_are_read_resolved_and_checked_within_limits() {
    let Some(vectors) = vectors("hostile/ppe.jsonl") else {
        return;
    };
    let mut refused = Vec::new();
    for line in vectors.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let files = vector["files"].as_object().unwrap();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str().unwrap()))
            .collect();
        let folder = Folder::new(&files);
        let opened = open(&folder.path("main.ai.yaml").display().to_string(), &[])
            .await
            .unwrap();
        resolve(opened.script.clone(), opened.library.as_ref())
            .await
            .unwrap();
        let found = check(&opened.script, opened.library.as_ref(), &NoTools).await;
        if found
            .iter()
            .any(|found| found.severity == quillet_core::Severity::Error)
        {
            refused.push(vector["id"].as_str().unwrap().to_owned());
        }
    }
    // The other scripts are rejected by the limits of a run.
    assert_eq!(refused, ["ppe-v-import-abs"]);
}

/// All texts in a built-in script are templates, and the `char` script introduces its character.
#[tokio::test]
async fn built_in_scripts_have_no_findings_and_a_character_says_who_it_is() {
    for id in BuiltinLibrary.ids() {
        let script = BuiltinLibrary.find(&id, None).await.unwrap().unwrap();
        assert_eq!(check(&script, &BuiltinLibrary, &NoTools).await, [], "{id}");
    }
    let table = [
        (
            r#"{"name": "Dobby"}"#,
            "You play Dobby, in every answer",
            "",
        ),
        (
            r#"{"name": "Dobby", "description": "An elf."}"#,
            "You play Dobby",
            "\n\nWho you are:\nAn elf.",
        ),
        (
            r#"{"character": {"name": "Dobby", "mood": "happy", "roles": {"a": "b"}}}"#,
            "You play Dobby",
            "manner of speech.\nmood: happy",
        ),
    ];
    let script = BuiltinLibrary.find("char", None).await.unwrap().unwrap();
    let ItemKind::Message(message) = &script.body.items[0].kind else {
        panic!("{:?}", script.body.items[0]);
    };
    let templates = Templates::new(Arc::new(TemplateFactory::standard()));
    for (variables, begin, end) in table {
        let variables = quillet_core::json::parse(variables).unwrap();
        let job = TemplateJob {
            format: "hf",
            text: message.content.text().unwrap(),
            variables: variables.as_map().unwrap(),
            functions: &NoFunctions,
            limits: &RenderLimits::default(),
            authored: &|_| false,
            declared: &|_| true,
        };
        let text = templates.render(&job).await.unwrap();
        assert!(text.starts_with(begin) && text.ends_with(end), "{text}");
    }
}

fn kind<T>(result: Result<T, ScriptError>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind)
}

/// Returns third-party data, if it is available.
pub(crate) fn vectors(name: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let text = fs::read_to_string(root.join(name)).ok();
    if text.is_none() {
        println!("{name} is not there: left out");
    }
    text
}

#[tokio::test]
async fn a_folder_with_very_many_entries_is_looked_through_so_far_and_no_further() {
    let folder = Folder::new(&[("a/near.ai.yaml", &echo("near"))]);
    fs::create_dir_all(folder.path("b")).unwrap();
    for number in 0..20_100 {
        fs::File::create(folder.path(&format!("b/{number}.txt"))).unwrap();
    }
    fs::create_dir_all(folder.path("c")).unwrap();
    fs::write(folder.path("c/behind.ai.yaml"), echo("behind")).unwrap();
    let library = Folders::new(&[&folder.0]).unwrap();
    assert_eq!(found(&library, "near", None).await.as_deref(), Some("near"));
    assert_eq!(found(&library, "behind", None).await, None);
    assert_eq!(
        found(&library, "c/behind", None).await.as_deref(),
        Some("behind")
    );
}

#[tokio::test]
async fn memory_finds_as_folders_do() {
    let library = Memory::new([
        ("main.ai.yaml", "$echo: main"),
        ("sub/a.ai.yaml", "$echo: a of sub"),
        ("a.ai.yaml", "$echo: a"),
        ("pack/pack.ai.yaml", "$echo: entry"),
        ("named.ai.yaml", "---\n_id: other\n---\n$echo: named"),
        ("tools.js", "1"),
    ]);
    let sub = library.find("sub/a", None).await.unwrap().unwrap();
    let from = Some(sub.source.as_ref());
    assert_eq!(found(&library, "a", None).await.as_deref(), Some("a"));
    assert_eq!(
        found(&library, "a", from).await.as_deref(),
        Some("a of sub")
    );
    assert_eq!(found(&library, "../a", from).await.as_deref(), Some("a"));
    assert_eq!(
        found(&library, "pack", from).await.as_deref(),
        Some("entry")
    );
    assert!(library.find("other", None).await.unwrap().is_some());
    assert!(library.file("../tools.js", from).await.unwrap().is_some());
    assert_eq!(
        kind(library.find("../../a", from).await),
        Some(ErrorKind::Denied)
    );
    assert_eq!(
        kind(library.find("/a", None).await),
        Some(ErrorKind::Denied)
    );
}

#[tokio::test]
async fn layers_are_asked_in_order_and_built_in_scripts_come_last() {
    let own = Memory::new([("translator.ai.yaml", "$echo: mine")]);
    let layers: Vec<Arc<dyn Library>> = vec![Arc::new(own), Arc::new(BuiltinLibrary)];
    let library = LayeredLibrary::new(layers);
    assert_eq!(
        found(&library, "translator", None).await.as_deref(),
        Some("mine")
    );
    for id in BuiltinLibrary.ids() {
        let script = BuiltinLibrary.find(&id, None).await.unwrap().unwrap();
        assert_eq!(quillet_script::library::id(&script), id);
        assert!(library.find(&id, None).await.unwrap().is_some(), "{id}");
    }
    assert_eq!(
        library
            .ids()
            .iter()
            .filter(|id| *id == "translator")
            .count(),
        1
    );
}
