use crate::cli::prelude::*;
use crate::flow::sessions::{self, Kept, Reader};
use crate::provider::{Step, Usage};

/// The polling interval of --follow.
const EVERY: Duration = Duration::from_millis(200);
/// The number of lines of standard error that are shown.
const ERROR_LINES: usize = 10;

/// Show the words, tools, tokens and end of an agent's last session
///
/// Reads the output kept under .liza/runs, for every provider, during and after the session, and after a crash.
/// Without an agent or task: the last session of all agents.
///
/// Example: liza agent log coder-1 -n 20
///
/// Example: liza agent log t1 -f
#[derive(Args)]
pub struct LogArgs {
    /// Agent, or task that the agent worked on
    #[arg(value_name = "AGENT|TASK")]
    pub of: Option<String>,
    /// Keep printing until the session ends
    #[arg(short, long)]
    pub follow: bool,
    /// Number of steps to show, the last ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    pub number: usize,
    /// Print the lines as the agent's command printed them, without control characters
    #[arg(long)]
    pub raw: bool,
}

impl OnBoard for LogArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let ctx = &session.ctx;
        let kept = sessions::last(ctx, self.of.as_deref())?;
        let mut reader = Reader::new(&kept, self.raw);
        let (mut steps, left_out) = reader.last_steps(self.number);
        if !self.follow {
            steps.extend(reader.finish());
            let mut text = head(&kept);
            if left_out > 0 {
                text.line(format!("({} before; `-n` shows more)", plural(left_out, "step")));
            }
            steps.iter().for_each(|step| text.line(step.words()));
            text.push_str(&end(ctx, &kept));
            return Ok(Answer::new(data(&kept, left_out, &steps), text).verbatim());
        }
        let ui = session.ui;
        let show = |step: &Step| ui.stream(&if ui.json { to_json_line(step) } else { step.words() });
        if !ui.json && !ui.stream(head(&kept).trim_end()) {
            return Ok(Answer::default());
        }
        for step in &steps {
            if !show(step) {
                return Ok(Answer::default());
            }
        }
        loop {
            // Checked before the last read, so that no step is missed.
            let over = kept.ended().is_some() || !is_supervised(ctx, &kept);
            let mut more = reader.more();
            let quiet = more.is_empty();
            if over && quiet {
                more.extend(reader.finish());
            }
            for step in &more {
                if !show(step) {
                    return Ok(Answer::default());
                }
            }
            if over && quiet {
                let text = if ui.json { String::new() } else { end(ctx, &kept) };
                return Ok(Answer::new(data(&kept, left_out, &[]), text));
            }
            if quiet {
                std::thread::sleep(EVERY);
            }
        }
    }
}

/// Whether the runner of the session is alive.
fn is_supervised(ctx: &Context, kept: &Kept) -> bool {
    let Ok(id) = AgentId::new(&kept.agent) else { return false };
    let Ok(snapshot) = ctx.store.read(&Needs::Nothing) else { return false };
    let runner = snapshot.board.agent(&id).and_then(|agent| agent.runner.clone());
    runner.is_some_and(|runner| crate::host::lives(&runner))
}

fn data<'s>(kept: &Kept, left_out: usize, steps: impl IntoIterator<Item = &'s Step>) -> Value {
    let ended = kept.ended();
    json!({
        "agent": kept.agent, "task": kept.task, "about": kept.about(), "output": kept.path("out.log"),
        "steps": steps.into_iter().collect::<Vec<_>>(), "left_out": left_out,
        "ended": ended, "failure": kept.failure(), "errors": errors(kept),
    })
}

fn head(kept: &Kept) -> String {
    let task = kept.task.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let about = kept.about();
    let by = about.as_ref().map_or(String::new(), |about| {
        format!(", {} played by {}, since {}", about.role, about.provider, about.started)
    });
    format!("{}{task}{by}\n", kept.agent)
}

/// What the session used and why it ended.
fn end(ctx: &Context, kept: &Kept) -> String {
    let mut text = String::new();
    let errors = errors(kept);
    if !errors.is_empty() {
        text.line("standard error:");
        errors.iter().for_each(|line| text.line(format!("    {line}")));
    }
    let Some(ended) = kept.ended() else {
        text.line(match is_supervised(ctx, kept) {
            true => "the session is running (`-f` follows it)",
            false => "the runner is gone; how the session ended is unknown",
        });
        return text;
    };
    text.line(format!("used: {}", used(&ended.usage)));
    let how = match (ended.ended.is_empty(), ended.exit) {
        (false, _) => ended.ended,
        (true, Some(code)) => format!("exit {code}"),
        (true, None) => "by a signal".to_owned(),
    };
    text.line(format!("ended after {:.0} s: {how}", ended.seconds));
    if let Some(failure) = kept.failure() {
        text.line(format!("why: {failure}"));
    }
    text
}

fn errors(kept: &Kept) -> Vec<String> {
    let mut lines = crate::flow::sessions::last_lines(&kept.path("err.log"));
    let too_many = lines.len().saturating_sub(ERROR_LINES);
    lines.drain(..too_many);
    lines
}

fn used(usage: &Usage) -> String {
    let failed = match usage.failed_calls {
        0 => String::new(),
        failed => format!(" ({failed} failed)"),
    };
    let cost = usage.cost_usd.map_or(String::new(), |cost| format!(", {cost:.4} USD"));
    format!(
        "{} turns, {} tool calls{failed}, {} tokens in, {} out, {} from a cache{cost}",
        usage.turns, usage.tool_calls, usage.input_tokens, usage.output_tokens, usage.cached_tokens
    )
}
