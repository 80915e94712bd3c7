"""Emergency access: opened by holders of the duty, seen while it lasts, reviewed afterwards."""
