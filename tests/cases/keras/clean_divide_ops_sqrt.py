# case: clean_divide_ops_sqrt expect: clean
# proved: yes
import keras
from keras import ops


class Divided(keras.layers.Layer):
    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads

    def build(self, input_shape):
        hidden = input_shape[-1]
        self.part = hidden // self.num_heads
        self.query_dense = keras.layers.Dense(hidden)
        self.key_dense = keras.layers.Dense(hidden)
        self.value_dense = keras.layers.Dense(hidden)

    def attention(self, query, key, value):
        score = ops.matmul(query, ops.transpose(key, axes=[0, 1, 3, 2]))
        dim_key = ops.cast(ops.shape(key)[-1], score.dtype)
        scaled = ops.divide(score, ops.sqrt(dim_key))
        return ops.matmul(ops.softmax(scaled, axis=-1), value)

    def separate(self, x):
        x = ops.reshape(x, (ops.shape(x)[0], -1, self.num_heads, self.part))
        return ops.transpose(x, axes=[0, 2, 1, 3])

    def call(self, x):
        parts = (self.separate(f(x)) for f in (self.query_dense, self.key_dense, self.value_dense))
        return ops.reshape(ops.transpose(self.attention(*parts), [0, 2, 1, 3]), ops.shape(x))
