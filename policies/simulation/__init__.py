"""What if: proposed changes applied to facts in memory, decided by the law itself."""
