# case: clean_array_namespace expect: clean
# proved: yes
import array_api_compat


def softmax(x, axis=-1):
    xp = array_api_compat.array_namespace(x)
    weights = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return weights / xp.sum(weights, axis=axis, keepdims=True)


class NeighbourAttention:
    """Attention among the neighbours of an atom, for arrays of any package."""

    def __init__(self, dim, heads, neighbours):
        self.heads = heads
        self.neighbours = neighbours
        self.head_dim = dim // heads
        self.scale = self.head_dim ** -0.5

    def split(self, x):
        xp = array_api_compat.array_namespace(x)
        return xp.permute_dims(xp.reshape(x, (-1, self.neighbours, self.heads, self.head_dim)), (0, 2, 1, 3))

    def __call__(self, query, key, value):
        xp = array_api_compat.array_namespace(query, key, value)
        q, k, v = self.split(query), self.split(key), self.split(value)
        weights = softmax(q @ xp.permute_dims(k, (0, 1, 3, 2)) * self.scale)
        return weights @ v
