"""People, groups and service accounts: whom one may look up, and what each reaches and how."""
