//! Specs: which text a `spec_ref` means, and pinning that text with a task.
//!
//! `goal` means the goal's text, and so does a `specs/vision.md` that is still the template: an empty template is
//! never sent to an agent. A spec need not be committed: its text is stored once under its hash (`.liza/spec_texts`),
//! and a task carries that hash.

use super::prelude::*;
use crate::board::goals::{GOAL_SPEC, Goal, PinnedSpec, SpecPin, Specs};
use crate::store::LARGEST_SPEC;
use crate::wire::state::hash;

pub const VISION: &str = include_str!("../../templates/vision.md");
pub const DEFAULT_SPEC: &str = "specs/vision.md";
const PLACE_OF_GOAL: &str = "{{goal}}";

/// A text, and its source: a file, or `goal`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecText {
    pub of: String,
    pub text: String,
}

impl SpecText {
    fn of_goal(goal: &Goal) -> Self {
        Self { of: GOAL_SPEC.to_owned(), text: goal.description.clone() }
    }

    pub fn pin(&self) -> PinnedSpec {
        PinnedSpec { of: self.of.clone(), hash: hash(self.text.as_bytes()) }
    }
}

/// The template of `specs/vision.md` with this goal in it.
pub fn vision_of(goal: &str) -> String {
    VISION.replace(PLACE_OF_GOAL, goal)
}

/// What stands in the place of the goal in a text that is otherwise the template of `specs/vision.md`.
fn in_place_of_goal(text: &str) -> Option<&str> {
    let (before, after) = VISION.split_once(PLACE_OF_GOAL).unwrap_or((VISION, ""));
    text.strip_prefix(before)?.trim_end().strip_suffix(after.trim_end())
}

/// What a person wrote into the template below the goal, if that is all that was written.
fn more_than_goal<'t>(text: &'t str, goal: &str) -> Option<&'t str> {
    in_place_of_goal(text)
        .map(str::trim)
        .filter(|middle| *middle != goal.trim() && middle.contains(goal.trim()))
}

impl Context {
    /// The text that a reference means now; none if its file does not exist.
    pub fn spec_text(&self, goal: &Goal, spec_ref: &str) -> Result<Option<SpecText>> {
        let name = spec_file(spec_ref);
        if name == GOAL_SPEC {
            return Ok(Some(SpecText::of_goal(goal)));
        }
        let Some(file) = self.spec_path(spec_ref)? else {
            return Ok((name == DEFAULT_SPEC && name == goal.spec_ref).then(|| SpecText::of_goal(goal)));
        };
        let bytes = match read_whole(&file, LARGEST_SPEC) {
            Ok((bytes, _)) => bytes,
            Err(error) if fs::metadata(&file).is_ok_and(|meta| meta.len() > LARGEST_SPEC) => {
                return Err(failure!(Code::Limit, "`{name}` is too large to be a spec: {error}")
                    .hint("name a file of at most 4 MiB; agents are shown 64 KiB of it"));
            }
            Err(error) => return Err(Failure::io("read", &file, &error)),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if name == DEFAULT_SPEC
            && let Some(more) = more_than_goal(&text, &goal.description)
        {
            return Ok(Some(SpecText { of: name.to_owned(), text: more.to_owned() }));
        }
        if name == DEFAULT_SPEC && in_place_of_goal(&text).is_some() {
            return Ok(Some(SpecText::of_goal(goal)));
        }
        Ok(Some(SpecText { of: name.to_owned(), text }))
    }

    /// The specs that these tasks name; the texts are not stored yet.
    pub fn find_specs(&self, tasks: &[NewTask]) -> Result<(Specs, Vec<SpecText>)> {
        let named = tasks.iter().filter_map(|task| Some((&task.id, task.spec_ref.as_deref()?)));
        self.look_up(named, None)
    }

    /// The same with the texts stored: for tasks about to be committed.
    pub fn pin_specs(&self, tasks: &[NewTask]) -> Result<Specs> {
        let (specs, texts) = self.find_specs(tasks)?;
        self.keep_texts(&texts)?;
        Ok(specs)
    }

    /// The same for one task, by a caller that has read the board.
    pub fn pin_spec(&self, task: &NewTask, board: &Board) -> Result<Specs> {
        let named = task.spec_ref.as_deref().map(|spec_ref| (&task.id, spec_ref));
        let (specs, texts) = self.look_up(named.into_iter(), Some(&board.rest.goal))?;
        self.keep_texts(&texts)?;
        Ok(specs)
    }

    /// The same for tasks of the board, by their references.
    pub fn pin_specs_of<'t>(&self, tasks: impl Iterator<Item = (&'t TaskId, &'t str)>) -> Result<Specs> {
        let (specs, texts) = self.look_up(tasks, None)?;
        self.keep_texts(&texts)?;
        Ok(specs)
    }

    pub fn keep_texts(&self, texts: &[SpecText]) -> Result<()> {
        for text in texts {
            self.store.keep_spec_text(text.text.as_bytes())?;
        }
        Ok(())
    }

    fn look_up<'t>(
        &self,
        named: impl Iterator<Item = (&'t TaskId, &'t str)>,
        goal: Option<&Goal>,
    ) -> Result<(Specs, Vec<SpecText>)> {
        let mut known: BTreeMap<&str, Option<PinnedSpec>> = BTreeMap::new();
        let (mut specs, mut texts) = (Specs::default(), Vec::new());
        let mut read = None;
        for (task, spec_ref) in named {
            let name = spec_file(spec_ref);
            if !known.contains_key(name) {
                let goal = match (goal, &read) {
                    (Some(goal), _) | (None, Some(goal)) => goal,
                    (None, None) => read.insert(self.read(&Needs::Nothing)?.board.rest.goal),
                };
                let found = self.spec_text(goal, spec_ref)?;
                known.insert(name, found.as_ref().map(SpecText::pin));
                texts.extend(found);
            }
            if let Some(Some(pin)) = known.get(name) {
                specs.found.push(task.clone());
                specs.pins.push(SpecPin { task: task.clone(), spec: pin.clone() });
            }
        }
        Ok((specs, texts))
    }
}

/// Announces that a spec has changed: tasks in DRAFT or IDLE get its new text, agents of other tasks get a message.
pub fn change(ctx: &Context, spec: &str, change: String, affects: Vec<TaskId>) -> Result<(SpecChanged, u64)> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let text = ctx.spec_text(&board.rest.goal, spec)?;
    if let Some(text) = &text {
        ctx.keep_texts(std::slice::from_ref(text))?;
    }
    let pin = text.map(|text| text.pin());
    let announced = change.clone();
    let committed = ctx.commit(ChangeSpec { spec: spec.to_owned(), change, affects, pin })?;
    let is_news = !committed.repeated;
    let (changed, revision) = committed.done();
    if is_news {
        notify_agents(ctx, spec, &announced, &changed.under_way);
    }
    Ok((changed, revision))
}

/// Gives a goal another text or spec; tasks whose spec is the goal get the new text as after a changed spec.
pub fn edit_goal(
    ctx: &Context,
    board: &Board,
    id: &str,
    description: Option<String>,
    spec_ref: Option<String>,
) -> Result<(GoalEdited, u64)> {
    let text = description.as_ref().filter(|_| board.rest.goal.id == id);
    let text = text.map(|text| SpecText { of: GOAL_SPEC.to_owned(), text: text.clone() });
    if let Some(text) = &text {
        ctx.keep_texts(std::slice::from_ref(text))?;
    }
    let pin = text.as_ref().map(SpecText::pin);
    let committed = ctx.commit(EditGoal { goal: id.to_owned(), description, spec_ref, pin })?;
    let is_news = !committed.repeated;
    let (edited, revision) = committed.done();
    if is_news {
        notify_agents(ctx, "the goal", &edited.description, &edited.under_way);
    }
    Ok((edited, revision))
}

/// Sends a message to the agents of tasks in progress. A message that cannot be delivered is no failure.
pub fn notify_agents(ctx: &Context, spec: &str, announced: &str, tasks: &[TaskId]) {
    let Ok(board) = ctx.read(&Needs::Nothing).map(|snapshot| snapshot.board) else { return };
    for id in tasks {
        let agent = board.task(id).and_then(|task| task.assigned_to.clone());
        let Some(agent) = agent.filter(|agent| board.agent(agent).is_some()) else { continue };
        let subject = format!("{} has changed since your task {id} was planned", clipped(spec, 80));
        let body = format!(
            "{}\nTask {id} still follows the text in your prompt. If the change affects it, report that: \
             `liza task block {id} --reason … --question …`.",
            clipped(announced, 2000)
        );
        let mut draft = Draft::new(Recipient::One(agent), MessageKind::ProvideClarification, subject, body);
        draft.task_id = Some(id.clone());
        if let Err(failure) = ctx.commit_step(SendMessage { message: draft }) {
            ctx.narrate(format!("{id}: its agent could not be notified: {}", failure.message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unedited_vision_is_recognised_with_any_goal() {
        for goal in ["A greeting program", "two\nlines", ""] {
            assert_eq!(in_place_of_goal(&vision_of(goal)), Some(goal));
            assert_eq!(more_than_goal(&vision_of(goal), goal), None);
        }
        // What a person added below the goal is not dropped with the template.
        let more = "A greeting program\n\nIt speaks Latin.";
        assert_eq!(more_than_goal(&vision_of(more), "A greeting program"), Some(more));
        assert_eq!(more_than_goal(&vision_of("a former goal"), "A greeting program"), None);
        let edited = vision_of("x").replacen("- …", "- prints Hello", 1);
        assert_eq!(in_place_of_goal(&edited), None);
        assert_eq!(in_place_of_goal("# Vision\n"), None);
    }
}
