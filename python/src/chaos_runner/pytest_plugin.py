"""The pytest plugin: `sms_provider`, a provider that is fresh in every test.

The process is started once a session, by the first test that asks for it, and forgets everything
before each test. When such a test fails, what the provider saw stands below the traceback.
"""

from __future__ import annotations

from typing import Generator, Iterator

import pytest

from .provider import DeliveryError, ProviderProcess, SmsProvider, SmsProviderError

_ASKED = pytest.StashKey[SmsProvider]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The setting of the ini file."""
    parser.addini(
        "sms_provider_args",
        "Arguments of stub-provider, as in: --profile twilio --retention 1h",
        type="args",
        default=[],
    )


@pytest.fixture(scope="session")
def sms_provider_args(pytestconfig: pytest.Config) -> list[str]:
    """The arguments of stub-provider; override it, or set `sms_provider_args` in the ini file."""
    return list(pytestconfig.getini("sms_provider_args"))


@pytest.fixture(scope="session")
def sms_provider_process(sms_provider_args: list[str]) -> Iterator[ProviderProcess]:
    """The process, for the whole session."""
    with ProviderProcess(sms_provider_args) as process:
        yield process


@pytest.fixture
def sms_provider(
    request: pytest.FixtureRequest, sms_provider_process: ProviderProcess
) -> SmsProvider:
    """An SMS provider at `sms_provider.url` that has seen nothing yet and does nothing wrong."""
    if not sms_provider_process.is_running():
        raise SmsProviderError(f"stub-provider has ended\n{sms_provider_process.log()}")
    provider = sms_provider_process.provider
    provider.reset()
    request.node.stash[_ASKED] = provider
    return provider


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, object, None]:
    """Puts what the provider saw below a failure that does not say it itself."""
    outcome = yield
    provider = item.stash.get(_ASKED, None)
    if provider is None or call.when != "call" or call.excinfo is None:
        return
    if call.excinfo.errisinstance((DeliveryError, pytest.skip.Exception)):
        return
    try:
        seen = provider.account()
    except SmsProviderError as error:
        seen = f"  {error}"
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    report.sections.append(("what the SMS provider saw", seen))
