"""The pytest plugin: the fixture `attention_probe` and the marker `attention_expect`. Imports nothing heavy before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attnlint.probe.report import Report

MARKER = "attention_expect"


class AttentionProbe:
    """What a test gets from the fixture: `report`, readable while the test runs."""

    def __init__(self, report: Report) -> None:
        self.report = report


_PROBE = pytest.StashKey[AttentionProbe]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(expectation): the attention scale that this test means, as `expect=` of attnlint.probe.watch takes it "
        "(a number, a callable of the head size, an Expect, or a mapping from module-name patterns to these)",
    )


def _expectation(request: pytest.FixtureRequest) -> Any:
    marker = request.node.get_closest_marker(MARKER)
    if marker is None:
        return None
    given = [*marker.args, *([dict(marker.kwargs)] if marker.kwargs and "expect" not in marker.kwargs else [])]
    if "expect" in marker.kwargs:
        given.append(marker.kwargs["expect"])
    if len(given) != 1:
        raise pytest.UsageError(
            f"{MARKER} takes one expectation, {len(given)} were given: write @pytest.mark.{MARKER}(Expect.unscaled('why'))"
        )
    return given[0]


@pytest.fixture
def attention_probe(request: pytest.FixtureRequest) -> Iterator[AttentionProbe]:
    """Watch every attention of the test; it fails for a fault, or where no attention ran."""
    from attnlint.probe.watching import watch

    with watch(expect=_expectation(request)) as report:
        found = AttentionProbe(report)
        request.node.stash[_PROBE] = found
        yield found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test that passed fails once, as a failure of the test itself, where its attention is at fault."""
    outcome: Any = yield
    found = item.stash.get(_PROBE, None)
    if found is None or outcome.excinfo is not None:
        return
    message = found.report.message()
    if message:
        outcome.force_exception(pytest.fail.Exception(message, pytrace=False))
