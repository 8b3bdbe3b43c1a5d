//! Imports of the rules: the records of the board, the trait of verbs, and checks that several rules share.

pub use std::collections::{BTreeMap, BTreeSet};

pub use crate::board::prelude::*;
pub use crate::board::verb::{AnyOutcome, Begun, Cancelled, Needs, Recorded, TaskStatus, Verb};
pub use crate::board::{
    agent::*, assumptions::*, breaker::*, call::*, caps::*, checklist::*, config::*, convergence::*,
    disagreement::*, ending::*, expectation::*, gates::*, goals::*, grants::*, graph::*, history::*,
    intent::*, invariants::*, lease::*, marks::*, oversight::*, paths::*, quorum::*, records::*, refusal::*,
    result::*, review::*, review_result::*, rights::*, route::*, slice::*, spent::*, state::*, task::*,
    workstream::*,
};
pub use crate::board::{assumptions, checklist, convergence, disagreement, rights};

pub use super::{common::*, reviewers::*, sent_back::*};
pub(super) use crate::board::fields::{logged, record};
pub(super) use crate::board::{names::words, verb::outcome};
