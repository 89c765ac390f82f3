# case: clean_attr_power_static_softmax expect: clean
# proved: yes
import numpy as np


class Activation:
    @staticmethod
    def softmax(x):
        shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return shifted / np.sum(shifted, axis=-1, keepdims=True)


class Layer:
    def __init__(self, embed_dim, num_heads):
        assert embed_dim % num_heads == 0
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.scale = self.head_dim**-0.5
        limit = np.sqrt(3.0 / embed_dim)
        self.W_q, self.W_k, self.W_v = (np.random.uniform(-limit, limit, (embed_dim, embed_dim)) for _ in range(3))
        self.b_q = self.b_k = self.b_v = np.zeros(embed_dim)

    def split_heads(self, x):
        b, n, _ = x.shape
        return x.reshape(b, n, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def forward(self, x):
        Q = self.split_heads(np.dot(x, self.W_q) + self.b_q)
        K = self.split_heads(np.dot(x, self.W_k) + self.b_k)
        V = self.split_heads(np.dot(x, self.W_v) + self.b_v)
        scores = np.matmul(Q, K.transpose(0, 1, 3, 2)) * self.scale
        return np.matmul(Activation.softmax(scores), V)
