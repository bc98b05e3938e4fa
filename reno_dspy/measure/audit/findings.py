"""Gold errors that several voters agree on, and how sure each is.

How sure a finding is comes from the data themselves: of the values that exactly these systems agree on
in this field, the share that the gold confirms where it has the field at all. Where the rules stand
behind a value as well, both would have to be wrong; how often the rules are is taken from how seldom a
system agrees with what they change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reno_dspy.measure.audit.votes import RULES, Ballot, Place
from reno_dspy.measure.fields import PUBLICATION_TYPE

Support = frozenset[str]


@dataclass(frozen=True)
class Finding:
    """A value that the gold should have: it lacks it, or has `replaces` where the value stands.

    `place` is None for the publication type. `sure` is in 0..1.
    """

    ballot: Ballot
    field: str
    value: str
    replaces: tuple[str, ...]
    supporters: Support
    sure: float
    place: Place | None

    @property
    def role(self) -> str:
        """The role of a person's part, or an identifier's kind, by the first voter who has it."""
        voters = (*self.ballot.voters.values(), self.ballot.rules)
        spans = (one.spans.get(self.place) for one in voters if self.place)
        return next((span.role for span in spans if span and span.role), "")

    @property
    def lacks(self) -> bool:
        """Whether the gold has nothing there, rather than something else."""
        return not self.replaces


@dataclass
class Reliability:
    """How often the gold confirms what voters agree on, by field and by who agrees."""

    _seen: Counter[tuple[str, Support]] = field(default_factory=Counter)
    _confirmed: Counter[tuple[str, Support]] = field(default_factory=Counter)
    _ruled: Counter[str] = field(default_factory=Counter)
    _seconded: Counter[str] = field(default_factory=Counter)

    def count(self, ballot: Ballot) -> None:
        """Count one reference."""
        known = {name for _, _, name in ballot.rules.spans}
        for place in {place for one in ballot.voters.values() for place in one.spans}:
            if place[2] in known:
                self._add(place[2], ballot.supporters(place) - {RULES}, place in ballot.rules.spans)
        for place in ballot.rules.spans.keys() - ballot.gold.spans.keys():
            self._ruled[place[2]] += 1
            self._seconded[place[2]] += bool(ballot.supporters(place) - {RULES})
        if ballot.gold.kind is not None:
            for kind in {one.kind for one in ballot.voters.values() if one.kind}:
                support = ballot.supporters_of_kind(kind) - {RULES}
                self._add(PUBLICATION_TYPE, support, kind == ballot.gold.kind)

    def _add(self, name: str, support: Support, confirmed: bool) -> None:
        for key in ((name, support), ("", support)):
            self._seen[key] += 1
            self._confirmed[key] += confirmed

    def of(self, name: str, support: Support) -> float:
        """How sure a value of this field is that these voters agree on, in 0..1."""
        systems = support - {RULES}
        doubt = 1.0 - self._of_systems(name, systems) if systems else 1.0
        if RULES in support:
            doubt *= 1 - (self._seconded[name] + 1) / (self._ruled[name] + 2)
        return 1 - doubt

    def _of_systems(self, name: str, support: Support) -> float:
        """Smoothed by two values that are confirmed as often as those of any field."""
        seen, confirmed = self._seen["", support], self._confirmed["", support]
        anywhere = (confirmed + 1) / (seen + 2)
        seen, confirmed = self._seen[name, support], self._confirmed[name, support]
        return (confirmed + 2 * anywhere) / (seen + 2)


def audit(ballots: Sequence[Ballot], voters: int = 2, sure: float = 0.5) -> list[Finding]:
    """Findings that at least so many voters stand behind, or the rules alone; the surest first.

    `sure` is the least share to report, in 0..1.
    """
    reliability = Reliability()
    for ballot in ballots:
        reliability.count(ballot)
    found = [
        finding
        for ballot in ballots
        for finding in _of_reference(ballot, reliability, voters)
        if finding.sure >= sure
    ]
    return sorted(found, key=lambda finding: -finding.sure)


def _of_reference(ballot: Ballot, reliability: Reliability, voters: int) -> Iterator[Finding]:
    """The surest values first; what overlaps one of them is left out."""
    places = {place for one in (*ballot.voters.values(), ballot.rules) for place in one.spans}
    candidates = [
        (reliability.of(place[2], support), place, support)
        for place in places - ballot.gold.spans.keys()
        if len(support := ballot.supporters(place)) >= voters or RULES in support
    ]
    taken: list[Place] = []
    for sure, place, support in sorted(candidates, key=lambda one: (-one[0], one[1])):
        if not any(_overlap(place, other) for other in taken):
            taken.append(place)
            yield _finding(ballot, place, support, sure)
    yield from _kinds(ballot, reliability, voters)


def _finding(ballot: Ballot, place: Place, support: Support, sure: float) -> Finding:
    start, end, name = place
    replaced = [other for other in sorted(ballot.gold.spans) if _overlap(place, other)]
    values = tuple(f"{other[2]}: {ballot.text[other[0] : other[1]]}" for other in replaced)
    return Finding(ballot, name, ballot.text[start:end], values, support, sure, place)


def _kinds(ballot: Ballot, reliability: Reliability, voters: int) -> Iterator[Finding]:
    named = {one.kind for one in ballot.voters.values() if one.kind} - {ballot.gold.kind}
    votes = {kind: ballot.supporters_of_kind(kind) for kind in named if kind}
    agreed = [kind for kind, support in votes.items() if len(support) >= voters]
    if len(agreed) == 1:
        [kind] = agreed
        replaces = (f"{PUBLICATION_TYPE}: {ballot.gold.kind}",) if ballot.gold.kind else ()
        sure = reliability.of(PUBLICATION_TYPE, votes[kind])
        yield Finding(ballot, PUBLICATION_TYPE, kind, replaces, votes[kind], sure, None)


def _overlap(a: Place, b: Place) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def wrong_values(
    ballots: Sequence[Ballot], findings: Sequence[Finding]
) -> dict[str, tuple[int, int]]:
    """By system: how many of its values are not in the gold, and how many of those are findings."""
    found = {(id(one.ballot), one.place) for one in findings}
    counts: dict[str, tuple[int, int]] = {}
    for ballot in ballots:
        for name, one in ballot.voters.items():
            wrong, agreed = counts.get(name, (0, 0))
            new = one.spans.keys() - ballot.gold.spans.keys()
            hits = sum((id(ballot), place) in found for place in new)
            counts[name] = (wrong + len(new), agreed + hits)
    return counts


def by_field(findings: Sequence[Finding]) -> Mapping[str, tuple[int, int]]:
    """(lacking, contradicting) findings of each field, the most frequent first."""
    lacking = Counter(one.field for one in findings if one.lacks)
    other = Counter(one.field for one in findings if not one.lacks)
    names = (lacking + other).most_common()
    return {name: (lacking[name], other[name]) for name, _ in names}
