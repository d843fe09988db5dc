"""Li et al., "Aligning Multiclass Neural Network Classifier Criterion with Task Performance Metrics", arXiv 2405.20954."""
