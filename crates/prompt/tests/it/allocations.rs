//! Allocations of a render when everything is cached: nothing is parsed or compiled, and no lookup
//! key is allocated.

use futures_util::FutureExt;
use quillet_core::Map;
use quillet_core::store::EntryKind::{Environ, Prompt};
use quillet_prompt::RenderInput;
use quillet_test_support::TestStore;

use crate::loaded;

/// One allocation for the text and three for the object that combines the request's variables with
/// the shared ones: its entries, their index, and its shared pointer.
const TEXT_AND_VARIABLES: u64 = 4;

#[tokio::test]
async fn a_cached_render_allocates_its_text_and_its_variables() {
    let store = TestStore::new(&[
        (Environ, "vscode:lang", "\"go\""),
        (Prompt, "e:text", r#"{"prompt":"just text"}"#),
        (
            Prompt,
            "e:args",
            r#"{"prompt":"a {{.args.x}} b {{.args.y}}"}"#,
        ),
        (
            Prompt,
            "e:shared",
            r#"{"prompt":"{{.vscode.lang}} {{.args.x}}{{.args.y}}"}"#,
        ),
        (
            Prompt,
            "e:jinja",
            r#"{"format":"jinja","prompt":"{{ vscode.lang }} {{ args.x }}{{ args.y }}"}"#,
        ),
    ]);
    let service = loaded(&store).await;
    let variables: Map = serde_json::from_str(r#"{"x":"X","y":"Y"}"#).unwrap();
    let none = Map::default();
    for id in ["e.text", "e.args", "e.shared", "e.jinja"] {
        // An unused variable would cause a warning.
        let given = if id == "e.text" { &none } else { &variables };
        let input = RenderInput::new(given, "test");
        // The first render compiles the template and fetches the variables.
        service.render(id, &input).await.unwrap();
        let found = allocation_counter::measure(|| {
            let rendered = service.render(id, &input).now_or_never();
            drop(rendered.expect("there is nothing to wait for").unwrap());
        });
        assert_eq!(found.count_total, TEXT_AND_VARIABLES, "{id}");
    }
}
