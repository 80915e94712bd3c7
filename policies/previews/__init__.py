"""What a change would do, worked out before it is made."""
