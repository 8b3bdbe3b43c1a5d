use crate::board::testing::{patterns, role};
use crate::policy::provider::{Denial, Denials, Words};

use super::*;

fn config(yaml: &str) -> ProjectConfig {
    crate::wire::read_foreign(yaml.as_bytes(), crate::wire::Limits::default()).expect("liza.yaml")
}

fn roles(names: &[&str]) -> Vec<Role> {
    names.iter().map(|name| role(name)).collect()
}

/// A provider with an option for files, one for commands that also disables `liza`, and a mode that replaces another.
fn entry() -> ProviderEntry {
    let tools = |names: &[&str], without_liza| Denial {
        tools: names.iter().map(|name| (*name).to_owned()).collect(),
        without_liza,
        ..Denial::default()
    };
    ProviderEntry {
        command: vec!["it".into(), "{permissions}".into()],
        permissions: Some(vec!["--all".into()]),
        deny: Some(Denials {
            by_name: vec!["--without={tools}".to_owned()],
            write: Some(tools(&["Edit", "Write"], false)),
            run: Some(tools(&["Shell"], true)),
            network: Some(Denial {
                permissions: Some(vec![Words::Together(vec!["--mode".into(), "offline".into()])]),
                ..Denial::default()
            }),
            ..Denials::default()
        }),
        ..ProviderEntry::default()
    }
}

fn no_provider(_: &Role) -> Option<(String, ProviderEntry)> {
    None
}

#[test]
fn empty_registry_records_no_grants() {
    let config = ProjectConfig::default();
    let registry = Registry::new(&config);
    for role in registry.roles() {
        assert!(registry.grants(std::slice::from_ref(&role)).is_default(), "{role}");
    }
    assert!(registry.grants(&roles(&["coder", "code_reviewer", "planner"])).is_default());
    assert!(problems(registry, &no_provider).is_empty());
}

#[test]
fn registry_grants_exactly_what_it_says() {
    let config = config(
        "roles:\n  coder: {deny: [report, merge], may_message: [planner], paths: [src/]}\n  planner: {allow: [plan, report]}\n",
    );
    let registry = Registry::new(&config);
    let coder = registry.grants(&roles(&["coder"]));
    // A coder may never merge, so denying it records nothing.
    assert_eq!(coder.denied, [Operation::Report]);
    assert_eq!(coder.may_message, Some(roles(&["planner"])));
    assert_eq!((coder.may_spawn, coder.paths), (None, patterns(&["src/"])));
    let planner = registry.grants(&roles(&["planner"]));
    assert_eq!(planner.denied, [Operation::Work, Operation::Stop, Operation::Bundle, Operation::Message]);
}

#[test]
fn agent_with_two_roles_has_both_grants() {
    let config =
        config("roles: {coder: {deny: [work, report], paths: [src/]}, test_engineer: {paths: [tests/]}}");
    let registry = Registry::new(&config);
    assert_eq!(registry.grants(&roles(&["coder"])).denied, [Operation::Work, Operation::Report]);
    let both = registry.grants(&roles(&["coder", "test_engineer"]));
    assert_eq!((both.denied, both.paths), (Vec::new(), patterns(&["src/", "tests/"])));
    let unbounded = registry.grants(&roles(&["coder", "auditor"]));
    assert!(unbounded.paths.is_empty());
}

#[test]
fn planner_may_use_roles_added_in_liza_yaml() {
    let config = config("roles: {technical_writer: {}, coder: {}}");
    let grants = Registry::new(&config).grants(&roles(&["planner"]));
    assert_eq!(
        grants.may_spawn,
        Some(roles(&["auditor", "coder", "operator", "supervisor", "technical_writer", "test_engineer"]))
    );
    assert!(grants.may_message.is_some_and(|to| to.contains(&role("technical_writer"))));
    assert!(Registry::new(&config).grants(&roles(&["coder"])).is_default());
}

#[test]
fn roles_have_the_documents_aliases() {
    let config = config(
        "team: [{role: scaffolder}]\nroles: {project_manager: {may_message: [scaffolder]}, reviewer: {}, scaffolder: {}}",
    );
    let names: Vec<&str> = config.roles.keys().map(Role::as_str).collect();
    assert_eq!(names, ["code_reviewer", "coder", "planner"]);
    assert_eq!(Registry::new(&config).recipients(&role("planner")), roles(&["coder"]));
    assert_eq!(config.team[0].role, role("coder"));
    let twice = crate::wire::read_foreign::<ProjectConfig>(
        b"roles: {coder: {}, scaffolder: {}}",
        crate::wire::Limits::default(),
    );
    assert!(twice.expect_err("two settings").to_string().contains("twice"));
}

#[test]
fn default_denials_never_cut_off_liza() {
    let plain = ProjectConfig::default();
    let registry = Registry::new(&plain);
    for name in ["code_reviewer", "red_team", "planner", "overseer"] {
        let denied = registry.started_without(&role(name), &entry());
        assert_eq!(denied.classes, [ToolClass::Write], "{name}");
        assert_eq!(denied.words(&entry()), ["--without=Edit,Write"], "{name}");
    }
    assert_eq!(registry.started_without(&role("coder"), &entry()), Denied::default());
    let mut costly = entry();
    if let Some(write) = costly.deny.as_mut().and_then(|deny| deny.write.as_mut()) {
        write.without_liza = true;
    }
    assert_eq!(registry.started_without(&role("planner"), &costly), Denied::default());
    let own = ProviderEntry { command: vec!["mine".into()], ..entry() };
    assert_eq!(
        registry.started_without(&role("planner"), &own),
        Denied::default(),
        "a command without the mark gets none"
    );
    let said = config(
        "roles: {planner: {deny: [write, network, Task]}, code_reviewer: {allow: [read, run, write]}}",
    );
    let registry = Registry::new(&said);
    let planner = registry.started_without(&role("planner"), &costly);
    assert_eq!(planner.classes, [ToolClass::Write, ToolClass::Network]);
    assert_eq!(planner.words(&costly), ["--without=Edit,Write,Task"]);
    assert_eq!(planner.permissions(&costly).map(<[Words]>::len), Some(1));
    let reviewer = registry.denied_classes(&role("code_reviewer"));
    assert_eq!(reviewer, [DeniedClass { class: ToolClass::Network, express: true }]);
}

#[test]
fn role_cells_name_their_enforcement() {
    let config = config("roles: {coder: {deny: [report, run]}, code_reviewer: {deny: [Task]}}");
    let registry = Registry::new(&config);
    let found = matrix(registry, &|role| (role.as_str() != "planner").then(|| ("it".to_owned(), entry())));
    let cell = |what: &str, name: &str| {
        let row = found.rows.iter().find(|row| row.what == what).expect("a row");
        let cell = row.cells.iter().find(|cell| cell.role.as_str() == name).expect("a cell");
        (cell.allowed, cell.by, cell.note.as_str())
    };
    assert_eq!(cell("plan", "coder"), (false, Held::Rule, ""));
    assert_eq!(cell("plan", "planner"), (true, Held::Rule, ""));
    assert_eq!(cell("report", "coder"), (false, Held::Registry, ""));
    assert_eq!(cell("tool write", "coder"), (true, Held::Nothing, ""));
    assert_eq!(cell("tool run", "coder"), (false, Held::Provider, "it: --without=Shell"));
    assert_eq!(cell("tool write", "planner"), (false, Held::Prompt, "no provider is named for it"));
    assert_eq!(cell("tools by name", "code_reviewer"), (false, Held::Provider, "it: not Task"));
    assert_eq!(cell("message to", "coder").2, "planner, test_engineer");
    assert!(found.rows.iter().all(|row| row.cells.len() == BUILT_IN_ROLES.len()));
}

#[test]
fn invalid_role_setting_is_named_with_its_key() {
    let said = config(
        "roles:\n  coder: {allow: [work, merge, Bash], deny: [work, repot, read], may_message: [cooder], may_spawn: [coder]}\n  runner: {}\n  planner: {deny: [run], may_spawn: [painter]}\n",
    );
    let found = problems(Registry::new(&said), &|_| Some(("it".to_owned(), entry())));
    let places: Vec<(&str, &str)> =
        found.iter().map(|problem| (problem.at.as_str(), problem.what.as_str())).collect();
    for (at, part) in [
        ("roles.coder.allow", "`work` is allowed and denied"),
        ("roles.coder.allow", "`merge` is not allowed to a coder by the rules"),
        ("roles.coder.allow", "`Bash` is neither"),
        ("roles.coder.deny", "looks like `report`"),
        ("roles.coder.deny", "no option that denies `read`"),
        ("roles.coder.may_message", "no role `cooder`"),
        ("roles.coder.may_spawn", "plans no work"),
        ("roles.runner", "supervises"),
        ("roles.planner.deny", "cannot answer"),
        ("roles.planner.may_spawn", "no role `painter`"),
    ] {
        assert!(
            places.iter().any(|(place, what)| *place == at && what.contains(part)),
            "{at}: {part}: {places:#?}"
        );
    }
    assert!(found.iter().all(|problem| !problem.remedy.is_empty()));
    let sound = config(
        "roles: {coder: {deny: [write, WebFetch], may_message: [planner, human_writer]}, human_writer: {}}",
    );
    assert!(problems(Registry::new(&sound), &|_| Some(("it".to_owned(), entry()))).is_empty());
}
