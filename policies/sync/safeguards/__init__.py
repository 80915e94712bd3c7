"""What keeps a sync from doing harm: limits on losses and on speed, report only, alerts."""
