//! One specification that several tasks find silent or unclear.

use super::{case::Case, evidence::of_anomaly, evidence::tasks_of, story::Story};
use crate::policy::prelude::*;

/// The file and the section of a spec reference.
fn place(spec: &str) -> (String, Option<String>) {
    let spec = spec.trim().trim_start_matches("./");
    let (file, section) = spec.split_once('#').unwrap_or((spec, ""));
    let section = section.trim();
    (file.trim().to_owned(), (!section.is_empty()).then(|| section.to_owned()))
}

/// The specification of an anomaly: the one it names, or that of its task.
fn spec_of<'a>(case: &Case<'a>, anomaly: &'a Anomaly) -> Option<&'a str> {
    let named = anomaly.details.get("spec").map(String::as_str).filter(|spec| !spec.trim().is_empty());
    named.or_else(|| case.board.task(&anomaly.task_id)?.body().spec_ref.as_deref())
}

fn words(anomaly: &Anomaly) -> &str {
    anomaly.details.get("gap").or_else(|| anomaly.details.get("question")).map_or("", String::as_str)
}

pub fn spec_gap_cluster(case: &Case) -> Vec<Story> {
    let pattern = Pattern::SpecGapCluster;
    let mut files: BTreeMap<String, (Vec<TripEvidence>, Vec<String>)> = BTreeMap::new();
    for anomaly in case.anomalies(&[AnomalyKind::SpecGap, AnomalyKind::SpecAmbiguity]) {
        let Some(spec) = spec_of(case, anomaly) else { continue };
        let (file, section) = place(spec);
        let (records, sections) = files.entry(file.clone()).or_default();
        records.push(of_anomaly(anomaly, words(anomaly)));
        sections.extend(section.map(|section| format!("spec {file}#{section}")));
    }
    let story = |(file, (records, mut sections)): (String, (Vec<TripEvidence>, Vec<String>))| {
        let key = Story::new(pattern, &file, 0, 1, "").key;
        let records = case.unsettled(pattern, &key, records);
        let tasks = tasks_of(&records).len();
        sections.sort();
        sections.dedup();
        Story::new(pattern, &file, tasks, case.config.spec_gap_tasks, "tasks")
            .summary(format!("{tasks} tasks find {file} silent or unclear"))
            .evidence(records)
            .affects([format!("spec {file}")])
            .affects(sections)
    };
    files.into_iter().map(story).filter(|story| !story.evidence.is_empty()).collect()
}
