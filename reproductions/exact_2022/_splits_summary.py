"""What the ten splits say."""
from reproductions._experiment import Results
def claims(found: Results): return []
def figure(found):
    from reproductions._figure import empty_figure
    return empty_figure()
def summary(found: Results) -> str:
    return ""
