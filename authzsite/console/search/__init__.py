"""Search and the palette: objects, people, roles, pages and things to do, found by name."""
