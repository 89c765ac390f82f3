# case: clean_score_divided_in_method expect: clean
# proved: yes
import keras
from keras import ops


class Method(keras.layers.Layer):
    def __init__(self, key_size, **kwargs):
        super().__init__(**kwargs)
        self.key_size = key_size
        self.to_q, self.to_k, self.to_v = (keras.layers.Dense(key_size) for _ in range(3))

    def compute_scores(self, q, k):
        return ops.matmul(q, ops.swapaxes(k, -1, -2))

    def call(self, x):
        scores = self.compute_scores(self.to_q(x), self.to_k(x))
        scores = scores / ops.sqrt(ops.cast(self.key_size, "float32"))
        return ops.matmul(ops.softmax(scores), self.to_v(x))
