"""What a problem finds does not depend on the problems before it."""

from __future__ import annotations

from threading import Thread

from gpucodegen.tiling.model.isl import Limits, Solver

TEXT = "{{ [i] -> [j] : exists k : i = {n}*k and 0 <= i < 90 and j = floor(i/7) }}"


def test_a_text_costs_the_same_when_it_was_read_before():
    text = TEXT.format(n=3)
    first, second = Solver(), Solver()
    assert first.read(text) is second.read(text)
    assert first.spent == second.spent > 0
    assert first.asked == second.asked == 1


def test_a_limit_holds_for_a_text_that_was_read_before():
    text = TEXT.format(n=4)
    assert Solver().read(text) is not None
    assert Solver(Limits(1, 10)).read(text) is None


def test_queries_read_their_texts_themselves():
    text = TEXT.format(n=5)
    known = Solver().map(text)
    solver = Solver()
    assert solver.ask(lambda: solver.map(text), known) is not known


def test_threads_have_contexts_of_their_own():
    text, found = TEXT.format(n=6), list[object]()
    thread = Thread(target=lambda: found.append(Solver().map(text)))
    thread.start()
    thread.join()
    assert found[0] is not Solver().map(text)
