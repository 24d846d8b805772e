"""Whether time grows as the text does and no faster, on a machine however slow."""

import time

PARTS = 8  # so many times as long is the whole text as what it is compared with
SLACK = 3  # and so many times as long as its length explains it may take: squared it would be 8
LEAST = 0.002  # seconds, below which nothing can be told from another


def grows_with(act, text):
    """Return whether `act` takes a text no longer, by the character, than an eighth of it."""
    part = max(LEAST, min(_seconds(act, text[: len(text) // PARTS]) for _ in range(3)))
    # What else this machine does counts for nothing: one quick run is enough.
    return any(_seconds(act, text) < PARTS * SLACK * part for _ in range(3))


def _seconds(act, text):
    started = time.thread_time()
    act(text)
    return time.thread_time() - started
