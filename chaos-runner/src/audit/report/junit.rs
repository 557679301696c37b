//! An audit as `JUnit`'s XML, for CI: a test case for each rule.

use anstream::adapter::strip_str;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::console;
use crate::audit::{
    judgement::Judgement,
    result::{Audited, Checked},
};

/// The document.
///
/// # Errors
///
/// The XML cannot be written.
pub fn document(audited: &Audited) -> Result<String, quick_junit::SerializeError> {
    let name = format!("audit of {} as {}", audited.url, audited.profile);
    let mut report = Report::new("chaos-runner");
    let mut tests = TestSuite::new(name);
    tests.set_time(audited.duration);
    for checked in &audited.rules {
        let mut case = TestCase::new(checked.rule.id(), status(checked));
        case.set_classname(format!("audit.{}", audited.profile));
        case.set_time(checked.duration);
        tests.add_test_case(case);
    }
    report.set_time(audited.duration);
    report.add_test_suite(tests);
    report.to_string()
}

fn status(checked: &Checked) -> TestCaseStatus {
    let said = checked.judgement.text().to_owned();
    match &checked.judgement {
        Judgement::Kept(_) => TestCaseStatus::success(),
        Judgement::NotChecked(_) | Judgement::NotApplicable(_) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(said);
            status
        }
        Judgement::Undecided(_) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("inconclusive").set_message(said);
            status
        }
        Judgement::Broken(_) => {
            let mut told = String::new();
            console::broken(&mut told, checked);
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(checked.rule.id())
                .set_message(said)
                .set_description(strip_str(&told).to_string());
            status
        }
    }
}
