//! From runs to verdicts and exit codes.

use std::{collections::BTreeMap, sync::Arc};

use jiff::civil::{Date, date};
use stub_provider::{event::End, fault::Stage};

use super::*;
use crate::{
    bug_kind::BugKind,
    exit_code::ExitCode,
    history::{
        EventKind,
        builder::{delay, respond, tale},
    },
    result::Known,
};

const TODAY: Date = date(2026, 6, 1);

fn baseline() -> ScenarioRun {
    ScenarioRun::of(Arc::new(
        tale(BASELINE, 1).ask(1, Some("k")).accept().all_sent(),
    ))
}

fn run(history: History) -> ScenarioRun {
    ScenarioRun::of(Arc::new(history))
}

fn skipped() -> ScenarioRun {
    ScenarioRun {
        ran: Ran::Skipped("no callback".into()),
        ..run(tale("skipped", 1).settle())
    }
}

fn judged(histories: Vec<History>, rules: &Rules) -> SuiteResult {
    let runs: Vec<ScenarioRun> = histories.into_iter().map(run).collect();
    judge_suite(&baseline(), &runs, rules)
}

fn strict() -> Rules {
    Rules::strict(TODAY)
}

fn known(kind: &str, until: Date) -> Rules {
    Rules {
        known: BTreeMap::from([(
            kind.to_owned(),
            Known {
                reason: "ticket 42".into(),
                until,
            },
        )]),
        ..strict()
    }
}

fn honest() -> History {
    tale("honest", 1)
        .ask(1, Some("k"))
        .refuse(503)
        .ask(1, Some("k"))
        .accept()
        .all_sent()
}

fn double() -> History {
    tale("double", 1)
        .ask(1, Some("a"))
        .refuse(503)
        .ask(1, Some("b"))
        .accept()
        .all_sent()
}

fn impolite() -> History {
    tale("impolite", 1)
        .ask(1, Some("k"))
        .suffer(respond(Stage::BeforeAccept, 429))
        .answer_with(429, &[("retry-after", "2")])
        .ask(1, Some("k"))
        .accept()
        .all_sent()
}

fn verdict(history: History) -> Verdict {
    judged(vec![history], &strict()).scenarios[0]
        .verdict
        .clone()
}

fn inconclusive(history: History) -> String {
    match verdict(history) {
        Verdict::Inconclusive(why) => why,
        other => panic!("{other:?} where nothing can be said"),
    }
}

/// The same, with the second request after a span in which the client had no processor.
fn impolite_after(starved: u64) -> History {
    tale("impolite", 1)
        .ask(1, Some("k"))
        .suffer(respond(Stage::BeforeAccept, 429))
        .answer_with(429, &[("retry-after", "2")])
        .starve(starved)
        .ask(1, Some("k"))
        .accept()
        .all_sent()
}

#[test]
fn a_client_without_a_processor_is_not_blamed_for_its_timing() {
    assert_eq!(verdict(impolite_after(20)), Verdict::Fail);
    let Verdict::Inconclusive(why) = verdict(impolite_after(400)) else {
        panic!("its timing proves nothing");
    };
    assert!(
        why.contains("retry-after-ignored") && why.contains("400 ms"),
        "{why}"
    );
    let two_keys = tale("double", 1)
        .ask(1, Some("a"))
        .refuse(503)
        .starve(400)
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(verdict(two_keys), Verdict::Fail, "that rests on facts");
    let a_409_for_final = tale("in-flight", 1)
        .ask(1, Some("k"))
        .suffer(delay(600))
        .starve(400)
        .end(End::ClientClosed)
        .ask(1, Some("k"))
        .answer(409)
        .of(1)
        .deliver()
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(verdict(a_409_for_final), Verdict::Fail, "so does a belief");
}

#[test]
fn a_client_without_a_processor_until_the_limit_has_not_lost_what_it_never_sent() {
    let never_came = |starved| {
        tale("never", 1)
            .given(|h| h.expect.deliveries = Some(1))
            .starve(starved)
            .believe(1, Outcome::Pending)
            .time_out()
    };
    assert_eq!(verdict(never_came(20)), Verdict::Fail);
    let Verdict::Inconclusive(why) = verdict(never_came(400)) else {
        panic!("it may have been about to send");
    };
    assert!(why.contains("lost-message"), "{why}");
}

#[test]
fn an_honest_client_passes_and_exits_0() {
    let suite = judged(vec![honest()], &strict());
    assert_eq!(suite.scenarios[0].verdict, Verdict::Pass);
    assert_eq!(suite.exit_code(), ExitCode::Pass);
}

#[test]
fn a_defect_fails_and_exits_1() {
    let suite = judged(vec![honest(), double()], &strict());
    assert_eq!(suite.scenarios[1].verdict, Verdict::Fail);
    assert_eq!(suite.exit_code(), ExitCode::Violation);
    assert_eq!(suite.kinds()[0].0, BugKind::KeyPerAttempt);
}

#[test]
fn a_client_that_fails_without_faults_is_inconclusive_and_not_caught() {
    let broken = run(tale(BASELINE, 1)
        .ask(1, Some("a"))
        .accept()
        .ask(1, Some("b"))
        .accept()
        .all_sent());
    let suite = judge_suite(&broken, &[run(double())], &strict());
    assert!(matches!(suite.baseline.verdict, Verdict::Inconclusive(_)));
    assert!(matches!(
        suite.scenarios[0].verdict,
        Verdict::Inconclusive(_)
    ));
    assert_eq!(suite.exit_code(), ExitCode::Inconclusive);
}

#[test]
fn a_client_that_never_called_in_the_baseline_is_inconclusive() {
    let silent = run(tale(BASELINE, 1).all_sent());
    let suite = judge_suite(&silent, &[run(honest())], &strict());
    let why = suite.scenarios[0].verdict.reason().unwrap_or_default();
    assert!(why.contains("never called"), "{why}");
}

#[test]
fn an_empty_history_is_inconclusive() {
    let empty = tale("empty", 1).given(|h| h.events.clear()).history;
    assert!(inconclusive(empty).contains("never called"));
}

#[test]
fn a_fault_that_did_not_act_never_passes() {
    let came = tale("came", 1)
        .declare(1, respond(Stage::BeforeAccept, 503))
        .ask(1, Some("k"))
        .accept()
        .all_sent();
    assert!(inconclusive(came).contains("did not act"));
    let never = tale("never", 1)
        .declare(9, respond(Stage::BeforeAccept, 503))
        .ask(1, Some("k"))
        .accept()
        .all_sent();
    assert!(inconclusive(never).contains("no fault acted"));
}

#[test]
fn a_fault_that_the_client_had_no_need_to_meet_is_reported_without_blame() {
    let history = tale("unreached", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .declare(2, respond(Stage::BeforeAccept, 503))
        .all_sent();
    let suite = judged(vec![history], &strict());
    assert_eq!(suite.scenarios[0].verdict, Verdict::Pass);
    assert_eq!(suite.scenarios[0].unreached.len(), 1);
}

#[test]
fn a_client_cut_short_while_it_works_is_inconclusive() {
    let busy = tale("busy", 1)
        .ask(1, Some("k"))
        .hang()
        .believe(1, Outcome::Pending)
        .time_out();
    assert!(inconclusive(busy).contains("time limit"));
}

#[test]
fn an_outcome_that_nobody_could_learn_is_inconclusive() {
    let mute = tale("mute", 1)
        .ask(1, Some("k"))
        .refuse(503)
        .ask(1, Some("k"))
        .accept()
        .settle();
    assert!(inconclusive(mute).contains("nobody could learn"));
}

#[test]
fn too_few_samples_count_only_where_the_scenario_is_about_them() {
    let few = |tags: &[&str]| {
        let tags: Vec<String> = tags.iter().map(|t| (*t).to_owned()).collect();
        honest_with_backoff()
            .given(move |h| h.tags = tags)
            .all_sent()
    };
    assert_eq!(verdict(few(&[])), Verdict::Pass);
    assert!(inconclusive(few(&["jitter"])).contains("not enough samples"));
}

fn honest_with_backoff() -> crate::history::builder::Tale {
    tale("few", 1)
        .given(|h| h.client.policy.backoff = Some(crate::history::builder::backoff(400, 3_200)))
        .ask(1, Some("k"))
        .refuse(503)
        .wait(100)
        .ask(1, Some("k"))
        .accept()
}

#[test]
fn what_is_undecided_about_something_else_does_not_count() {
    let other = honest_with_backoff().given(|h| h.tags = vec!["ambiguous".into()]);
    assert_eq!(verdict(other.all_sent()), Verdict::Pass);
}

#[test]
fn a_finding_in_one_scenario_is_none_of_another() {
    let suite = judged(vec![honest(), double()], &strict());
    assert_eq!(suite.scenarios[0].findings, []);
    assert_eq!(suite.scenarios[1].findings.len(), 1);
}

#[test]
fn a_scenario_alone_is_not_judged_where_the_client_fails_without_faults() {
    let broken = tale(BASELINE, 1).settle();
    let why = |run: &ScenarioRun, baseline: Option<&History>| {
        let Verdict::Inconclusive(why) = judge_alone(run, baseline, &strict()).verdict else {
            panic!("nothing can be said");
        };
        why
    };
    let scenario = run(honest());
    assert_eq!(
        why(&scenario, Some(&broken)),
        "the client fails without any fault: the client never called the provider"
    );
    assert_eq!(
        why(&run(broken.clone()), None),
        "the client never called the provider"
    );
    assert_eq!(
        judge_alone(&scenario, None, &strict()).verdict,
        Verdict::Pass
    );
}

#[test]
fn a_client_that_counts_tries_which_never_arrived_has_called() {
    let never_arrived = |count| {
        tale("refused", 1)
            .declare(1, respond(Stage::BeforeAccept, 503))
            .believe_counting(1, Outcome::Unknown, count)
            .settle()
    };
    assert!(inconclusive(never_arrived(0)).contains("never called"));
    assert!(!inconclusive(never_arrived(2)).contains("never called"));
    let applied = tale("down", 1)
        .declare(1, respond(Stage::BeforeAccept, 503))
        .event(EventKind::FaultFired {
            fault: 1,
            attempt: None,
            intent: None,
        })
        .believe_counting(1, Outcome::Unknown, 0)
        .settle();
    assert_eq!(verdict(applied), Verdict::Pass);
}

#[test]
fn what_was_finished_at_the_time_limit_can_be_judged() {
    let finished = tale("finished", 1)
        .ask(1, Some("k"))
        .accept()
        .believe(1, Outcome::Sent)
        .time_out();
    assert_eq!(verdict(finished), Verdict::Pass);
}

#[test]
fn a_client_is_asked_for_its_belief_only_where_it_tells_one() {
    let mute = |tells: bool| {
        let told = tale(BASELINE, 1).given(|h| h.client.tells_outcome = tells);
        let history = told.ask(1, Some("k")).accept().settle();
        baseline_failure(&View::new(&history))
    };
    assert_eq!(mute(false), None);
    assert!(mute(true).is_some_and(|why| why.contains("nobody could learn")));
}

#[test]
fn only_skipped_scenarios_or_none_exit_4() {
    for runs in [vec![], vec![skipped()]] {
        let suite = judge_suite(&baseline(), &runs, &strict());
        assert_eq!(suite.exit_code(), ExitCode::NothingRan);
    }
    let some = judge_suite(&baseline(), &[skipped(), run(honest())], &strict());
    assert_eq!(some.exit_code(), ExitCode::Pass);
}

#[test]
fn a_scenario_that_is_meant_to_catch_a_kind_passes_when_it_does_and_fails_when_not() {
    let meant = |mut history: History| {
        history.expect.findings = vec!["key-per-attempt".into()];
        judged(vec![history], &strict())
    };
    assert_eq!(meant(double()).scenarios[0].verdict, Verdict::Pass);
    let absent = meant(honest());
    assert_eq!(absent.scenarios[0].verdict, Verdict::Fail);
    assert_eq!(absent.scenarios[0].missed, ["key-per-attempt"]);
}

#[test]
fn a_known_kind_is_let_through_until_its_date_and_said_when_it_is_past_or_gone() {
    let in_date = judged(
        vec![impolite()],
        &known("retry-after-ignored", date(2026, 6, 1)),
    );
    assert_eq!(in_date.exit_code(), ExitCode::Pass);
    assert_eq!(in_date.known[0].state, KnownState::Shows);
    let past = judged(
        vec![impolite()],
        &known("retry-after-ignored", date(2026, 5, 31)),
    );
    assert_eq!(past.exit_code(), ExitCode::Violation);
    assert_eq!(past.known[0].state, KnownState::Expired);
    let gone = judged(
        vec![honest()],
        &known("retry-after-ignored", date(2027, 1, 1)),
    );
    assert_eq!(gone.known[0].state, KnownState::NoLongerShows);
}

#[test]
fn findings_below_the_least_severity_are_shown_and_do_not_fail() {
    let rules = Rules {
        min_severity: Severity::Loss,
        ..strict()
    };
    let suite = judged(vec![impolite()], &rules);
    assert_eq!(suite.exit_code(), ExitCode::Pass);
    assert_eq!(suite.scenarios[0].findings.len(), 1);
    assert_eq!(suite.scenarios[0].findings[0].standing, Standing::Minor);
}

#[test]
fn a_scenario_alone_names_the_general_kind_and_the_whole_run_the_narrow_one() {
    let hang = tale("hang", 1)
        .ask(1, Some("a"))
        .deliver()
        .hang()
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    let alone = judge_alone(&run(hang.clone()), None, &strict());
    assert_eq!(alone.findings[0].kind, BugKind::KeyPerAttempt);
    assert!(alone.findings[0].or_narrower);
    let suite = judged(vec![hang, honest()], &strict());
    assert_eq!(
        suite.scenarios[0].findings[0].kind,
        BugKind::AmbiguousAsFailed
    );
}
