"""The rooms of access reviews: the campaigns, the one work-list, who owes what, and what came of it."""
