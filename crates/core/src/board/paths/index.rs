//! Finds the lists of patterns that may overlap another list, without comparing every pair.

use std::collections::HashMap;

use super::PathPattern;

/// Lists of patterns, found by the names that their patterns begin with.
///
/// Two patterns collide only if the names written out at their beginning agree as far as both have them. So a tree of these
/// names holds every list that a pattern can collide with on the way to its own names and below them.
#[derive(Debug)]
pub struct PathIndex {
    /// The first one is the root.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    below: HashMap<String, usize>,
    /// Numbers of lists with a pattern whose names end here.
    here: Vec<usize>,
}

impl PathIndex {
    /// Numbers the lists in their order.
    pub fn of<'p>(lists: impl IntoIterator<Item = &'p [PathPattern]>) -> Self {
        let mut index = Self { nodes: vec![Node::default()] };
        for (number, list) in lists.into_iter().enumerate() {
            for shape in list.iter().flat_map(PathPattern::readings) {
                let mut at = 0;
                for name in shape.names_at_start() {
                    let fresh = index.nodes.len();
                    at = *index.nodes[at].below.entry(name).or_insert(fresh);
                    if at == fresh {
                        index.nodes.push(Node::default());
                    }
                }
                index.nodes[at].here.push(number);
            }
        }
        index
    }

    /// Numbers of the lists that `patterns` may overlap, in order; [`super::any_overlap`] says whether they do.
    pub fn candidates(&self, patterns: &[PathPattern]) -> Vec<usize> {
        let mut found = Vec::new();
        for shape in patterns.iter().flat_map(PathPattern::readings) {
            let mut at = Some(0);
            for name in shape.names_at_start() {
                let Some(node) = at.map(|at| &self.nodes[at]) else { break };
                found.extend(&node.here);
                at = node.below.get(&name).copied();
            }
            let mut open: Vec<usize> = at.into_iter().collect();
            while let Some(at) = open.pop() {
                found.extend(&self.nodes[at].here);
                open.extend(self.nodes[at].below.values());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::any_overlap;
    use proptest::prelude::*;

    fn list(texts: &[&str]) -> Vec<PathPattern> {
        texts.iter().map(|text| PathPattern::new(text).expect("a pattern")).collect()
    }

    #[test]
    fn only_lists_with_common_prefix_are_candidates() {
        let lists: Vec<_> = (0..4_000).map(|n| list(&[&format!("src/part{n}/"), "Doc/README"])).collect();
        let index = PathIndex::of(lists.iter().map(Vec::as_slice));
        assert_eq!(index.candidates(&list(&["SRC/part7/a.rs"])), [7]);
        assert_eq!(index.candidates(&list(&["src/part7", "src/part3999/**"])), [7, 3_999]);
        assert_eq!(index.candidates(&list(&["lib/"])), [0; 0]);
        for wide in ["**", "src/", "*/x", "doc/readme/x"] {
            assert_eq!(index.candidates(&list(&[wide])).len(), 4_000, "{wide}");
        }
    }

    proptest! {
        #[test]
        fn candidates_hold_every_overlap(
            texts in prop::collection::vec("(\\*\\*/|[abAß]/|\\?/){0,2}([abAß]{1,2}|\\*a|ss|a/|\\*\\*)", 2..12)
        ) {
            let lists: Vec<_> = texts.iter().map(|text| list(&[text])).collect();
            let index = PathIndex::of(lists.iter().map(Vec::as_slice));
            for mine in &lists {
                let candidates = index.candidates(mine);
                for (at, theirs) in lists.iter().enumerate() {
                    prop_assert!(any_overlap(mine, theirs).is_none() || candidates.contains(&at));
                }
            }
        }
    }
}
