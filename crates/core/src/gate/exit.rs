//! The exit code alone.

use super::{AdapterResult, FinishedCommand};

pub fn judge(ran: &FinishedCommand<'_>) -> AdapterResult {
    AdapterResult::unless((ran.exit != 0).then(|| format!("it exited with {}", ran.exit)))
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus;
    use crate::gate::testing::{Scene, judged};
    use crate::policy::gate::AdapterKind::Exit;

    #[test]
    fn the_exit_code_decides() {
        let said = judged(Exit, Scene { output: "error: everything is wrong", ..Scene::default() });
        assert_eq!((said.status, said.reason), (GateStatus::Pass, None));
        for code in [1, 2, 101, -1] {
            let said = judged(Exit, Scene { exit: code, ..Scene::default() });
            assert_eq!(said.status, GateStatus::Fail);
            assert_eq!(said.reason, Some(format!("it exited with {code}")));
        }
    }
}
