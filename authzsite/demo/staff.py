"""The people of the web shop beside those who sign in: their teams, when they came, and who left."""

from __future__ import annotations

from dataclasses import dataclass

TEAMS = {
    "finance": "Finance",
    "marketing_team": "Marketing",
    "warehouse_team": "Warehouse",
    "support": "Support",
    "engineers": "Engineering",
}


@dataclass(frozen=True)
class Colleague:
    """`came` and `left` are days ago; 0 for somebody who is still there."""

    name: str
    display: str
    team: str
    came: int
    left: int = 0


def _team(team: str, *lines: str) -> tuple[Colleague, ...]:
    """Lines such as `Lena Lang 180` or `Greta Gold 180 20`."""
    colleagues = []
    for line in lines:
        first, last, *days = line.split(" ")
        came, left = int(days[0]), int(days[1]) if len(days) > 1 else 0
        colleagues.append(Colleague(first.lower(), f"{first} {last}", team, came, left))
    return tuple(colleagues)


COLLEAGUES = (
    *_team(
        "finance",
        *("Lena Lang 180", "Jonas Jensen 180", "Nadia Nowak 180", "Hugo Hansen 180", "Priya Patel 180"),
        *("Felix Fischer 180", "Rosa Rossi 152", "Bruno Brandt 117", "Zoe Zimmer 61", "Emil Ek 19"),
    ),
    *_team(
        "marketing_team",
        *(
            "Ines Iglesias 180 41",
            "Theo Thomas 180",
            "Maya Mendes 180",
            "Luca Lombardi 180",
            "Sara Svensson 180",
        ),
        *("Paul Petit 166", "Alma Andersen 138", "Kofi Kone 96", "Nora Nagy 47", "Ivan Ilic 12"),
    ),
    *_team(
        "warehouse_team",
        *("Greta Gold 180 20", "Oskar Olsen 180", "Wanda Wolf 180", "Stefan Stein 180", "Petra Pohl 180"),
        *("Karim Khan 180", "Dina Dahl 159", "Milan Maric 124", "Jana Jung 82", "Otto Orth 33"),
    ),
    *_team(
        "support",
        *("Elif Erdem 180", "Sofia Santos 180", "Ben Baker 180 103", "Clara Costa 180", "Amir Aziz 180"),
        *("Yuki Yamada 173", "Vera Vogel 145", "Tim Torp 110", "Lia Leroy 68", "Max Moser 26"),
    ),
    *_team(
        "engineers",
        *(
            "Viktor Varga 180",
            "Anton Arnold 180",
            "Julia Janssen 180",
            "Samir Said 180 75",
            "Helen Hughes 180",
        ),
        *(
            "Rafael Ramos 180",
            "Kira Klein 131",
            "Leo Lund 89",
            "Frida Falk 54",
            "Simon Sato 40",
            "Mona Moreau 5",
        ),
    ),
)
