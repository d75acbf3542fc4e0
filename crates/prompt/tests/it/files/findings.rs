//! Errors and warnings about invalid files include the subject, the location and the fix.

use super::read;

/// Returns the first diagnostic of a file as users see it.
fn finding(name: &str, text: &str) -> String {
    match read(name, text) {
        Ok((_, warnings)) => match warnings.first() {
            Some(warning) => warning.to_string(),
            None => panic!("nothing is found in {text:?}"),
        },
        Err(errors) => errors[0].to_string(),
    }
}

#[test]
fn every_finding_has_its_place() {
    let cases = [
        // dotprompt
        (
            "p.prompt",
            "---\nmodel: x\nconfg: 1\n---\nB",
            "p.prompt:3:1: unknown key \"confg\"",
            "config",
        ),
        (
            "p.prompt",
            "---\nmodel: [a\n---\nB",
            "p.prompt:",
            "not YAML",
        ),
        (
            "p.prompt",
            "---\nmodel: x\nB",
            "p.prompt:1:1: ",
            "end the front matter with a line `---`",
        ),
        (
            "p.prompt",
            "# note\n ---\nmodel: x\n---\nB",
            "p.prompt:2:1: ",
            "begin the line",
        ),
        (
            "p.prompt",
            "---\ninput:\n  schema:\n    a: strng\n---\nB",
            "p.prompt:4:8: unknown type or schema \"strng\"",
            "string",
        ),
        (
            "p.prompt",
            "---\ninput:\n  schema:\n    type: object\n    properties:\n      a: string, a text\n---\nB",
            "p.prompt:6:7: a is \"string, a text\", which is not a JSON Schema",
            "{type: string}",
        ),
        (
            "p.prompt",
            "---\ninput:\n  schema:\n    a(arr): string\n---\nB",
            "p.prompt:4:5: ",
            "array, object or enum",
        ),
        (
            "p.prompt",
            "---\nmodel: x\nconfig:\n  temperature: hot\n---\nB",
            "p.prompt:4:3: ",
            "temperature must be a number",
        ),
        (
            "p.prompt",
            "---\r\nmodel: 1\r\n---\r\nB",
            "p.prompt:2:8: ",
            "model must be a string",
        ),
        (
            "p.prompt",
            "---\n- a\n---\nB",
            "p.prompt:2:1: ",
            "must be an object",
        ),
        // prompty
        (
            "p.prompty",
            "---\nnam: x\n---\nB",
            "p.prompty:2:1: ",
            "name",
        ),
        (
            "p.prompty",
            "---\nauthors: [a]\n---\nB",
            "p.prompty:2:1: ",
            "in version 2 it is metadata.authors",
        ),
        ("p.prompty", "---\nname: x\nB", "p.prompty:1:1: ", "no end"),
        (
            "p.prompty",
            "\n ---\n name: x\nB",
            "p.prompty:2:2: ",
            "no end",
        ),
        (
            "p.prompty",
            "---\nname: x\ntemplate: jinja2\n---\nB",
            "p.prompty:3:11: ",
            "Invalid template format",
        ),
        (
            "p.prompty",
            "---\ninputs:\n  - {name: a, kind: strng}\n---\nB",
            "p.prompty:3:21: ",
            "unknown kind",
        ),
        (
            "p.prompty",
            "---\nmodel:\n  connection: ${file:../x.json}\n---\nB",
            "p.prompty:3:15: ",
            "outside allowed roots",
        ),
        (
            "p.prompty",
            "---\nmodel:\n  connection: ${file:/etc/passwd}\n---\nB",
            "p.prompty:3:15: ",
            "outside allowed roots",
        ),
        (
            "p.prompty",
            "---\nmodel:\n  options: ${file:x.json}\n---\nB",
            "p.prompty:3:12: ",
            "not available here",
        ),
        (
            "p.prompty",
            "---\nmodel:\n  id: ${env:HOME}\n---\nB",
            "p.prompty:3:7: ",
            "env:HOME",
        ),
        // Semantic Kernel
        (
            "p.yaml",
            "template: x\ntemplate_format: liqid\n",
            "p.yaml:2:18: ",
            "formats are semantic-kernel, handlebars, jinja2, liquid",
        ),
        (
            "p.yaml",
            "template: x\ninput_variables: []\nexecution_setings: {}\n",
            "p.yaml:3:1: unknown key",
            "execution_settings",
        ),
        (
            "p.yaml",
            "template: x\ninput_variables:\n  - name: a\n    default: [1]\n",
            "p.yaml:4:14: ",
            "quote the value",
        ),
        (
            "p.yaml",
            "template: x\ninput_variables: []\nexecution_settings:\n  a:\n    service_id: b\n",
            "p.yaml:5:17: ",
            "service_id must be \"a\"",
        ),
        ("p.txt", "x", "p.txt: this is not a prompt file", ".prompty"),
    ];
    for (name, text, place, says) in cases {
        let found = finding(name, text);
        assert!(
            found.starts_with(place) && found.contains(says),
            "{text:?}: {found}"
        );
    }
}

#[test]
fn aliases_cannot_make_a_file_large() {
    let mut text = String::from("---\na: &a [x, x, x, x, x, x, x, x]\n");
    for (before, name) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        let uses = vec![format!("*{before}"); 8].join(", ");
        text.push_str(&format!("{name}: &{name} [{uses}]\n"));
    }
    text.push_str("---\nB");
    let deep = format!("---\na: {}{}\n---\nB", "[".repeat(500), "]".repeat(500));
    assert!(finding("p.prompt", &text).contains("the YAML contains more than 20000 values"));
    assert!(finding("p.prompt", &deep).contains("nested"));
}
