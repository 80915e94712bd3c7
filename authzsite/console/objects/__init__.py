"""The pages of an object: who has access, its rules, columns and history, its owner."""
