"""The plugin in a pytest of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def client(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(client=(HERE / "client.py").read_text())


def stable(text: str) -> str:
    """What differs from run to run made equal: ports, times and the width that they take."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r" *\+\d+ ms", "  +N ms", text)


@pytest.mark.usefixtures("client")
def test_a_client_without_a_key_fails_with_every_attempt_as_the_proof(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        from client import send

        def test_login_code(sms_provider):
            sms_provider.fail_next()
            send(sms_provider.url, "+12025550142", "Your code is 471142", lambda _: None)
            sms_provider.assert_delivered_once(to="+12025550142")
    """)
    result = pytester.runpytest_subprocess("--color=no")
    result.assert_outcomes(failed=1)
    said = [line for line in result.stdout.lines if line.startswith(("E ", ">"))]
    snapshot = HERE / "snapshots" / "no-key.txt"
    assert stable("\n".join(line.rstrip() for line in said)) + "\n" == snapshot.read_text()
    # The traceback is the test's own, and what it says is not said twice.
    assert "provider.py" not in result.stdout.str()
    assert "what the SMS provider saw" not in result.stdout.str()


@pytest.mark.usefixtures("client")
def test_a_key_for_each_attempt_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from client import send

        def test_login_code(sms_provider):
            sms_provider.fail_next("reset")
            send(sms_provider.url, "+12025550142", "hello", lambda n: f"try-{n}")
            sms_provider.assert_delivered_once(to="+12025550142")
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Each of these keys is a message of its own*"])


@pytest.mark.usefixtures("client")
def test_any_other_failure_is_shown_what_the_provider_saw(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from client import send

        def test_login_code(sms_provider):
            send(sms_provider.url, "+12025550142", "hello", lambda _: "otp-1")
            assert len(sms_provider.messages()) == 2
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "*what the SMS provider saw*",
        "*#1*POST /v1/messages*key 'otp-1'*accepted, phone buzzed; answered 201",
    ])


@pytest.mark.usefixtures("client")
def test_one_process_serves_the_session_and_forgets_between_tests(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        from client import send

        urls = []

        def test_one(sms_provider):
            sms_provider.fail_next("crash", memory="lost", lasts="1h", key="never")
            send(sms_provider.url, "+12025550142", "hello", lambda _: "otp-1")
            urls.append(sms_provider.url)

        def test_two(sms_provider):
            assert sms_provider.messages() == []
            assert sms_provider.faults() == []
            assert urls == [sms_provider.url]
            send(sms_provider.url, "+12025550142", "hello", lambda _: "otp-1")
            sms_provider.assert_delivered_once(key="otp-1")
    """)
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=2)


def test_the_arguments_stand_in_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("""
        [pytest]
        sms_provider_args = --profile refuse --seed 7
    """)
    pytester.makepyfile("""
        def test_profile(sms_provider, sms_provider_args):
            assert sms_provider_args == ["--profile", "refuse", "--seed", "7"]
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_provider_that_does_not_start_is_an_error_that_says_why(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("""
        [pytest]
        sms_provider_args = --profile twillio
    """)
    pytester.makepyfile("def test_nothing(sms_provider): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*there is no profile `twillio`*"])


def test_a_session_that_asks_for_no_provider_starts_none(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_PROVIDER", "/nowhere")
    pytester.makepyfile("def test_nothing(): pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
