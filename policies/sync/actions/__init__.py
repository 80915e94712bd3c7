"""What owners and operators do: run, pause or stop a sync, adopt or revoke what others gave."""
