"""Two sentences of one frame: the same words but in one place."""

import re
from typing import NamedTuple

from hygiene.rules.reading import Reading
from memory.finding.languages import SMALL_WORDS

# What is done to several things: another one beside the first is no contradiction.
_LISTING = re.compile(
    r"""(?<!\w)(?:
    support|send|use|using|has\b|have\b|accept|export|import|includ|contain|offer|handle|process
    |deliver|read|write|receiv|work|cover|list|know|need|fail|break|speak|customer|also
    |unterstütz|sende|nutz|verwend|enthält|umfasst|bietet|verarbeit|liefer|braucht|hat\b|haben\b
    |prend|utilis|envoi|traite|contien|compren|offr|livre|exporte|\ba\b
    |soport|utiliza|usa\b|envía|procesa|contien|incluy|ofrec|acept|tiene\b|prepara
    |support|utilizza|invia|elabora|contien|compren|offre|accett|ha\b
    |usa\b|envia|processa|contém|inclui|oferec|aceita|tem\b
    |поддерж|использ|отправ|обрабат|содерж|включа|принима
    |obsługuj|używa|wysyła|zawiera|przyjmuj
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# Before a number these say which one is meant, not how many or how much.
_NUMBERED = re.compile(
    r"(?<!\w)(?:building|room|floor|release|version|line|lane|step|section|chapter|ticket|issue"
    r"|request|type|phase|gate|server|node|plant|row|page|table|zone|shop|store|gebäude|raum|halle"
    r"|kapitel|abschnitt|schritt|linie|bâtiment|salle|étape|edificio|sala|línea|paso|linea"
    r"|здани\w+|линии?|этап\w*|раздел\w*)\.? ?#?$",
    re.IGNORECASE,
)
_LONGEST_SLOT = 3
_SMALL = frozenset[str]().union(*SMALL_WORDS.values())


class Slot(NamedTuple):
    """Where two sentences differ, and by what."""

    before: str
    older: str
    newer: str
    after: str


def only_slot(older: Reading, newer: Reading) -> Slot | None:
    """Return the one place in which the sentences differ, if all around it is the same."""
    mine, theirs = older.tokens, newer.tokens
    shorter = min(len(mine), len(theirs))
    start = 0
    while start < shorter and mine[start] == theirs[start]:
        start += 1
    end = 0
    while end < shorter - start and mine[-1 - end] == theirs[-1 - end]:
        end += 1
    here, there = mine[start : len(mine) - end], theirs[start : len(theirs) - end]
    if not 0 < min(len(here), len(there)) <= max(len(here), len(there)) <= _LONGEST_SLOT:
        return None
    if not _SMALL.isdisjoint(here + there):
        return None  # they are built differently
    before, after = mine[:start], mine[len(mine) - end :]
    return Slot(" ".join(before), " ".join(here), " ".join(there), " ".join(after))


def is_value(slot: Slot) -> bool:
    """Return whether what differs is a value that there is one of, and not whom it is about."""
    if len(slot.before.split()) < 2 or names_one_of_many(slot.before):
        return False
    if any(map(str.isdigit, slot.older)) and any(map(str.isdigit, slot.newer)):
        return True
    return not slot.after and not _LISTING.search(slot.before)


def names_one_of_many(before: str) -> bool:
    """Return whether a number after these words says which one is meant."""
    return _NUMBERED.search(before) is not None
