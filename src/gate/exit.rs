//! The exit code alone.

use super::{Adapter, Ran, Said};
use crate::board::gates::GateStatus;
use crate::policy::gate::Gate;

pub struct Exit;

impl Adapter for Exit {
    fn name(&self) -> &'static str {
        "exit"
    }

    fn judge(&self, _: &Gate, ran: &Ran<'_>) -> Said {
        match ran.exit {
            0 => Said::new(GateStatus::Pass),
            code => Said::fail(format!("it exited with {code}")),
        }
    }
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
