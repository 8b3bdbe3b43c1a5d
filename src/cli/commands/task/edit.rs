use super::flags::TaskFlags;
use crate::cli::prelude::*;

/// Change what a DRAFT, IDLE or BLOCKED task asks for (planner, people)
///
/// Fields that you do not name stay; a list that you give replaces the whole list. If an agent has worked on the
/// task, a change of its criteria, checklist, scope, spec, description, risk, kind, role or dependencies removes its
/// submission, approvals and red-team turn. The task's history keeps old and new values.
///
/// Example: liza task edit t1 --title "Greet by full name" --done "prints Hello, Ada Lovelace"
#[derive(Args)]
pub struct EditArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| matches!(status, Status::Draft | Status::Idle | Status::Blocked)))]
    pub id: TaskId,
    #[command(flatten)]
    pub text: TaskFlags,
    /// Empty this field; repeat
    #[arg(long, value_enum, value_name = "FIELD")]
    pub clear: Vec<Field>,
    /// Take the whole text from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["TaskFlags", "clear"], value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

/// Optional fields of a task.
#[derive(Clone, Copy, ValueEnum)]
pub enum Field {
    Desc,
    Spec,
    Done,
    In,
    Out,
    Check,
    Owns,
    Depends,
    Parent,
    Tag,
    Input,
    Output,
    ExpectedFiles,
    ExpectedLines,
    Timebox,
    SliceKind,
    Workstream,
}

impl Field {
    fn clear(self, task: &mut NewTask) {
        match self {
            Self::Desc => task.description.clear(),
            Self::Spec => task.spec_ref = None,
            Self::Done => task.done_when.clear(),
            Self::In => task.scope.inside.clear(),
            Self::Out => task.scope.outside.clear(),
            Self::Check => task.checklist.clear(),
            Self::Owns => task.owns.clear(),
            Self::Depends => task.depends_on.clear(),
            Self::Parent => task.parent = None,
            Self::Tag => task.tags.clear(),
            Self::Input => task.inputs.clear(),
            Self::Output => task.expected_outputs.clear(),
            Self::ExpectedFiles => task.expected_files = None,
            Self::ExpectedLines => task.expected_lines = None,
            Self::Timebox => task.timebox_minutes = None,
            Self::SliceKind => task.slice_kind = None,
            Self::Workstream => task.workstream = None,
        }
    }
}

impl OnBoard for EditArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::task(&self.id))?.board;
        let before = NewTask::of(view::known_task(&board, &self.id)?);
        let after = match &self.from {
            Some(file) => session.input.value::<NewTask>(file)?,
            None => {
                let mut after = before.clone();
                self.clear.iter().for_each(|field| field.clear(&mut after));
                self.text.write_over(session, &mut after)?;
                after
            }
        };
        if after.id != self.id {
            return Err(Failure::usage(format!("the file describes `{}`, not `{}`", after.id, self.id))
                .hint("ids never change; name the task that the file describes"));
        }
        let specs = session.ctx.pin_specs(std::slice::from_ref(&after))?;
        let (spec_found, pin) = (!specs.found.is_empty(), specs.pins.into_iter().next().map(|pin| pin.spec));
        let (before, after) = (Box::new(before), Box::new(after));
        session.commit(EditTask { before, after, spec_found, pin, strict: true, slices: true }, text)
    }
}

fn text(edited: &Edited) -> String {
    let Edited { task, status, changes, judged_anew } = edited;
    let fields: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
    let mut text = format!("{task} is edited: {}", fields.join(", "));
    if *judged_anew {
        text.push_str("\nits submission and verdicts no longer count; the work stays on its branch");
    }
    if *status == Status::Blocked {
        text.push_str(&format!("\nnext: liza task unblock {task} --answer …"));
    }
    text
}
