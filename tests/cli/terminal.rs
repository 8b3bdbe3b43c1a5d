//! Output on a terminal: lines fit its width, words stay whole, colours have meanings, times are local.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World};

/// Runs a person's command on a terminal of this many columns, and returns what appeared there.
fn on_terminal(world: &World, columns: u16, args: &[&str], env: &[(&str, &str)]) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("a terminal");
    let name = ptsname(&ours, Vec::new()).expect("its name").into_string().expect("a name");
    let theirs = std::fs::OpenOptions::new().read(true).write(true).open(name).expect("the other side");
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).expect("its size");
    let stream = || Stdio::from(OwnedFd::from(theirs.try_clone().expect("a handle")));
    let mut command = world.liza_command(&HUMAN, &world.root, args);
    command.env("LC_ALL", "C.UTF-8").envs(env.iter().copied()).stdout(stream()).stderr(stream());
    let mut running = command.start().expect("liza starts");
    // The command keeps its own handles until here.
    drop(command);
    drop(theirs);
    let mut ours = std::fs::File::from(ours);
    let mut seen = Vec::new();
    let mut some = [0; 4096];
    // A terminal without users answers with an error.
    while let Ok(count @ 1..) = ours.read(&mut some) {
        seen.extend(&some[..count]);
    }
    running.wait().expect("it ends");
    String::from_utf8(seen).expect("text").replace("\r\n", "\n")
}

fn plain(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.split_once('m').map_or("", |(_, rest)| rest))
}

fn board() -> World {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let task = |number: usize| {
        let id = format!("greet-people-{number}");
        let title = format!("Greet people politely in language number {number} and say why it was chosen");
        format!(
            "  - {{id: {id}, title: {title}, spec_ref: specs/vision.md, done_when: [prints Hello], scope: {{in: [{id}.sh, tests/test_{id}.sh]}}}}\n"
        )
    };
    world.write("plan.yaml", &format!("tasks:\n{}", (1..=18).map(task).collect::<String>()));
    world.human(&["plan", "plan.yaml"]).ok();
    world.claim(&coder, "greet-people-3");
    let commit = world.submit_work(
        &world.register("coder", "coder-2"),
        "greet-people-4",
        "greet-people-4.sh",
        "echo\n",
    );
    assert!(!commit.is_empty());
    world
        .human(&["task", "block", "greet-people-5", "--reason", "two ways", "--question", "Which one?"])
        .ok();
    world
}

#[test]
fn every_width_keeps_words_whole() {
    let world = board();
    for columns in [60, 80, 140, 200] {
        for args in [
            &["status"][..],
            &["task", "list"],
            &["task", "show", "greet-people-4"],
            &["review", "list"],
            &["agent", "list"],
            &["log", "-n", "5"],
            &["task", "claim", "greet-people-5"],
            &["task", "show", "greet-poeple-4"],
        ] {
            let seen = on_terminal(&world, columns, args, &[("NO_COLOR", "1")]);
            assert!(!seen.contains('\u{1b}'), "{seen}");
            for line in seen.lines() {
                // A single word, path or command that is longer than a line stays whole.
                let wide = line.chars().count() > usize::from(columns);
                let pieces = line.trim().split('`').count();
                let one = line.split_whitespace().count() <= 2 || pieces > 1;
                assert!(!wide || one, "{columns} columns, {args:?}: {line}");
            }
            let known: Vec<String> = world.human(args).stdout.split_whitespace().map(str::to_owned).collect();
            let whole = |word: &str| {
                known.is_empty()
                    || word.ends_with('…')
                    || known.iter().any(|one| one.trim_matches(['(', ')']) == word.trim_matches(['(', ')']))
            };
            let odd: Vec<&str> = seen
                .split_whitespace()
                .filter(|word| !whole(word) && word.len() > 12 && !word.contains('█') && !word.contains('░'))
                .collect();
            assert!(odd.is_empty(), "{columns} columns, {args:?}: {odd:?}\n{seen}");
        }
    }
}

#[test]
fn status_shows_15_tasks_per_group() {
    let world = board();
    let text = world.human(&["status"]).ok().stdout;
    let group = text.split("\nIDLE 15\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(group.lines().take_while(|line| line.starts_with("  greet")).count(), 15, "{text}");
    for number in 19..=22 {
        world.task(&format!("more-{number}"), &[&format!("more-{number}.txt")]);
    }
    let text = world.human(&["status"]).ok().stdout;
    let group = text.split("\nIDLE 19\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(group.lines().take_while(|line| !line.contains(" more: ")).count(), 15, "{text}");
    assert!(group.contains("  and 4 more: `liza task list --status IDLE`"), "{text}");
    let blocked = text.find("\nBLOCKED 1\n").expect("a group");
    assert!(
        blocked < text.find("\nWORKING 1\n").expect("a group"),
        "what needs a person comes first: {text}"
    );
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["tasks"].as_array().unwrap().len(), 22);
}

#[test]
fn colours_follow_meaning_and_can_be_turned_off() {
    let world = board();
    let seen = on_terminal(&world, 100, &["status"], &[]);
    for part in
        ["\u{1b}[31mBLOCKED\u{1b}[0m", "\u{1b}[36mWORKING\u{1b}[0m", "\u{1b}[33mREADY_FOR_REVIEW\u{1b}[0m"]
    {
        assert!(seen.contains(part), "{part:?} in {seen:?}");
    }
    let without = on_terminal(&world, 100, &["--color", "never", "status"], &[]);
    assert!(!without.contains('\u{1b}'));
    assert_eq!(plain(&seen), without);
    assert_eq!(on_terminal(&world, 100, &["status"], &[("NO_COLOR", "1")]), without);
    assert!(!world.human(&["status"]).ok().stdout.contains('\u{1b}'), "a pipe is no terminal");
    assert!(world.human(&["--color", "always", "status"]).ok().stdout.contains("\u{1b}[31mBLOCKED"));
    let error = on_terminal(&world, 100, &["task", "show", "nothing"], &[]);
    assert!(
        error.contains("\u{1b}[31merror:\u{1b}[0m") && error.contains("\u{1b}[36mhint:\u{1b}[0m"),
        "{error:?}"
    );
    // Text of a title is not coloured.
    world.task("evil", &["evil.txt"]);
    world.human(&["task", "edit", "evil", "--title", "\u{1b}[32mMERGED"]).ok();
    let seen = on_terminal(&world, 200, &["task", "show", "evil"], &[]);
    assert!(!seen.contains("\u{1b}[32mMERGED\u{1b}[0m: ") && seen.contains("\\u{1b}[32"), "{seen:?}");
}

#[test]
fn times_are_local_for_people_and_utc_for_programs() {
    let world = board();
    let expires = world.show("greet-people-3")["lease"]["expires"]["at"].as_str().unwrap().to_owned();
    assert!(expires.ends_with('Z'), "{expires}");
    let minute: u32 = expires[14..16].parse().unwrap();
    let hour: u32 = expires[11..13].parse().unwrap();
    let env = [("TZ", "XXX-05:30")];
    let text = world.liza_with(&HUMAN, &["task", "show", "greet-people-3"], b"", &env).ok().stdout;
    let local = (hour * 60 + minute + 330) % (24 * 60);
    let lease = text.lines().find(|line| line.starts_with("lease:")).expect("a lease");
    assert!(lease.contains(&format!("{:02}:{:02} (in ", local / 60, local % 60)), "{expires}: {lease}");
    let in_utc = |word: &str| word.ends_with('Z') && word.contains(':');
    assert!(!text.split_whitespace().any(in_utc), "{text}");
    let json = world.liza_with(&HUMAN, &["--json", "task", "show", "greet-people-3"], b"", &env).ok().stdout;
    assert!(json.contains(&expires));
}
