"""People, groups and service accounts: whom the viewer may look up, and what each reaches and how."""
