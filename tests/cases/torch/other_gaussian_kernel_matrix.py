# case: other_gaussian_kernel_matrix expect: clean
import torch


def kernel_regression(x, y, queries, width):
    """Nadaraya-Watson: weights from distances, each row normalised."""
    squared = (queries[:, None] - x[None, :]) ** 2
    weights = torch.softmax(-squared / (2 * width**2), dim=1)
    return weights @ y


def gram(a, b, gamma):
    cross = a @ b.T
    square = a.pow(2).sum(1)[:, None] + b.pow(2).sum(1)[None, :] - 2 * cross
    k = torch.exp(-gamma * square)
    return k.sum(dim=1)
