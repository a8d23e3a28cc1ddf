"""Batches: alone at once, together otherwise, in order, bounded, and whoever has gone harms nobody."""

import asyncio
import threading

import pytest

from everypair.serve.batches import Batches
from everypair.serve.errors import Refusal
from everypair.serve.limits import AT_ONCE, WAITING


def run(play, answer=lambda questions: questions, quick=True):
    sizes = []

    async def within():
        batches = Batches(answer, lambda question: quick, sizes.append)
        try:
            return await asyncio.wait_for(play(batches), 20)
        finally:
            batches.close()

    return asyncio.run(within()), sizes


def test_one_alone_is_answered_without_a_thread():
    where = []

    def answer(questions):
        where.append(threading.current_thread() is threading.main_thread())
        return questions

    async def play(batches):
        return [await batches.ask(place) for place in range(3)]

    assert run(play, answer) == ([0, 1, 2], [1, 1, 1])
    assert where == [True] * 3
    where.clear()
    assert run(play, answer, quick=False) == ([0, 1, 2], [1, 1, 1])
    assert where == [False] * 3


def test_those_that_wait_are_the_next_batch():
    async def play(batches):
        return await asyncio.gather(*(batches.ask(place) for place in range(200)))

    answers, sizes = run(play)
    assert answers == list(range(200))
    assert sizes == [AT_ONCE, AT_ONCE, AT_ONCE, 200 - 3 * AT_ONCE]


def test_what_comes_while_a_batch_runs_waits_for_it():
    gate = threading.Event()

    def answer(questions):
        gate.wait(10)
        return questions

    async def play(batches):
        first = [asyncio.ensure_future(batches.ask(place)) for place in range(2)]
        await asyncio.sleep(0.02)
        later = [asyncio.ensure_future(batches.ask(place)) for place in range(2, 7)]
        await asyncio.sleep(0.02)
        gate.set()
        return await asyncio.gather(*first, *later)

    assert run(play, answer) == ([0, 1, 2, 3, 4, 5, 6], [2, 5])


def test_one_that_fails_fails_alone():
    def answer(questions):
        return [Refusal(422, "no.") if question == 3 else question for question in questions]

    async def play(batches):
        return await asyncio.gather(*(batches.ask(place) for place in range(5)), return_exceptions=True)

    answers, _ = run(play, answer)
    assert isinstance(answers[3], Refusal)
    assert [one for one in answers if not isinstance(one, Refusal)] == [0, 1, 2, 4]


def test_a_fault_is_everybodys_and_the_queue_goes_on():
    def answer(questions):
        if 1 in questions:
            raise KeyError(1)
        return questions

    async def play(batches):
        both = await asyncio.gather(batches.ask(0), batches.ask(1), return_exceptions=True)
        return [one.status for one in both], await batches.ask(2)

    assert run(play, answer)[0] == ([500, 500], 2)


def test_who_has_gone_is_left_out():
    async def play(batches):
        asked = [asyncio.ensure_future(batches.ask(place)) for place in range(3)]
        await asyncio.sleep(0)
        asked[1].cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    answers, _ = run(play)
    assert (answers[0], answers[2]) == (0, 2)
    assert isinstance(answers[1], asyncio.CancelledError)


def test_the_queue_has_an_end():
    gate = threading.Event()

    def answer(questions):
        gate.wait(10)
        return questions

    async def play(batches):
        first = [asyncio.ensure_future(batches.ask(place)) for place in range(2)]
        await asyncio.sleep(0.02)
        waiting = [asyncio.ensure_future(batches.ask(place)) for place in range(WAITING)]
        await asyncio.sleep(0.02)
        with pytest.raises(Refusal, match="questions wait already"):
            await batches.ask(0)
        gate.set()
        return len(await asyncio.gather(*first, *waiting))

    assert run(play, answer)[0] == WAITING + 2
