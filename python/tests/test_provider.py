"""What the provider of a test does and says."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
from datetime import timedelta

import pytest
from client import send

from chaos_runner import DeliveryError, ProviderProcess, SmsProvider, SmsProviderError

TO = "+12025550142"
OTHER = "+12025550143"


def one_key(_: int) -> str:
    return "otp-1"


def test_a_message_is_on_record_with_its_words_and_key(sms_provider: SmsProvider) -> None:
    assert send(sms_provider.url, TO, "Your code is 471142", one_key) == 201
    message = sms_provider.assert_delivered_once(key="otp-1")
    assert (message.to, message.body, message.key) == (TO, "Your code is 471142", "otp-1")
    assert sms_provider.messages(to=TO) == [message]
    assert sms_provider.messages(to=OTHER) == []
    assert sms_provider.assert_delivered_once(to=TO, key="otp-1") == message


def test_each_test_begins_with_nothing_on_record(sms_provider: SmsProvider) -> None:
    assert sms_provider.messages() == []
    assert sms_provider.attempts() == []
    assert sms_provider.faults() == []


def test_without_words_the_next_message_is_accepted_and_the_answer_never_comes(
    sms_provider: SmsProvider,
) -> None:
    sms_provider.fail_next()
    assert send(sms_provider.url, TO, "hello", one_key) == 201
    sms_provider.assert_delivered_once(key="otp-1")
    first, second = sms_provider.attempts(key="otp-1")
    assert (first.reached, first.status) == ("accepted", None)
    assert (second.reached, second.status) == ("answering", 201)
    assert (first.message is None, second.message) == (False, None)


def test_faults_act_on_one_attempt_each_in_their_order(sms_provider: SmsProvider) -> None:
    sms_provider.fail_next(status=503, retry_after=2)
    sms_provider.fail_next("reset", stage="before-accept")
    assert len(sms_provider.faults()) == 2
    assert send(sms_provider.url, TO, "hello", one_key) == 201
    assert [attempt.status for attempt in sms_provider.attempts()] == [503, None, 201]
    assert [attempt.end for attempt in sms_provider.attempts()] == ["answered", "reset", "answered"]
    assert sms_provider.faults() == []
    sms_provider.assert_delivered_once(to=TO)


def test_a_fault_for_one_number_leaves_others_alone(sms_provider: SmsProvider) -> None:
    sms_provider.fail_next(status=500, to=OTHER, times=2)
    assert send(sms_provider.url, TO, "hello", one_key, tries=1) == 201
    assert send(sms_provider.url, OTHER, "hello", lambda _: "otp-2", tries=2) is None
    assert sms_provider.messages(to=OTHER) == []


def test_settings_of_every_kind_reach_the_provider(sms_provider: SmsProvider) -> None:
    sms_provider.fail_next("truncate", part="body", after=3)
    sms_provider.fail_next("delay", lasts=timedelta(seconds=2))
    sms_provider.fail_next("rate-limit", retry_after_raw="-1")
    sms_provider.fail_next("in-flight", lasts="50ms", retry_after="1s")
    written = [fault.written["provider"] for fault in sms_provider.faults()]
    assert written[0] == {
        "truncate": {"stage": "after-accept", "part": "body", "after": 3, "ending": "close"}
    }
    assert written[1] == {"delay": {"stage": "after-accept", "for": "2s"}}
    assert written[2] == {"rate-limit": {"retry-after-raw": "-1"}}
    assert written[3] == {"in-flight": {"for": "50ms", "retry-after": "1s"}}


def test_a_setting_that_is_not_known_is_refused_in_the_providers_words(
    sms_provider: SmsProvider,
) -> None:
    with pytest.raises(SmsProviderError, match="unknown field `stauts`"):
        sms_provider.fail_next("respond", stauts=503)


def test_a_key_is_forgotten_when_the_clock_has_passed_its_retention(
    sms_provider: SmsProvider,
) -> None:
    send(sms_provider.url, TO, "hello", one_key)
    sms_provider.advance("25h")
    send(sms_provider.url, TO, "hello", one_key)
    with pytest.raises(DeliveryError) as caught:
        sms_provider.assert_delivered_once(key="otp-1")
    assert str(caught.value).startswith("delivered twice, not once: under key 'otp-1'")
    assert "a retry came after its retention" in str(caught.value)


def test_a_message_that_never_came_is_explained(sms_provider: SmsProvider) -> None:
    with pytest.raises(DeliveryError) as caught:
        sms_provider.assert_delivered_once(key="otp-1", wait=0)
    assert str(caught.value) == textwrap.dedent(f"""\
        delivered never, not once: under key 'otp-1'

          (no request arrived)

        Does the client send to {sms_provider.url}?""")
    send(sms_provider.url, TO, "hello", lambda _: "otp-2")
    with pytest.raises(DeliveryError, match="No request bore the key 'otp-1'"):
        sms_provider.assert_delivered_once(key="otp-1", wait=0)
    with pytest.raises(DeliveryError, match="No request was for"):
        sms_provider.assert_delivered_once(to=OTHER, wait=0)


def test_what_is_asked_for_must_be_named(sms_provider: SmsProvider) -> None:
    with pytest.raises(TypeError, match="needs key=… or to=…"):
        sms_provider.assert_delivered_once()


def test_arguments_that_are_wrong_are_said_with_the_providers_own_words() -> None:
    with pytest.raises(SmsProviderError, match="there is no profile `twillio`"):
        ProviderProcess(["--profile", "twillio"])


def test_a_provider_that_is_gone_is_said() -> None:
    with ProviderProcess() as process:
        provider = process.provider
    assert not process.is_running()
    with pytest.raises(SmsProviderError, match="does not answer"):
        provider.messages()


def test_the_process_ends_with_whoever_started_it() -> None:
    # Killed outright: no line of its own runs after that.
    program = """
        import os, signal
        from chaos_runner import ProviderProcess
        process = ProviderProcess()
        print(process.provider.url, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    host, port = done.stdout.strip().removeprefix("http://").split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            assert connection.recv(1) == b""  # whoever held the other end is gone
    except ConnectionError:
        pass  # it was gone before that
