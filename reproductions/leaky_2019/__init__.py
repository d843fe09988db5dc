"""İrsoy, "On Expected Accuracy", arXiv 1905.00448: expected error (EErr) and its leaky form (LEErr)."""
