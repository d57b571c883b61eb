"""Work that a thread does beside something else, for as long as that lasts."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(work: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Do `work` in a thread called `name` while this lasts; what it is given is set when it is to end.

    What it raises is raised here at the end, unless something else has ended this: nobody sees how a thread ends.
    """
    ended, failures = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            work(ended)
        except Exception as error:      # noqa: BLE001 (whatever it is)
            failures.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]
