//! PROMPTS of agents, from templates; text of agents and people is shown as data.

mod data;
mod facts;
mod row;
mod section;
mod template;

#[cfg(test)]
mod tests;

pub use data::{Block, Bound};
pub use facts::{AnswerFlags, AssumptionFlags, Facts, Plain, PriorFlags, Quoted, WakeFacts};
pub use row::{Outputs, Row};
pub use section::section;
pub use template::{
    LARGEST_PROMPT, LARGEST_TEMPLATE, PIECES, Rendered, Template, TemplateError, built_in, render,
};
