"""What waits when the last batch is done is the next one: no timer, so that a lone request never waits.

A request joins those of its turn of the event loop. One that is alone while nothing runs is answered at once, without
the turn where the server knows that no other is under way; several, or whatever comes while a batch runs, go to a
thread that runs kernels (which release the interpreter), at most ``AT_ONCE`` together. More than ``WAITING`` are not
taken.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from everypair.serve.errors import Refusal, refusal_of
from everypair.serve.limits import AT_ONCE, WAITING

Answering = Callable[[Sequence[Any]], list[Any]]


class Batches:
    """A queue in front of ``answer``, which takes a list of questions and returns an answer, or an error, for each.

    ``quick`` says which questions may be answered at once, ``alone`` whether the server has no other request under
    way. Made and used inside one event loop.
    """

    def __init__(
        self,
        answer: Answering,
        quick: Callable[[Any], bool],
        note: Callable[[int], None],
        alone: Callable[[], bool] = lambda: False,
    ) -> None:
        self.answer, self.quick, self.note, self.alone = answer, quick, note, alone
        self.loop = asyncio.get_running_loop()
        self.waiting: deque[tuple[Any, asyncio.Future[Any]]] = deque()
        self.turn_ends = self.runs = False
        self.handed: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    async def ask(self, question: Any, lone: bool = True) -> Any:
        """The answer to a question, once its batch is done; ``lone`` unless its request has other questions too."""
        if len(self.waiting) >= WAITING:
            raise Refusal(503, f"{WAITING} questions wait already: try again in a second.")
        if lone and not (self.waiting or self.runs) and self.alone() and self.quick(question):
            self.note(1)
            (answer,) = _answers(self.answer, [question])
        else:
            future = self.loop.create_future()
            self.waiting.append((question, future))
            if not (self.runs or self.turn_ends):
                self.turn_ends = True
                self.loop.call_soon(self._next)
            answer = await future
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the thread once what it has is done."""
        if self.thread is not None:
            self.handed.put(None)
            self.thread.join()
            self.thread = None

    def _next(self) -> None:
        self.turn_ends = False
        if not self.waiting:
            return
        batch = [self.waiting.popleft() for _ in range(min(AT_ONCE, len(self.waiting)))]
        self.note(len(batch))
        questions = [question for question, _ in batch]
        if len(batch) == 1 and not self.waiting and self.quick(questions[0]):
            _deliver(batch, _answers(self.answer, questions))
            return
        self.runs = True
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, name="answers", daemon=True)
            self.thread.start()
        self.handed.put(batch)

    def _work(self) -> None:
        while (batch := self.handed.get()) is not None:
            answers = _answers(self.answer, [question for question, _ in batch])
            self.loop.call_soon_threadsafe(self._done, batch, answers)

    def _done(self, batch: list[tuple[Any, asyncio.Future[Any]]], answers: list[Any]) -> None:
        self.runs = False
        _deliver(batch, answers)
        if self.waiting and not self.turn_ends:
            self.turn_ends = True
            self.loop.call_soon(self._next)


def _answers(answer: Answering, questions: Sequence[Any]) -> list[Any]:
    """An answer or an error for each, whatever happens."""
    try:
        return answer(questions)
    except Exception as failure:
        return [refusal_of(failure)] * len(questions)


def _deliver(batch: list[tuple[Any, asyncio.Future[Any]]], answers: list[Any]) -> None:
    for (_, future), answer in zip(batch, answers):
        if not future.done():  # whoever asked may have gone
            future.set_result(answer)
