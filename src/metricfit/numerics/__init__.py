"""Numerically accurate building blocks: the normal distribution, quadrature, safe division. Not a public interface."""

__all__: list[str] = []
