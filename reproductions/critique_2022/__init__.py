"""Su Jianlin, "How to Train Your Accuracy?", kexue.fm/archives/9098 (2022): a critique of EXACT."""
