"""The API against its own description: whatever is sent, nothing is answered by a 5xx or otherwise than described."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("schemathesis")
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.slow
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
HOW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_is_answered_otherwise_than_described(mode: GenerationMode, address: str) -> None:
    api = schemathesis.openapi.from_url(f"{address}/openapi.json")
    for found in api.get_all_operations():
        assert hasattr(found, "ok")  # the description is sound
        operation = found.ok()

        @HOW
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            case.call_and_validate(checks=CHECKS, timeout=120)

        with suppress(Unsatisfiable):  # nothing wrong can be sent where nothing is sent
            check()
