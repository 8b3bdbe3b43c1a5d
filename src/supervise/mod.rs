//! LONG-LIVED LOOPS: the runner of one agent, the run of a whole team, the watcher.
