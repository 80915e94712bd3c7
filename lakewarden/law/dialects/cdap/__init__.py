"""CDAP's law in three generations: privileges on texts that name entities, exactly or with `*` and `?`."""
