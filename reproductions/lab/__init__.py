"""What several reproductions share and the wheel does not have."""
