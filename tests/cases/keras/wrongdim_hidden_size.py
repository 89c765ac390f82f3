# case: wrongdim_hidden_size expect: wrong-dim-scale line: 18
import keras
from keras import ops


class Hidden(keras.layers.Layer):
    def __init__(self, hidden, heads, **kwargs):
        super().__init__(**kwargs)
        self.hidden, self.heads = hidden, heads
        self.q, self.k, self.v = (keras.layers.Dense(hidden) for _ in range(3))

    def cut(self, x):
        x = ops.reshape(x, (ops.shape(x)[0], ops.shape(x)[1], self.heads, self.hidden // self.heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, x):
        q, k, v = self.cut(self.q(x)), self.cut(self.k(x)), self.cut(self.v(x))
        s = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / ops.sqrt(float(self.hidden))
        return ops.matmul(ops.softmax(s, axis=-1), v)
