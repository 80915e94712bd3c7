"""Reviews: does everyone who has access still need it?  From the frozen population to what was proved."""
