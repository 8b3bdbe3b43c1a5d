//! What `liza init` chooses for a project: the agent CLI, the team and the gates; and the resulting `liza.yaml`.

use super::config_file::read_config;
use super::gates::{Question, judge, seconds};
use super::prelude::*;
use super::programs::find;
use super::propose::{self, Kind, Proposed, Way};
use super::settings;

/// In this order: the first installed one is chosen.
const PREFERRED: [&str; 11] =
    ["claude", "codex", "gemini", "opencode", "qwen", "copilot", "kimi", "vibe", "amp", "cursor", "acpx"];
const LONGEST_REASON: usize = 160;

/// The person's options.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub provider: Option<String>,
    pub gate: Option<String>,
    pub no_gate: bool,
}

/// What was chosen, and why.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Setup {
    /// The agent CLI; none if none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Every installed agent CLI.
    pub installed: Vec<String>,
    pub gates: Vec<Chosen>,
    /// The files that show how the project is tested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
}

/// A written gate, and the result of trying it on the present head.
#[derive(Debug, Clone, Serialize)]
pub struct Chosen {
    pub name: String,
    pub command: String,
    /// Why it is inactive; none if it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactive: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The agent CLIs of the catalog on the PATH, the preferred ones first.
pub fn installed(root: &Path) -> Vec<String> {
    // Tests use only the programs they bring themselves.
    if cfg!(debug_assertions) && std::env::var_os("LIZA_TEST_NO_PROVIDERS").is_some_and(|set| set == "1") {
        return Vec::new();
    }
    let catalog = Catalog::new(&ProjectConfig::default());
    let is_here = |name: &&&str| catalog.entry(name).is_ok_and(|entry| find(entry.program(), root).is_some());
    PREFERRED.iter().filter(is_here).map(|name| (*name).to_owned()).collect()
}

/// Refuses an unknown provider, before anything is made.
pub fn check_provider(name: &str) -> Result<()> {
    let catalog = Catalog::new(&ProjectConfig::default());
    catalog
        .entry(name)
        .map(|_| ())
        .map_err(|why| Failure::new(ErrorCode::UsageProvider, why.message).hint(why.hint))
}

/// The plan for a `liza.yaml`, before any gate was tried.
pub struct Plan {
    provider: Option<String>,
    installed: Vec<String>,
    kinds: Vec<Kind>,
}

impl Plan {
    pub fn new(root: &Path, wanted: &Wanted) -> Self {
        let installed = installed(root);
        let provider = wanted.provider.clone().or_else(|| installed.first().cloned());
        let kinds = match &wanted.gate {
            _ if wanted.no_gate => Vec::new(),
            Some(command) => vec![Kind::of_command(command)],
            None => propose::kinds_in(root),
        };
        Self { provider, installed, kinds }
    }

    /// The file with the first way of every kind, none of them tried.
    pub fn untried(&self) -> String {
        let ways: Vec<&Way> = self.kinds.iter().filter_map(|kind| kind.ways.first()).collect();
        self.file(&ways)
    }

    fn file(&self, ways: &[&Way]) -> String {
        let mut text = String::from(
            "# Settings of liza for this repository; edit them as you like. liza reads this file from the main checkout only.\n\
             # `liza config reference` lists every setting, `liza config set KEY VALUE` changes one.\nversion: 1\n\n",
        );
        let installed = list_words(&self.installed);
        match &self.provider {
            Some(name) if self.installed.len() > 1 => {
                let _ = writeln!(
                    text,
                    "# The agent CLI for every role; installed here: {installed}.\nprovider: {name}"
                );
            }
            Some(name) => {
                let _ = writeln!(text, "# The agent CLI for every role.\nprovider: {name}");
            }
            None => text.push_str(
                "# No agent CLI was found on the PATH: install one, then `liza config set provider NAME`.\n",
            ),
        }
        text.push_str(
            "team:\n  - {role: planner, count: 1}\n  - {role: coder, count: 2}\n  - {role: code_reviewer, count: 1}\n\n",
        );
        if ways.iter().all(|way| way.gates.is_empty()) {
            text.push_str(
                "# No gate: liza runs no test on the agents' work. `liza config set gates.test.command \"COMMAND\"` adds one.\ngates: []\n",
            );
            return text;
        }
        text.push_str("# What a tree must pass before it is approved, and before it is merged.\n");
        text.push_str(&propose::yaml(ways));
        text
    }

    /// Tries the gates on a commit and writes the result; `written` is the present file.
    pub fn try_gates(self, ctx: &Context, head: &CommitId, written: String) -> Result<Setup> {
        let mut file = written;
        let mut taken: Vec<Way> = Vec::new();
        let mut gates = Vec::new();
        for kind in &self.kinds {
            let mut first_red: Option<(Way, Vec<Chosen>)> = None;
            let mut passed = None;
            for way in &kind.ways {
                let ways: Vec<&Way> = taken.iter().chain([way]).collect();
                file = rewrite(ctx, &file, self.file(&ways))?;
                let (tried, chosen) = try_way(ctx, head, way)?;
                if tried.gates.iter().all(|gate| gate.inactive.is_none()) {
                    passed = Some((tried, chosen));
                    break;
                }
                first_red.get_or_insert((tried, chosen));
            }
            let Some((way, chosen)) = passed.or(first_red) else { continue };
            taken.push(way);
            gates.extend(chosen);
        }
        let ways: Vec<&Way> = taken.iter().collect();
        rewrite(ctx, &file, self.file(&ways))?;
        let found = self.kinds.iter().filter(|kind| !kind.file.is_empty()).map(|kind| kind.file.to_owned());
        Ok(Setup { found: found.collect(), provider: self.provider, installed: self.installed, gates })
    }
}

impl Kind {
    /// The test command that a person named.
    fn of_command(command: &str) -> Self {
        let way = Way::of(vec![Proposed::new("test", command)], &[]);
        Self::new("test", "", vec![way])
    }
}

fn rewrite(ctx: &Context, before: &str, after: String) -> Result<String> {
    read_config(after.as_bytes())?;
    if before != after {
        settings::write(ctx, before, &after)?;
    }
    Ok(after)
}

/// Runs the gates of one way in turn; from the first red one on they are inactive.
fn try_way(ctx: &Context, head: &CommitId, way: &Way) -> Result<(Way, Vec<Chosen>)> {
    let names: Vec<String> = way.gates.iter().map(|gate| gate.name.clone()).collect();
    let question = Question { only: Some(&names), ..Question::new(Moment::ByHand, head) };
    let report = judge(ctx, &question)?;
    let mut tried = way.clone();
    let mut chosen = Vec::new();
    for gate in &mut tried.gates {
        let result = report.result(&gate.name);
        gate.inactive = match result {
            Some(result) if result.status == GateStatus::Pass => None,
            Some(result) => Some(red_text(head, result)),
            None => Some("not tried: the gate before it is red".to_owned()),
        };
        chosen.push(Chosen {
            name: gate.name.clone(),
            command: gate.command.clone(),
            inactive: gate.inactive.clone(),
            duration_ms: result.map(|result| result.duration_ms),
        });
    }
    Ok((tried, chosen))
}

fn red_text(head: &CommitId, result: &GateOutcome) -> String {
    let why = result.reason.as_deref().unwrap_or("it did not pass");
    let why = shown_line(why);
    clipped(&format!("red on {} after {}: {why}", head.short(), seconds(result.duration_ms)), LONGEST_REASON)
        .into_owned()
}
