"""Asked of a record: which word is meant, whom it reads beyond habit, what turns between texts.

Answers are frozen dataclasses of plain values; words and layers are indices (`Side.names` and
`Layer.label` write them). A sum of known weights is a lower bound where `exact` is False.
"""

from regard.questions.apart import special_mass
from regard.questions.links import (
    Link,
    Strongest,
    Vote,
    expected,
    head_links,
    strongest,
)
from regard.questions.names import find_head, find_word
from regard.questions.others import weight_from_others
from regard.questions.overview import HeadKind, Overview, head_kinds, overview
from regard.questions.read_by import ReadBy, read_by
from regard.questions.rollout import rollout
from regard.questions.routines import Routine, habit_of, routine_of, routines
from regard.questions.turns import Turn, Turns, align_words, counterpart, turns

__all__ = [
    "HeadKind",
    "Link",
    "Overview",
    "ReadBy",
    "Routine",
    "Strongest",
    "Turn",
    "Turns",
    "Vote",
    "align_words",
    "counterpart",
    "expected",
    "find_head",
    "find_word",
    "habit_of",
    "head_kinds",
    "head_links",
    "overview",
    "read_by",
    "rollout",
    "routine_of",
    "routines",
    "special_mass",
    "strongest",
    "turns",
    "weight_from_others",
]
