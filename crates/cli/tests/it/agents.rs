//! Agents and skills: storing, checking and running them.

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};

use crate::Place;
use crate::ask::{borrowed, reach};

const HELPER: &str =
    "description: Helps\nmodel: gpt-house\ninstructions: You help.\ntools: ['prompt/*']\n";
const SKILL: &str = "---\nname: counting\ndescription: How to count\n---\nCount slowly.\n";

#[test]
fn agents_are_put_shown_asked_and_removed() {
    let place = Place::new().with(&[("helper.yaml", HELPER), ("bad.yaml", "modle: gpt-4o\n")]);
    std::fs::create_dir(place.path().join("s")).unwrap();
    let store = ["-s", "dir:s"];
    let run = |args: &[&str]| place.run(&[args, &store[..]].concat());
    assert_eq!(
        run(&["agent", "put", "helper", "helper.yaml"]).code,
        Some(0)
    );
    run(&["agent", "list"]).gives("helper\n");
    assert!(run(&["agent", "show", "helper"]).out.contains("You help."));
    run(&["agent", "put", "bad", "bad.yaml"]).fails(3, &["modle", "did you mean", "model"]);
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Sure."])]));
    let env = reach(&provider);
    let args = ["ask", "hi", "--agent", "helper", "-s", "dir:s"];
    place.run_with(&args, "", &borrowed(&env)).gives("Sure.\n");
    let asked = provider.requests()[0].json();
    assert_eq!(
        (&asked["model"], &asked["messages"][0]["content"]),
        (&"gpt-house".into(), &"You help.".into())
    );
    let unknown = place.run(&["ask", "hi", "--agent", "helpr", "-s", "dir:s"]);
    unknown.fails(2, &["unknown agent \"helpr\"", "did you mean \"helper\"?"]);
    let models = place.run(&["models", "-s", "dir:s"]);
    assert!(models.out.contains("agents\n  helper\n"), "{models:?}");
    assert_eq!(run(&["agent", "remove", "helper"]).code, Some(0));
    run(&["agent", "list"]).gives("");
}

#[test]
fn files_of_agents_and_skills_are_checked() {
    let place = Place::new().with(&[
        ("good/agents/helper.yaml", HELPER),
        ("good/skills/counting/SKILL.md", SKILL),
        ("good/prompts/hi.gotmpl", "Hi"),
        (
            "idle/agents/a.yaml",
            "tools: [web_serch, prompt/hi]\nskills: [countin]\n",
        ),
        ("idle/prompts/hi.gotmpl", "Hi"),
        ("idle/skills/counting/SKILL.md", SKILL),
        ("bad/agents/helper.yaml", "modle: gpt-4o\n"),
        ("bad/skills/counting/SKILL.md", "---\nname: counting\n"),
        ("loose/x/SKILL.md", "---\nname: counting\n"),
        ("loose/agents/helper.yaml", "modle: gpt-4o\n"),
    ]);
    let good = place.run(&["check", "good"]);
    assert_eq!((good.code, good.out.as_str()), (Some(0), ""), "{good:?}");
    assert!(good.err.contains("3 definitions checked"), "{good:?}");
    let idle = place.run(&["check", "idle"]);
    assert_eq!(idle.code, Some(0), "{idle:?}");
    assert!(idle.err.contains("0 errors, 2 warnings"), "{idle:?}");
    for part in [
        "\"web_serch\" matches no tool",
        "agents/a.yaml:1:",
        "did you mean web_search?",
        "unknown skill \"countin\"",
        "did you mean counting?",
    ] {
        assert!(idle.out.contains(part), "{part}: {idle:?}");
    }
    for folder in ["bad", "loose/x", "loose/agents"] {
        let bad = place.run(&["check", folder]);
        assert_eq!(bad.code, Some(3), "{folder}: {bad:?}");
        let is_told = bad.out.contains("modle") || bad.out.contains("front matter");
        assert!(is_told, "{folder}: {bad:?}");
    }
}

#[test]
fn a_skill_is_offered_to_the_model() {
    let place = Place::new().with(&[("skills/counting/SKILL.md", SKILL)]);
    for folder in ["skills", "skills/counting"] {
        let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["One."])]));
        let env = reach(&provider);
        let args = ["ask", "hi", "-m", "gpt-4o", "--skill", folder];
        place.run_with(&args, "", &borrowed(&env)).gives("One.\n");
        let asked = provider.requests()[0].text();
        assert!(
            asked.contains("How to count") && !asked.contains("Count slowly"),
            "{asked}"
        );
    }
    place
        .run(&["ask", "hi", "-m", "mock", "--skill", "."])
        .fails(2, &["no skill in"]);
}
