"""Numbers that survive the tails: the normal distribution, quadrature, safe division. Not part of the public interface."""
