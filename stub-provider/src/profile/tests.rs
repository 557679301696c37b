use proptest::prelude::*;

use super::*;

const V1: &str = BUILT_IN[0].1;

fn wrong(source: &str) -> ProfileError {
    match Profile::parse(source, "x.toml") {
        Ok(_) => panic!("this is wrong and was taken:\n{source}"),
        Err(error) => error,
    }
}

/// `v1` with something in place of something else.
fn changed(right: &str, other: &str) -> String {
    let source = V1.replacen(right, other, 1);
    assert_ne!(source, V1, "{right} stands in the profile");
    source
}

#[test]
fn every_built_in_profile_is_sound() {
    for (name, source) in BUILT_IN {
        let profile =
            Profile::parse(source, name).unwrap_or_else(|e| panic!("{}", e.report(false)));
        assert_eq!(profile.name(), *name);
        assert!(!profile.title().is_empty());
    }
    assert!(Profile::builtin("v0").is_none());
}

#[test]
fn every_rule_of_every_built_in_profile_has_a_source() {
    for name in Profile::names() {
        let profile = Profile::builtin(name).expect("a name of the list");
        let rules = profile.rules();
        assert_eq!(rules.len(), Rule::ALL.len());
        for rule in rules {
            let source = rule
                .source
                .unwrap_or_else(|| panic!("{name}: {}", rule.rule));
            assert!(source.says.ends_with('.'), "{name}: {}", source.says);
            // What has no page is said to have none.
            let honest = source.url.is_some() || source.says.starts_with("Not documented");
            assert!(honest, "{name}: {}: {}", rule.rule, source.says);
        }
    }
}

#[test]
fn a_wrong_key_is_named_and_marked_and_the_right_one_is_suggested() {
    let error = wrong(&changed("mismatch  =", "mismach  ="));
    assert_eq!(error.marked(), Some("mismach"));
    assert!(error.report(false).contains("did you mean `mismatch`?"));
    let error = wrong(&changed("retention      = {", "retenton      = {"));
    assert_eq!(error.marked(), Some("retenton"));
    assert!(error.report(false).contains("did you mean `retention`?"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of one line for each value")]
fn values_that_cannot_work_are_refused_where_they_stand() {
    for (right, other, marked, says) in [
        (
            "{ status = 422 }",
            "{ status = 200 }",
            "200",
            "not a status",
        ),
        ("= 201", "= 404", "404", "not a status"),
        ("\"json:to\"", "\"cookie:to\"", "\"cookie:to\"", "cookie:to"),
        ("\"json:to\"", "\"form:to\"", "\"form:to\"", "JSON"),
        (
            "\"json:to\"",
            "\"json:recipient\"",
            "\"json:recipient\"",
            "no recipient",
        ),
        (
            "\"json:to\"",
            "\"json:all.*.to\"",
            "\"json:all.*.to\"",
            "a key is of the request",
        ),
        (
            "\"json:id\"",
            "\"json:data.id\"",
            "\"json:data.id\"",
            "no id",
        ),
        (
            "\"/v1/messages\"",
            "\"/admin\"",
            "\"/admin\"",
            "provider's own",
        ),
        (
            "\"/v1/messages/{id}\"",
            "\"/v1/messages\"",
            "\"/v1/messages\"",
            "names no message",
        ),
        ("\"{id}\"", "\"{idd}\"", "", "{idd}"),
        (
            "\"status\":\"queued\"}'",
            "\"status\":queued}'",
            "",
            "not JSON",
        ),
        ("[{messages}]}'", "[]}'", "", "no place for them"),
        (
            "\"json:messages\"",
            "\"json:list\"",
            "\"json:list\"",
            "no messages",
        ),
        (
            "\"Idempotent-Replayed\"",
            "\"Idem potent\"",
            "\"Idem potent\"",
            "header",
        ),
        ("\"24h\"", "\"24\"", "\"24\"", "duration"),
        (
            "\"everything\"",
            "\"nothing\"",
            "\"Idempotent-Replayed\"",
            "nothing is replayed",
        ),
        ("\"bytes\"", "\"nothing\"", "mismatch", "fits every request"),
        ("\"bytes\"", "\"byte\"", "\"byte\"", "not a word"),
        ("\"wait\"", "\"waits\"", "\"waits\"", "not a word"),
        ("\"wait\"", "{ stat = 409 }", "stat", "not a key"),
        ("\"wait\"", "409", "409", "\"wait\" or a row"),
        (
            "\"header:Idempotency-Key\"",
            "\"json:key\"",
            "\"either\"",
            "only in a header",
        ),
        (
            "\"header:Idempotency-Key\"",
            "\"none\"",
            "replay-header",
            "has no key",
        ),
        ("= 255", "= 0", "0", "no key has"),
        (
            "\"bearer\"",
            "\"bearrer\"",
            "\"bearrer\"",
            "neither a style",
        ),
    ] {
        let error = wrong(&changed(right, other));
        assert!(
            error.report(false).contains(says),
            "{}",
            error.report(false)
        );
        assert!(error.line().is_some(), "{}", error.report(false));
        if !marked.is_empty() {
            assert_eq!(error.marked(), Some(marked), "{}", error.report(false));
        }
    }
}

#[test]
fn a_key_of_a_recipient_needs_a_list_an_answer_for_it_and_no_bytes() {
    let error = wrong(&changed(
        "binds         = \"bytes\"",
        "unit = \"recipient\"\nbinds = \"bytes\"",
    ));
    let said = error.report(false);
    for words in [
        "needs a list of recipients",
        "cannot bind every byte",
        "the whole answer needs a shape",
        "an error of one needs a shape",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn answers_in_xml_are_checked_as_xml_and_are_no_lists() {
    let source = r#"
        name = "x"
        title = "x"
        [submit]
        path = "/send"
        request = '{"to":"{to}","text":"{text}"}'
        recipient = "json:to"
        text = "json:text"
        answers = "xml"
        status = 200
        answer = '<Sent><Id>{id}</Id></Sent>'
        id = "xml:Sent.Id"
        [errors]
        body = '<Error>{message}</Error>'
    "#;
    assert!(Profile::parse(source, "x.toml").is_ok());
    for (right, other, says) in [
        ("<Id>{id}</Id></Sent>", "<Id>{id}</Sent>", "this is not XML"),
        ("<Sent><Id>{id}</Id></Sent>", "{id}", "this is not XML"),
        ("xml:Sent.Id", "xml:Id", "no id"),
        ("xml:Sent.Id", "json:id", "`submit.answers` says XML"),
        ("answers = \"xml\"", "", "`submit.answers` says JSON"),
        ("\"json:to\"", "\"xml:to\"", "is a place in XML, and"),
        ("body = '<Error>{message}</Error>'", "", "needs a shape"),
        ("body = '<Error>", "body = '{\"error\":", "this is not XML"),
        (
            "[errors]",
            "[lookup]\nlist = { path = \"/l\", field = \"to\", answer = '<L>{messages}</L>', items = \"json:l\" }\n[errors]",
            "in JSON only",
        ),
    ] {
        let error = wrong(&source.replacen(right, other, 1));
        assert!(
            error.report(false).contains(says),
            "{}",
            error.report(false)
        );
    }
}

#[test]
fn a_key_elsewhere_is_still_the_same_profile() {
    let profile = Profile::v1().with_key("json:key".parse().expect("a place"));
    assert_eq!(profile.key_place().to_string(), "json:key");
    assert_eq!(profile.retention(), Profile::v1().retention());
}

#[test]
fn a_file_that_is_not_there_is_an_error_and_not_a_panic() {
    let error = Profile::load(Path::new("/nowhere/at/all.toml")).expect_err("no such file");
    assert!(
        error.to_string().contains("/nowhere/at/all.toml"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_loader_fail(text: String) {
        let _ = Profile::parse(&text, "x.toml");
    }

    /// Far more of the loader is reached from a file that is nearly right.
    #[test]
    fn no_slip_makes_the_loader_fail(at in 0..V1.len(), cut in 0..12usize, put in "[ -~\\n]{0,6}") {
        let mut source = V1.to_owned();
        let end = (at + cut).min(source.len());
        if source.is_char_boundary(at) && source.is_char_boundary(end) {
            source.replace_range(at..end, &put);
            let _ = Profile::parse(&source, "x.toml");
        }
    }
}
