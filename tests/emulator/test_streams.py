from __future__ import annotations

import threading

import pytest

from registry_tool.emulator import streams


def test_results_come_in_the_order_of_the_items() -> None:
    release = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert release.wait(10)
        else:
            release.set()
        return item * item

    assert list(streams.mapped(work, range(20), workers=2)) == [n * n for n in range(20)]


def test_no_more_items_are_drawn_than_there_is_room_for() -> None:
    drawn = []

    def items():
        for item in range(100):
            drawn.append(item)
            yield item

    results = streams.mapped(lambda item: item, items(), workers=2)
    assert next(results) == 0
    assert len(drawn) == 3
    results.close()


def test_an_error_of_the_work_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(streams.mapped(lambda item: 1 // item, [1, 0, 1], workers=1))


def test_nothing_in_gives_nothing_out() -> None:
    assert list(streams.mapped(str, [])) == []
