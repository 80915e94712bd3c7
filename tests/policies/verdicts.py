"""What verifications say of the record and of what is there beside it."""

from __future__ import annotations

from policies.record.verify import verify, verify_parts


def whole() -> bool:
    """Whether a reading of the whole record and one of its parts both find nothing."""
    verdict = verify()
    assert verdict, (verdict.broken, verdict.differing)
    return bool(verify_parts([], looks=False))


def is_reported(*subjects: str) -> bool:
    """Whether both readings tell of each of these, in a line each, and of nothing else."""
    verdicts = verify(), verify_parts([], looks=False)
    assert all(verdict.broken is None for verdict in verdicts), verdicts
    return all(
        all(any(what in line for line in verdict.differing) for what in subjects)
        and all(any(what in line for what in subjects) for line in verdict.differing)
        for verdict in verdicts
    )
