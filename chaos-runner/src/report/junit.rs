//! The run as `JUnit`'s XML, for CI: a test case for each scenario, a failure named by its kind.

use anstream::adapter::strip_str;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{failure::failure, words::replay};
use crate::{
    result::{ScenarioResult, SuiteResult},
    verdict::Verdict,
};

/// The document.
///
/// # Errors
///
/// The XML cannot be written.
pub fn document(suite: &SuiteResult) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("chaos-runner");
    let mut tests = TestSuite::new(suite.client.clone());
    tests.set_time(suite.duration);
    for scenario in suite.all() {
        tests.add_test_case(case(suite, scenario));
    }
    report.set_time(suite.duration);
    report.add_test_suite(tests);
    report.to_string()
}

fn case(suite: &SuiteResult, scenario: &ScenarioResult) -> TestCase {
    let status = match &scenario.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Skipped(why) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.clone());
            status
        }
        Verdict::Inconclusive(why) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status
                .set_type("inconclusive")
                .set_message(why.clone())
                .set_description(format!("{why}\n{}", replay(suite, scenario)));
            status
        }
        Verdict::Fail => failed(suite, scenario),
    };
    let mut case = TestCase::new(scenario.name.clone(), status);
    case.set_classname(suite.client.clone());
    case.set_time(scenario.duration);
    case
}

fn failed(suite: &SuiteResult, scenario: &ScenarioResult) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let kinds: Vec<&str> = scenario.counting().map(|f| f.kind.as_str()).collect();
    if kinds.is_empty() {
        status.set_type("missed").set_message(format!(
            "expected, and absent: {}",
            scenario.missed.join(", ")
        ));
        return status;
    }
    let message: Vec<&str> = scenario.counting().map(|f| f.kind.wrong()).collect();
    let told: Vec<String> = scenario
        .counting()
        .map(|f| strip_str(&failure(suite, scenario, f, &[])).to_string())
        .collect();
    status
        .set_type(kinds.join(", "))
        .set_message(message.join(" "))
        .set_description(told.join("\n"));
    status
}
