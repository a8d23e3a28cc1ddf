"""What is refused: a status, a code for programs, a sentence for people, and the field that it is about."""

from __future__ import annotations

import msgspec

CODES = {
    400: "not_json",
    401: "no_token",
    403: "wrong_host",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    413: "too_large",
    415: "wrong_type",
    422: "invalid",
    431: "headers_too_large",
    500: "fault",
    503: "busy",
}


class Fault(msgspec.Struct, omit_defaults=True):
    """``code`` is for programs, ``message`` for people; ``field`` is the part of the request that is meant."""

    code: str
    message: str
    field: str | None = None


class Failure(msgspec.Struct):
    """The body of every answer that is no answer."""

    error: Fault


class Refusal(Exception):
    """A request that is not answered.

    >>> Refusal(422, "n must be at least 1.", "n").body
    Failure(error=Fault(code='invalid', message='n must be at least 1.', field='n'))
    """

    def __init__(self, status: int, sentence: str, field: str | None = None, code: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.body = Failure(Fault(code or CODES[status], sentence, field))


def refusal_of(failure: Exception) -> Refusal:
    """What is said of an error inside: the library's own sentences are for people, anything else is a fault.

    >>> refusal_of(ValueError("this model knows no targets.")).status, refusal_of(KeyError(3)).status
    (422, 500)
    """
    if isinstance(failure, Refusal):
        return failure
    if isinstance(failure, ValueError | TypeError | NotImplementedError) and str(failure):
        return Refusal(422, str(failure))
    fault = Refusal(500, "this is a fault of the service, not of the request; it is in the log.")
    fault.__cause__ = failure
    return fault
