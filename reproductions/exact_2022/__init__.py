"""Karpukhin et al., "EXACT: How to Train Your Accuracy", arXiv 2205.09615."""
