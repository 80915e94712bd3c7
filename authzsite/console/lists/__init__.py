"""Long lists as somebody looks at them: which columns, in which order, under which of their saved views."""
