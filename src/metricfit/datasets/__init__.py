"""Readers of the papers' pictures, sentences and trees, from files as their authors publish them."""
