"""``python -m reproductions NAME`` runs an experiment."""

from reproductions._command import main

main()
