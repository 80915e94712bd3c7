"""Questions about access and their answers: facts in one read, one decision function, what is kept of it."""
