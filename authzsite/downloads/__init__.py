"""What leaves the site as files: tables, evidence, evidence of reviews."""
