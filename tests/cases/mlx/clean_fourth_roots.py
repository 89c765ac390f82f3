# case: clean_fourth_roots expect: clean
# proved: yes
import mlx.core as mx
import mlx.nn as nn


class Listening(nn.Module):
    def __init__(self, n_state, n_head):
        super().__init__()
        self.n_head = n_head
        self.query, self.key, self.value = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state, bias=False), nn.Linear(n_state, n_state)

    def __call__(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        n_batch, n_ctx, n_state = q.shape
        part = (n_state // self.n_head) ** -0.25
        q = q.reshape(*q.shape[:2], self.n_head, -1).transpose(0, 2, 1, 3) * part
        k = k.reshape(*k.shape[:2], self.n_head, -1).transpose(0, 2, 3, 1) * part
        v = v.reshape(*v.shape[:2], self.n_head, -1).transpose(0, 2, 1, 3)
        w = mx.softmax(q @ k, axis=-1)
        return (w @ v).transpose(0, 2, 1, 3).reshape(n_batch, n_ctx, n_state)
