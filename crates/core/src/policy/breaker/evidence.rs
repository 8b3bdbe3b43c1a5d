//! The records that support a story.

use crate::policy::prelude::*;

/// The order of records, whatever their order on the board.
pub fn order(record: &TripEvidence) -> (Wall, &str, Option<&TaskId>, &str, &str) {
    (record.time, &record.source, record.task_id.as_ref(), record.agent.as_str(), &record.text)
}

pub fn of_anomaly(anomaly: &Anomaly, text: &str) -> TripEvidence {
    TripEvidence {
        source: anomaly.id.clone(),
        task_id: Some(anomaly.task_id.clone()),
        agent: anomaly.logged_by.clone(),
        time: anomaly.timestamp,
        text: clipped_line(text),
    }
}

pub fn task_of(record: &TripEvidence) -> String {
    record.task_id.as_ref().map(ToString::to_string).unwrap_or_default()
}

pub fn tasks_of(records: &[TripEvidence]) -> BTreeSet<&TaskId> {
    records.iter().filter_map(|record| record.task_id.as_ref()).collect()
}

pub fn agents_of(records: &[TripEvidence]) -> BTreeSet<&str> {
    records.iter().map(|record| record.agent.as_str()).collect()
}
