//! For any snapshots: no panic, and equal input gives equal output.

use proptest::prelude::*;

use super::*;

prop_compose! {
    fn any_look()(
        session in 0u64..3,
        time in prop_oneof![any::<i64>(), BEGAN..BEGAN + 300],
        elapsed in prop_oneof![any::<u64>(), 0u64..300],
        counters in proptest::array::uniform8(prop_oneof![any::<u64>(), 0u64..50]),
        names in proptest::array::uniform4(0u8..3),
        limits in proptest::array::uniform2(proptest::option::of(prop_oneof![any::<u64>(), 0u64..100])),
        role in proptest::sample::select(vec!["coder", "planner", "code_reviewer", "gardener"]),
        files in proptest::array::uniform2(any::<u64>()),
        still in any::<u64>(),
        seen in proptest::option::of(prop_oneof![any::<i64>(), BEGAN..BEGAN + 300]),
        flags in proptest::array::uniform3(any::<bool>()),
    ) -> AgentSnapshot {
        let name = |at: usize| (names[at] > 0).then(|| format!("n{}\u{1b}[2J", names[at]));
        AgentSnapshot {
            session,
            role: Role::new(role).expect("a role"),
            time: Wall(time),
            elapsed_seconds: elapsed,
            turns: counters[0],
            tool_calls: counters[1],
            tokens: counters[2],
            errors: counters[3],
            repeated_calls: counters[4],
            output_bytes: counters[5],
            processes: counters[6],
            cpu_ms: counters[7],
            files_modified: files[0],
            files_unannounced: files[1],
            last_tool: name(0),
            last_call: name(1),
            tree: name(2),
            last_file_modified: name(3),
            token_limit: limits[0],
            wall_limit: limits[1],
            still_seconds: still,
            fewest_processes: still / 2,
            tree_seen_at: seen.map(Wall),
            has_checkpoint: flags[0],
            no_token_limit: flags[1],
            no_wall_limit: flags[2],
            ..look(1)
        }
    }
}

prop_compose! {
    fn any_settings()(
        interval in any::<f64>(),
        sizes in proptest::array::uniform2(0usize..40),
        amounts in proptest::array::uniform8(prop_oneof![any::<u64>(), 0u64..100]),
        nudges in 0u32..4,
        halt in any::<bool>(),
    ) -> OverseerConfig {
        OverseerConfig {
            enabled: true,
            check_interval_seconds: interval,
            snapshot_history_size: sizes[0],
            loop_detection_window: sizes[1],
            max_tokens: amounts[0],
            token_warning_threshold: amounts[1],
            timeout_seconds: amounts[2],
            nudge_cooldown_seconds: amounts[3],
            stagnation_token_threshold: amounts[4],
            failure_increase_threshold: amounts[5],
            suspect_after_seconds: amounts[6],
            max_nudges_per_agent: nudges,
            halt_on_critical: halt,
            answer_seconds: amounts[7],
        }
    }
}

prop_compose! {
    fn any_deed()(
        action in proptest::sample::select(vec![Action::Nudge, Action::Halt, Action::Escalate]),
        behaviour in proptest::sample::select(Behaviour::ALL.to_vec()),
        at in prop_oneof![any::<i64>(), BEGAN..BEGAN + 300],
    ) -> Intervention {
        done(action, behaviour, at)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn overseer_is_total_and_deterministic(
        pushed in proptest::collection::vec(any_look(), 0..24),
        config in any_settings(),
        past in proptest::collection::vec(any_deed(), 0..8),
        now in prop_oneof![any::<i64>(), BEGAN..BEGAN + 300],
        runner in proptest::option::of(any::<bool>()),
        known in proptest::array::uniform2(any::<bool>()),
        ages in proptest::array::uniform2(any::<u64>()),
    ) {
        let mut ring = Ring::default();
        pushed.into_iter().for_each(|look| ring.push(look, &config));
        let history = &ring.snapshots;
        let found = detect(history, &config);
        prop_assert_eq!(&found, &detect(ring.session(), &config), "what is of another session changes nothing");
        prop_assert!(found.len() <= Behaviour::ALL.len());
        let reached: Vec<Behaviour> =
            measures(history, &config).iter().filter(|one| one.reached()).map(|one| one.behaviour).collect();
        let said: Vec<Behaviour> = found.iter().map(|one| one.behaviour).collect();
        prop_assert_eq!(reached, said, "what is explained is what alarms");
        for one in &found {
            prop_assert!((0.0..=1.0).contains(&one.confidence));
            prop_assert!(!one.evidence.concat().contains('\u{1b}'), "{:?}", one.evidence);
            prop_assert!(one.severity == Gravity::Critical || one.suggested != Action::Halt);
        }
        let signals = Signals {
            runner_lives: runner,
            lease_expired: known[0],
            holds_work: known[1],
            seconds_since_heartbeat: ages[0],
            seconds_since_snapshot: (ages[1] % 2 == 0).then_some(ages[1]),
        };
        let said = liveness(history, &signals, &config);
        prop_assert_eq!(&said, &liveness(history, &signals, &config));
        prop_assert!(said.grade != Grade::Dead || runner == Some(false));
        let past: Vec<&Intervention> = past.iter().collect();
        let decision = decide(&found, &past, 0, Wall(now), &config);
        prop_assert_eq!(&decision, &decide(&found, &past, 0, Wall(now), &config));
        if let Some(decision) = decision {
            let decided = decision.detection.behaviour;
            prop_assert!(found.iter().any(|one| one.behaviour == decided));
            prop_assert!(decision.action != Action::Halt || config.halt_on_critical);
            prop_assert_eq!(decision.question.is_some(), decision.action == Action::Escalate);
        }
    }
}
