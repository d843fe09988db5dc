import torch

from metricfit.numerics._quadrature import legendre_nodes

CPU = torch.device("cpu")


def test_exact_for_polynomials_up_to_twice_the_order():
    nodes, weights = legendre_nodes(5, torch.float64, CPU)
    for degree in range(10):
        truth = 2.0 / (degree + 1) if degree % 2 == 0 else 0.0
        assert abs((weights * nodes**degree).sum().item() - truth) < 1e-15


def test_computed_once_per_order_dtype_and_device():
    assert legendre_nodes(24, torch.float32, CPU)[0] is legendre_nodes(24, torch.float32, CPU)[0]
    assert legendre_nodes(24, torch.float64, CPU)[0].dtype == torch.float64
