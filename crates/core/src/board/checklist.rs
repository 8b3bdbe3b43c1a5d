//! Questions that a reviewer answers one by one, so that none is overlooked.

use super::prelude::*;
use super::refusal::{Code, Refusal};

words! {
    pub enum Answer {
        Yes = "yes",
        No = "no",
        /// The item does not apply; a note says why.
        NotApplicable = "n/a",
    }
}

impl Answer {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.as_str() == text)
    }
}

/// Names an item: its number in `liza review show`, or its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ItemName {
    Number(usize),
    Text(String),
}

impl ItemName {
    /// The item's index in the list.
    pub(super) fn position(&self, items: &[String]) -> Option<usize> {
        match self {
            Self::Number(number) => number.checked_sub(1).filter(|at| *at < items.len()),
            Self::Text(text) => items.iter().position(|item| item.trim() == text.trim()),
        }
    }
}

impl std::fmt::Display for ItemName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

record! {
    /// An answer as a reviewer gives it.
    #[derive(Eq)]
    pub struct GivenAnswer {
        pub item: ItemName,
        pub answer: Answer,
        pub note: Option<String>,
    }

    /// An answer as the board stores it: with the text of the item, because the checklist may change later.
    #[derive(Eq)]
    pub struct Answered {
        pub item: String,
        pub answer: Answer,
        pub note: Option<String>,
    }
}

/// The items to answer, in the order of their numbers: the task's own items, then those of its risk. An item in both
/// lists is asked once.
pub fn items(own: &[String], of_risk: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for item in own.iter().chain(of_risk).map(|item| item.trim()).filter(|item| !item.is_empty()) {
        if !all.iter().any(|known| known == item) {
            all.push(item.to_owned());
        }
    }
    all
}

/// The given answers in the order of the items; refuses an answer that names no item, repeats one, or lacks its reason.
pub fn matched(items: &[String], given: &[GivenAnswer]) -> Result<Vec<Option<Answered>>, Refusal> {
    let mut all: Vec<Option<Answered>> = vec![None; items.len()];
    for answer in given {
        let Some(at) = answer.item.position(items) else {
            let most = items.len();
            let there = if most == 0 { "it has none".to_owned() } else { format!("they are 1 to {most}") };
            return Err(Refusal::new(
                Code::UnknownRecord,
                format!("the checklist has no item `{}`: {there}", answer.item),
            )
            .hint("`liza review show` lists them with their numbers"));
        };
        if all[at].is_some() {
            return Err(refusal!(Code::Value, "item {} of the checklist is answered twice", at + 1)
                .hint("give one answer to each"));
        }
        let note = answer.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        if answer.answer == Answer::NotApplicable && note.is_none() {
            return Err(Refusal::new(
                Code::FeedbackIncomplete,
                format!("item {} of the checklist is answered n/a without a reason: {}", at + 1, items[at]),
            )
            .hint(format!("--answer \"{}=n/a: why it does not apply\"", at + 1)));
        }
        all[at] =
            Some(Answered { item: items[at].clone(), answer: answer.answer, note: note.map(str::to_owned) });
    }
    Ok(all)
}

/// Refuses unless every item has an answer.
pub fn check_whole(items: &[String], given: &[GivenAnswer]) -> Result<Vec<Answered>, Refusal> {
    let found = matched(items, given)?;
    let open: Vec<usize> = (0..items.len()).filter(|at| found[*at].is_none()).collect();
    if open.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let named: Vec<String> = open.iter().map(|at| format!("{}. {}", at + 1, items[*at])).collect();
    let flags: Vec<String> =
        open.iter().map(|at| format!("--answer \"{}=yes|no|n/a: note\"", at + 1)).collect();
    Err(refusal!(
        Code::FeedbackIncomplete,
        "the verdict does not answer these items of the checklist: {}",
        named.join("; ")
    )
    .hint(format!("answer each item: {}", flags.join(" ")))
    .detail("items", open.iter().map(|at| at + 1).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    fn given(item: ItemName, answer: Answer, note: Option<&str>) -> GivenAnswer {
        GivenAnswer { item, answer, note: note.map(str::to_owned) }
    }

    #[test]
    fn tasks_own_items_come_first_without_repeats() {
        let all = items(&texts(&["a", " b "]), &texts(&["b", "", "c"]));
        assert_eq!(all, ["a", "b", "c"]);
    }

    #[test]
    fn every_checklist_item_needs_one_answer() {
        let all = texts(&["races?", "inputs?"]);
        let one = given(ItemName::Number(1), Answer::Yes, None);
        let two = given(ItemName::Text("inputs?".to_owned()), Answer::NotApplicable, Some("it has none"));
        let refusal = check_whole(&all, std::slice::from_ref(&one)).expect_err("one is missing");
        assert_eq!(refusal.code, Code::FeedbackIncomplete);
        assert!(refusal.message.contains("2. inputs?"), "{refusal}");
        assert!(refusal.hint.as_deref().is_some_and(|hint| hint.contains("--answer \"2=")));
        let whole = check_whole(&all, &[two.clone(), one.clone()]).expect("both are answered");
        assert_eq!(whole.iter().map(|found| found.item.as_str()).collect::<Vec<_>>(), ["races?", "inputs?"]);
        assert_eq!(check_whole(&all, &[one.clone(), one.clone()]).expect_err("twice").code, Code::Value);
        let silent = given(ItemName::Number(2), Answer::NotApplicable, Some("  "));
        assert_eq!(check_whole(&all, &[one, silent]).expect_err("no note").code, Code::FeedbackIncomplete);
        for unknown in [ItemName::Number(0), ItemName::Number(3), ItemName::Text("other".to_owned())] {
            let refusal = check_whole(&all, &[given(unknown, Answer::Yes, None)]).expect_err("unknown");
            assert_eq!(refusal.code, Code::UnknownRecord);
        }
        assert!(check_whole(&[], &[]).is_ok_and(|found| found.is_empty()));
    }
}
