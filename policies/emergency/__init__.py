"""Emergency access: opened by who has the duty, seen while it lasts, reviewed afterwards."""
