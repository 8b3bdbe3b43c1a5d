//! Patterns across tasks: the circuit breaker trips, says so, and halts as far as its response goes.

use crate::flow::Context;

use super::Looked;

#[derive(Default)]
pub struct Patterns {}

impl Patterns {
    pub fn look(&mut self, _ctx: &Context, _revision: u64) -> Looked {
        Looked::default()
    }
}
